"""Parametrizations: orthogonal, weight norm, spectral norm."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ... import linalg
from ...autograd.modes import no_grad
from ...dtypes import finfo
from ...ops.comparison import allclose
from ...ops.joining import cat
from ...ops.linalg.factorizations import geqrf
from ...ops.linalg.functions import matrix_exp
from ...ops.random import randn
from ...ops.ranges import eye
from ...tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .spectral_norm import as_matrix, check_iterations, usual_dim
from .weight_norm import _weight_norm, norm_except_dim

# --- Orthogonal ----------------------------------------------------------------------------------


class _OrthMaps(Enum):
    """The maps from any matrix to an orthogonal one."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _is_orthogonal(q: Tensor) -> bool:
    rows, columns = q.shape[-2:]
    identity = eye(columns, dtype=q.dtype)
    return allclose(q.mH @ q, identity, atol=10.0 * rows * finfo(q.dtype).eps)


def _make_orthogonal(matrix: Tensor) -> Tensor:
    """The Q of a QR decomposition in which R has a positive diagonal."""
    reflectors, tau = geqrf(matrix)
    q = linalg.householder_product(reflectors, tau)
    return q * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A map from any matrix to an orthogonal one; `base` is the image of 0."""

    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        x = x.mT if wide else x
        by_reflections = self.orthogonal_map is _OrthMaps.householder
        q = self._by_reflections(x) if by_reflections else self._by_rotation(x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _by_reflections(self, x: Tensor) -> Tensor:
        below = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (below * below).sum(dim=-2))
        signs = x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        return linalg.householder_product(below, tau) * signs

    def _by_rotation(self, x: Tensor) -> Tensor:
        """The exponential, or the Cayley map, of a skew-symmetric matrix."""
        rows, columns = x.shape[-2:]
        x = x.tril()
        if rows != columns:
            zeros = x.new_zeros(rows, rows - columns).expand(*x.shape[:-2], -1, -1)
            x = cat([x, zeros], -1)
        skew = x - x.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            q = matrix_exp(skew)
        else:
            identity = eye(rows, dtype=skew.dtype)
            q = linalg.solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return q[..., :columns]

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        """A preimage of the matrix, which becomes the base."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {q.shape}."
            )
        wide = q.shape[-2] < q.shape[-1]
        tall = q.mT if wide else q
        if not hasattr(self, "base"):
            inverse = self._reflections_of(tall)
            return inverse.mT if wide else inverse
        rows, columns = tall.shape[-2:]
        if rows != columns:
            more = randn(*tall.shape[:-2], rows, rows - columns, dtype=tall.dtype)
            self.base = _make_orthogonal(cat([tall, more], -1))
        else:
            self.base = tall.clone() if _is_orthogonal(tall) else _make_orthogonal(tall)
        start = q.new_zeros(q.shape)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start

    def _reflections_of(self, q: Tensor) -> Tensor:
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        reflectors, tau = geqrf(q)
        signs = reflectors.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1
        return reflectors


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a weight orthogonal."""
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


def _tensor_of(module: Module, name: str) -> Tensor:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


# --- Norms ---------------------------------------------------------------------------------------


class _WeightNorm(Module):
    """A weight from its norm and direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return _weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norm and the direction of a weight."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a weight by its norm and direction."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict: Any, prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration approximates."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                vector = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(name, F.normalize(vector, dim=0, eps=eps))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call updates the originals
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Parametrize a weight as one divided by its largest singular value."""
    weight = _tensor_of(module, name)
    made = _SpectralNorm(weight, n_power_iterations, usual_dim(module, dim), eps)
    return parametrize.register_parametrization(module, name, made)
