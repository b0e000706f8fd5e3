"""Covariances, distances, and numerical integrals and gradients of samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..formulas.matmul import matmul
from ..interpreters import composite
from ..tensor import Array, Tensor, wrap_beside
from .complex_numbers import from_parts
from .creation import full, ones_like
from .elementwise import conj
from .joining import cat
from .linalg.norms import legacy_norm
from .movement import wrap_dim
from .precision import kind_name
from .promotion import broadcast_shapes, rounded_number
from .record import Fused, Op
from .surface import (
    FUNCTIONS,
    check_tensor,
    function,
    function_and_method,
    in_place,
    method,
    with_out,
)

# --- Covariance -----------------------------------------------------------------------------------


def _check_weights(label: str, weights: Tensor, count: int, whole: bool) -> None:
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {label} to have one or fewer dimensions but got {label} with {weights.ndim} dimensions"
        )
    if weights.dtype.kind != (dtypes.INTEGRAL if whole else dtypes.FLOATING):
        kind = "integral" if whole else "floating point"
        raise RuntimeError(
            f"cov(): expected {label} to have {kind} dtype but got {label} with {kind_name(weights._array)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {label} to have the same numel as there are observations in the input but got {weights.numel()} != {count}"
        )
    if count and not weights._array.min() >= 0:
        raise RuntimeError(f"cov(): {label} cannot be negative")


@function_and_method
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariances of variables (rows) over observations (columns).

    Args:
        input: variables by observations, or the observations of one variable
        correction: subtracted from the count of observations
        fweights: integer frequency of each observation
        aweights: weight of each observation
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else input.reshape(1, -1)
    count = x.shape[1]
    weights = None
    for label, given, whole in (("fweights", fweights, True), ("aweights", aweights, False)):
        if given is not None:
            _check_weights(label, given, count, whole)
            weights = given if weights is None else weights * given
    total: Any = count if weights is None else weights.sum()
    if weights is not None and not total.item():
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    away = x - ((x if weights is None else x * weights).sum(1, keepdim=True) / total)
    freedom = total - correction
    if weights is not None and aweights is not None and correction != 0:
        freedom = total - correction * (weights * aweights).sum() / total
    freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else max(freedom, 0)
    right = away if weights is None else away * weights
    return ((away @ conj(right).t()) / freedom).squeeze()


@function_and_method
def corrcoef(input: Tensor) -> Tensor:
    """The correlations of variables (rows) over observations (columns)."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    c = cov(input)
    if not c.ndim:
        return c / c
    spread = c.diagonal().real.sqrt()
    c = c / spread.view(-1, 1) / spread.view(1, -1)
    return (
        from_parts(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))
        if c.dtype.is_complex
        else c.clamp(-1, 1)
    )


# --- Distances --------------------------------------------------------------------------------------


def _largest_gradient(g: Any, away: Any, out: Any) -> Any:
    """The gradient of the infinity norm: all of it to each element of the largest absolute value."""
    below = (away.abs() - out.unsqueeze(-1)).abs().ceil().clamp_max(1)
    return g.unsqueeze(-1) * away.sign() * (1 - below)


LARGEST = Op("largest_difference", ("away",), lambda away: abs(away).max(-1), {"away": _largest_gradient})  # fmt: skip


def _length(away: Tensor, p: float) -> Tensor:
    """The p-norm along the last dimension, with a derivative of 0 at 0."""
    size, p = away.abs(), rounded_number(p, away.dtype)
    if p == 0:
        flat = (away - away.detach()).nan_to_num(0).sum(-1) * 0  # for its derivative
        count = (size != 0).to(size.dtype).sum(-1)
        return count.masked_fill(size.isnan().any(-1), math.nan) + flat
    if p == 1:  # whose derivative at NaN is NaN
        return (away * away.detach().sign().masked_fill(away.isnan(), math.nan)).sum(-1)
    if math.isinf(p):
        return LARGEST(away) if size.shape[-1] else size.sum(-1)
    if p < 1:  # the infinite derivative at 0 counts as 0
        none = size == 0
        powers = size.masked_fill(none, 1).pow(p).masked_fill(none, 0).sum(-1)
    else:
        powers = (away * away if p == 2 else size.pow(p)).sum(-1)
    same = powers == 0
    powers = powers.masked_fill(same, 1)
    return (powers.sqrt() if p == 2 else powers.pow(1 / p)).masked_fill(same, 0)


def _lengths(x1: Tensor, x2: Tensor, p: float) -> Tensor:
    """The p-norms of differences; those of half precision in single, where squares do not overflow."""
    if x1.dtype.itemsize == 2:
        return _length(x1.float() - x2.float(), p).to(x1.dtype)
    return _length(x1 - x2, p)


_FEW_POINTS = 25
"""Up to this many points, differences are more accurate than a product and as fast."""


def _by_product(x1: Tensor, x2: Tensor) -> Tensor:
    """Distances from one matrix product: (-2x, |x|², 1) (y, 1, |y|²)ᵀ."""
    ones = ones_like
    lengths = [(x * x).sum(-1, keepdim=True) for x in (x1, x2)]
    left = cat([-2 * x1, lengths[0], ones(lengths[0])], -1)
    right = cat([x2, ones(lengths[1]), lengths[1]], -1)
    squares = left @ right.transpose(-2, -1)
    same = squares <= 0
    return squares.masked_fill(same, 1).sqrt().masked_fill(same, 0)


def _few_by_product(x1: Array, x2: Array) -> Array:
    """The same for arrays."""
    left, right = (np.empty((*x.shape[:-1], x.shape[-1] + 2), x.dtype, like=x) for x in (x1, x2))
    np.multiply(x1, -2, out=left[..., :-2])
    np.sum(x1 * x1, -1, out=left[..., -2])
    left[..., -1] = right[..., -2] = 1
    right[..., :-2] = x2
    np.sum(x2 * x2, -1, out=right[..., -1])
    squares = matmul(left, right.swapaxes(-2, -1))
    return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)


def _by_product_gradients(g: Any, x1: Any, x2: Any, out: Any) -> tuple[Any, Any]:
    ratio = (g / out).masked_fill(out == 0, 0)
    return (
        x1 * ratio.sum(-1, keepdim=True) - ratio @ x2,
        x2 * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ x1,
    )


FEW_BY_PRODUCT = Fused(
    _by_product, "_euclidean_dist", ("x1", "x2"), _few_by_product, _by_product_gradients,
    node="EuclideanDistBackward0",
)  # fmt: skip
_MANY_DISTANCES = 1 << 16
"""From this many distances on, the parts have kernels."""


@function
@composite
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The distance of each row of the first to each row of the second."""
    if compute_mode not in [*_COMPUTE_MODES]:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for label, x in (("X1", x1), ("X2", x2)):
        check_tensor("cdist", x, label.lower())
        if not x.dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {label} got: {kind_name(x._array)}"
            )
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {label} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        if x1.numel() and x2.numel():
            names = [kind_name(x._array) for x in (x1, x2)]
            raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
        x2 = x2.to(x1.dtype)
    broadcast_shapes("cdist", x1._array.shape[:-2], x2._array.shape[:-2])
    many = x1.shape[-2] > _FEW_POINTS or x2.shape[-2] > _FEW_POINTS
    wanted = _COMPUTE_MODES[compute_mode]
    if p == 2 and (many if wanted is None else wanted) and x1.shape[-1]:
        few = x1.shape[-2] * x2.numel() < _MANY_DISTANCES and x1.dtype.itemsize > 2
        return (FEW_BY_PRODUCT if few else _by_product)(x1, x2)
    return _lengths(x1.unsqueeze(-2), x2.unsqueeze(-3), p)


@function
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows, as a vector."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    x1, x2 = (input.index_select(0, wrap_beside(rows, input)) for rows in (first, second))
    return _lengths(x1, x2, p)


_COMPUTE_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}  # fmt: skip


@function_and_method
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors."""
    check_tensor("dist", input)
    check_tensor("dist", other, "other")
    return legacy_norm(input - other, p)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The input with slices along a dimension whose p-norm is above `maxnorm` scaled down to it."""
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError("renorm: p and maxnorm must be real-valued")
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    d = wrap_dim(dim, input.ndim)
    others = [k for k in range(input.ndim) if k != d]
    norms = legacy_norm(input, p, others, True)
    return input * (maxnorm / (norms + 1e-7)).masked_fill(~(norms > maxnorm), 1)


FUNCTIONS["renorm"] = with_out(renorm)
method("renorm", renorm)
in_place("renorm_", renorm)

# --- Integrals and slopes -----------------------------------------------------------------------------


def _steps(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Tensor, Any]:
    """Sums of neighbours along a dimension, and their distances."""
    if isinstance(x, Tensor) and dx is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments - both x and dx")
    count = max(y.size(dim) - 1, 0)
    left, right = y.narrow(dim, 0, count), y.narrow(dim, y.size(dim) - count, count)
    if x is None:
        return left + right, 1 if dx is None else dx
    if not x.ndim:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    if x.ndim == 1:
        if len(x) != y.size(dim):
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        return left + right, x.diff().reshape([-1] + [1] * (y.ndim - dim - 1))
    missing = y.ndim - x.ndim
    along = x.reshape([1] * missing + list(x.shape)) if missing > 0 else x
    return left + right, along.diff(dim=dim)


def _integral_inputs(name: str, y: Tensor, x: Any, dx: Any) -> tuple[Any, Any]:
    if isinstance(x, (int, float)):
        x, dx = None, x
    if any(isinstance(v, Tensor) and v.dtype is dtypes.bool_ for v in (y, x)):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    return x, dx


@function
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The integral of samples along a dimension, by the trapezoidal rule."""
    d = wrap_dim(dim, y.ndim)
    if not y.size(d):  # without samples, any dtype is accepted
        return y.new_zeros([n for k, n in enumerate(y.shape) if k != d])
    x, dx = _integral_inputs("trapezoid", y, x, dx)
    if x is None:
        ends = y.select(d, 0) + y.select(d, -1)
        return (y.sum(d) - ends * 0.5) * (1 if dx is None else dx)
    sums, widths = _steps("trapezoid", y, x, dx, d)
    return (sums * widths).sum(d) / 2


FUNCTIONS["trapz"] = trapezoid


@function
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The cumulative integral of samples along a dimension, by the trapezoidal rule."""
    x, dx = _integral_inputs("cumulative_trapezoid", y, x, dx)
    d = wrap_dim(dim, y.ndim)
    sums, widths = _steps("cumulative_trapezoid", y, x, dx, d)
    if x is None:
        return (sums * (widths / 2)).cumsum(d)
    return (sums * widths).cumsum(d) / 2


@function
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The gradient of samples along each dimension, by central differences.

    Args:
        input: samples on a grid
        spacing: the distance of neighbours: one number, one for each dimension, or coordinates
        dim: along which dimensions; all of them if None
        edge_order: of the difference that is used at the edges: 1 or 2
    """
    if input.dtype is dtypes.uint8 or (input.dtype is dtypes.bool_ and input.ndim):
        raise RuntimeError(f"torch.gradient only supports signed types, got {input.dtype}")
    dims = _gradient_dims(input, dim, edge_order)
    spaces = _spacings(spacing, dims)
    slopes = [_slope(input, space, d, edge_order) for d, space in zip(dims, spaces, strict=True)]
    return tuple(slopes)


def _gradient_dims(input: Tensor, dim: Any, edge_order: int) -> list[int]:
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    given = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [wrap_dim(d, input.ndim) for d in given]
    if len(set(dims)) != len(dims):
        raise RuntimeError(
            f"dim {max(dims, key=dims.count)} appears multiple times in the list of dims"
        )
    for d in dims:
        if input.size(d) < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return dims


def _spacings(spacing: Any, dims: list[int]) -> list[Any]:
    if not isinstance(spacing, (list, tuple)):
        if isinstance(spacing, Tensor) and len(dims) != 1:
            raise RuntimeError(
                f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, but got one tensor"
            )
        return [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or it's spacing and dim arguments to "
            f"have the same length, but got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
        )
    return list(spacing)


def _slope(input: Tensor, space: Any, dim: int, edge_order: int) -> Tensor:
    """Differences of neighbours, weighted by their distances."""
    size = input.size(dim)
    if isinstance(space, Tensor):
        if space.numel() != size:
            raise RuntimeError(
                f"torch.gradient expected each element of spacing to have as many places as dimension {dim} has, {size}, got {space.numel()}"
            )
        steps = space.reshape(-1).diff()
    else:
        kind = dtypes.result_of(_real_float(input), None, dtypes.of_number(space))
        if isinstance(space, (int, float)) and abs(space) > dtypes.finfo(kind).max:
            space = math.copysign(math.inf, space)
        steps = full((size - 1,), space, dtype=kind, device=input.device)
    steps = steps.reshape([-1] + [1] * (input.ndim - dim - 1))
    at: Any = lambda x, start, count: x.narrow(dim if x is not steps else 0, start, count)  # noqa: E731

    def rise(start: int, count: int = 1) -> Tensor:
        return (at(input, start + 1, count) - at(input, start, count)) / at(steps, start, count)

    def weighed(start: int, count: int, *weights: Tensor | float) -> Any:
        """The sum of three neighbours, each times a weight."""
        return sum(at(input, start + i, count) * w for i, w in enumerate(weights))

    before, after = at(steps, 0, size - 2), at(steps, 1, size - 2)
    if isinstance(space, Tensor):
        both = before + after
        inner = weighed(
            0,
            size - 2,
            -after / (before * both),
            (after - before) / (before * after),
            before / (after * both),
        )
    else:
        inner = (at(input, 2, size - 2) - at(input, 0, size - 2)) / (before + after)
    first, last = rise(0), rise(size - 2)
    if edge_order == 2 and not isinstance(space, Tensor):
        first = weighed(0, 1, -1.5, 2, -0.5) / at(steps, 0, 1)
        middle = at(input, size - 2, 1) * 2  # integers in their own dtype
        last = at(input, size - 3, 1) * 0.5 - middle + at(input, size - 1, 1) * 1.5
        last = last / at(steps, 0, 1)
    elif edge_order == 2:
        a, b = at(steps, 0, 1), at(steps, 1, 1)
        first = weighed(0, 1, -(2.0 * a + b) / (a * (a + b)), (a + b) / (a * b), -a / (b * (a + b)))
        a, b = at(steps, size - 3, 1), at(steps, size - 2, 1)
        last = weighed(
            size - 3, 1, b / (a * (a + b)), -(a + b) / (a * b), (a + 2 * b) / (b * (a + b))
        )
    return cat([first, inner, last], dim)


def _real_float(input: Tensor) -> dtypes.dtype:
    kind = input.dtype.to_real()
    return kind if kind.is_floating_point else dtypes.get_default_dtype()
