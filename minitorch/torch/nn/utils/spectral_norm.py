"""Spectral normalization as a hook before each call (deprecated in Torch)."""

from __future__ import annotations

from typing import Any, TypeVar

from ...autograd.modes import no_grad
from ...tensor import Tensor
from .. import functional as F
from ..modules.conv import _ConvTransposeNd
from ..modules.module import Module
from ..parameter import Parameter
from .computed import check_first, check_shaped, find_hook, remove_hook

M = TypeVar("M", bound=Module)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight flattened to a matrix whose rows are one dimension."""
    if dim:
        weight = weight.permute(dim, *(d for d in range(weight.ndim) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def usual_dim(module: Module, dim: int | None) -> int:
    """The dimension of a layer's outputs in its weight."""
    return dim if dim is not None else int(isinstance(module, _ConvTransposeNd))


def check_iterations(count: int) -> None:
    """ValueError unless there is at least one iteration."""
    if count <= 0:
        raise ValueError(
            f"Expected n_power_iterations to be positive, but got n_power_iterations={count}"
        )


class SpectralNorm:
    """Divides a weight by its largest singular value, which power iteration approximates."""

    _version = 1

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The normalized weight; the singular vectors are updated in place."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(matrix.t().mv(u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(matrix.mv(v), dim=0, eps=self.eps))
                u, v = u.clone(), v.clone()  # the next call updates the originals
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(
        module: Any, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Replace a parameter by a normalized weight."""
        check_first(module, SpectralNorm, name, "spectral_norm")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        check_shaped(weight, SpectralNorm, "spectral normalization")
        with no_grad():
            vectors = [
                F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in as_matrix(weight, dim).shape
            ]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        for suffix, vector in zip("uv", vectors, strict=True):
            module.register_buffer(f"{name}_{suffix}", vector)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(SpectralNormStateDictHook(hook))
        return hook

    def remove(self, module: Any) -> None:
        """Make the normalized weight a plain parameter."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


class SpectralNormStateDictHook:
    """Saves the version of the spectral normalization in state dicts."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn
        self.name = fn.name

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        about = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.name}.version"
        if key in about:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        about[key] = self.fn._version


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Normalize a weight by its largest singular value before each call."""
    SpectralNorm.apply(module, name, n_power_iterations, usual_dim(module, dim), eps)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Remove spectral normalization from a weight."""
    remove_hook(module, SpectralNorm, name, "spectral_norm")
    number = find_hook(module._state_dict_hooks, SpectralNormStateDictHook, name)
    if number is not None:
        del module._state_dict_hooks[number]
    return module
