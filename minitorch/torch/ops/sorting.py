"""Sorting, top-k, medians, modes and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..formulas.indexing import take_along
from ..interpreters import composite
from ..tensor import Array, Tensor
from .extremes import at_indices_gradient, at_places_gradient, overall_gradient
from .layout import in_order, laid_out
from .movement import wrap_dim
from .precision import require_floats, widened
from .record import Op
from .results import found
from .scattering import check_out
from .surface import FUNCTIONS, check_tensor, function_and_method, into

# --- Sorting ------------------------------------------------------------------------------------


def order_of(array: Array, dim: int, descending: bool = False, stable: bool = True) -> Array:
    """The indices that sort the elements, stably; NaN is the largest."""
    keys = widened(array)
    kind = "stable" if stable or array.shape[dim] <= _FEW else None
    if not descending:
        return np.argsort(keys, axis=dim, kind=kind)
    # The input is reversed, too, so that the order of equal elements is kept.
    back = along(dim % array.ndim, slice(None, None, -1))
    return array.shape[dim] - 1 - np.argsort(keys[back], axis=dim, kind=kind)[back]


def along(dim: int, part: slice) -> tuple[slice, ...]:
    """The index of a part of a dimension, with all of the dimensions before it."""
    return (*[slice(None)] * dim, part)


_FEW = 16
"""Up to this many elements are sorted completely and stably, which costs no more."""


def _check_ordered(name: str, input: Tensor) -> None:
    check_tensor(name, input)
    if input.dtype.is_complex:
        raise RuntimeError(f"Sort currently does not support complex dtypes on CPU [{name}]")


def with_dimension(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A computation along a dimension that treats a zero-dimensional array as a vector of one."""

    def run(input: Array, dim: int, **params: Any) -> Any:
        if input.ndim:
            return compute(input, dim, **params)
        result = compute(input.reshape(1), 0, **params)
        return tuple(r.reshape(()) for r in result) if type(result) is tuple else result.reshape(())

    return run


@with_dimension
def _sort(input: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
    at = order_of(input, dim, descending, stable)
    values = take_along(input, at, dim)
    return laid_out(values, (input,)), laid_out(at, (input,))


SORT = Op("sort", ("input",), _sort, {"input": at_places_gradient}, differentiable=1)


@function_and_method
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None
) -> Any:
    """The elements sorted along a dimension, and their indices."""
    _check_ordered("sort", input)
    d = wrap_dim(dim, input.ndim)
    result = found("sort", *SORT(input, dim=d, descending=descending, stable=bool(stable)))
    return result if out is None else into(out, result, "sort")


@function_and_method
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None
) -> Tensor:
    """The indices that sort a dimension."""
    result = sort(input, dim, descending, stable)[1]
    return result if out is None else into(out, result, "argsort", input)


@function_and_method
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """The elements sorted along the first dimension."""
    result = sort(input, 0)[0]
    return result if out is None else into(out, result, "msort")


def _largest(keys: Array, k: int, dim: int) -> Array:
    """The indices of the k largest elements, in ascending order of index."""
    size = keys.shape[dim]
    part = np.argpartition(keys, size - k, axis=dim)
    return np.sort(part[along(dim, slice(size - k, size))], axis=dim)


def _smallest(keys: Array, k: int, dim: int) -> Array:
    """The indices of the k smallest elements, in ascending order of index."""
    part = np.argpartition(keys, k - 1, axis=dim)
    return np.sort(part[along(dim, slice(k))], axis=dim)


@with_dimension
def _topk(input: Array, dim: int, k: int, largest: bool) -> tuple[Array, Array]:
    size = input.shape[dim]
    if size <= _FEW or k in (0, size):
        at = order_of(input, dim, largest)[along(dim, slice(k))].copy()
    else:
        chosen = (_largest if largest else _smallest)(widened(input), k, dim)
        order = order_of(take_along(input, chosen, dim), dim, largest)
        at = take_along(chosen, order, dim)
    return take_along(input, at, dim), at


TOPK = Op("topk", ("input",), in_order(_topk), {"input": at_places_gradient}, differentiable=1)


@function_and_method
def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Any = None,
) -> Any:
    """The k largest elements along a dimension, and their indices."""
    _check_ordered("topk", input)
    if input.dtype is dtypes.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    d = wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input._array.shape[d] if input.ndim else 1):
        raise RuntimeError(
            f"selected index k out of range: {k} of {list(input.shape)} along dimension {d}"
        )
    k = k if input.ndim else 1  # a zero-dimensional tensor is returned even for k = 0
    result = found("topk", *TOPK(input, dim=d, k=k, largest=largest))
    return result if out is None else into(out, result, "topk")


# --- One of the ordered -------------------------------------------------------------------------


def _picked(choose: Callable[..., Array]) -> Callable[..., Any]:
    """Values and indices along a dimension, where `choose` computes the indices."""

    @with_dimension
    def run(input: Array, dim: int, keepdim: bool, **params: Any) -> tuple[Array, Array]:
        at = np.expand_dims(choose(input, dim, **params), dim)
        values = take_along(input, at, dim)
        return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))

    return run


def _in_order(input: Array, dim: int, rank: Array) -> Array:
    """The indices of the elements of given ranks."""
    return take_along(order_of(input, dim), np.expand_dims(rank, dim), dim).squeeze(dim)


def _kth(input: Array, dim: int, k: int) -> Array:
    return np.take(np.argpartition(widened(input), k - 1, axis=dim), k - 1, axis=dim)


def _median(input: Array, dim: int, skip_nan: bool) -> Array:
    """The index of the lower middle element; of a NaN, if there is one and NaN is not ignored."""
    missing = (
        np.isnan(input).sum(axis=dim) if input.dtype.kind in "fV" else np.zeros((), int, like=input)
    )
    there = input.shape[dim] - missing
    rank = np.maximum(there - 1, 0) // 2
    if not skip_nan:
        rank = np.where(missing > 0, there, rank)
    return _in_order(
        input, dim, np.broadcast_to(rank, (*input.shape[:dim], *input.shape[dim + 1 :]))
    )


def _mode(input: Array, dim: int) -> Array:
    """The last index of the most frequent element, the smallest of equally frequent ones."""
    at = order_of(input, dim)
    rows = np.moveaxis(take_along(input, at, dim), dim, -1)
    steps = np.arange(rows.shape[-1], like=rows)
    begins = np.empty(rows.shape, bool, like=rows)
    begins[..., :1] = True
    begins[..., 1:] = rows[..., 1:] != rows[..., :-1]
    into_run = steps - np.maximum.accumulate(np.where(begins, steps, 0), axis=-1)
    return take_along(at, np.expand_dims(into_run.argmax(-1), dim), dim).squeeze(dim)


def _picking(name: str, choose: Callable[..., Array], doc: str) -> Op:
    return Op(
        name, ("input",), _picked(choose), {"input": at_indices_gradient}, differentiable=1, doc=doc
    )


KTHVALUE = _picking("kthvalue", _kth, "The k-th smallest element along a dimension, and its index.")
MEDIAN = _picking("median", _median, "The (lower) median along a dimension, and its index.")
MODE = _picking("mode", _mode, "The most frequent element along a dimension, and its index.")


def _pick(
    op: Op, name: str, input: Tensor, dim: int, keepdim: bool, out: Any, **params: Any
) -> Any:
    d = wrap_dim(dim, input.ndim)
    if input.ndim and not input._array.shape[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    result = found(name, *op(input, dim=d, keepdim=keepdim, **params))
    if isinstance(out, (tuple, list)) and out:
        check_out(out[0], result[0], input)
    return result if out is None else into(out, result, name)


@function_and_method
def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The k-th smallest element along a dimension, and its index."""
    if input.ndim:  # a single element is returned whatever its dtype
        _check_ordered("kthvalue", input)
        require_floats("kthvalue_cpu", input._array, "iufV")
    size = input.size(dim) if input.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {dim}: {k} of {size}"
        )
    return _pick(KTHVALUE, "kthvalue", input, dim, keepdim, out, k=k)


@function_and_method
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent element along a dimension, and its index."""
    if input._array.ndim and input._array.size:
        require_floats("mode_cpu", input._array, "biufV")
    return _pick(MODE, "mode", input, dim, keepdim, out)


def _median_of_all(input: Array, skip_nan: bool) -> Array:
    if not input.size:
        return np.full((), np.nan if input.dtype.kind in "fV" else 0, input.dtype)
    return MEDIAN.compute(input.reshape(-1), 0, keepdim=False, skip_nan=skip_nan)[0]


MEDIAN_OF_ALL = Op(
    "median_of_all", ("input",), _median_of_all, {"input": overall_gradient}, node="MedianBackward0",
)  # fmt: skip


def _declare_median(name: str, skip_nan: bool, doc: str) -> None:
    def call(
        input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None
    ) -> Any:
        _check_ordered(name, input)
        require_floats("median_cpu", input._array, "iufV")
        if dim is not None:
            return _pick(MEDIAN, name, input, dim, keepdim, out, skip_nan=skip_nan)
        result = MEDIAN_OF_ALL(input, skip_nan=skip_nan)
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(composite(call))


_declare_median("median", False, "The (lower) median of all, or along a dimension and its index.")
_declare_median("nanmedian", True, "`median` of the elements that are not NaN.")

# --- Quantiles ------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile_arguments(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    """The probabilities as a tensor of the input's dtype; RuntimeError unless they are in [0, 1]."""
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not input._array.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    shares = q if isinstance(q, Tensor) else input.new_tensor(q)
    if shares.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if shares.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not ((shares._array >= 0) & (shares._array <= 1)).all():
        if isinstance(q, Tensor):
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    return shares


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    """Interpolation between the sorted elements next to each rank; probabilities are the result's first dimension."""
    shares = _quantile_arguments(name, input, q, interpolation)
    d = wrap_dim(0 if dim is None else dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else input.movedim(d, -1)
    rows = rows.sort(-1)[0].unsqueeze(-2)  # (..., 1, n)
    ranks = _ranks(rows, shares.reshape(-1), name == "nanquantile")
    result = _between(rows, ranks, interpolation)  # (..., probabilities)
    if keepdim:
        shape = [1] * input.ndim if dim is None else list(input.shape)
        if input.ndim:
            shape[d] = 1
        result = result.reshape([*shape, shares.numel()])
    result = result.movedim(-1, 0)
    return result if shares.ndim else result.squeeze(0)


def _ranks(rows: Tensor, shares: Tensor, skip_nan: bool) -> Tensor:
    """The fractional rank of each probability in a sorted row; the last one if the row has NaN."""
    last = rows.size(-1) - 1
    missing = rows.isnan().sum(-1)
    if skip_nan:
        return shares * (last - missing).clamp(min=0)
    return (shares * last).masked_fill(missing > 0, last)


def _between(rows: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    rounding = {"higher": "ceil", "nearest": "round"}.get(interpolation, "floor")
    below = FUNCTIONS[rounding](ranks)
    rows = rows.squeeze(-2)
    low = rows.gather(-1, below.long())
    if interpolation in ("lower", "higher", "nearest"):
        return low
    high = rows.gather(-1, ranks.ceil().long())
    return low.lerp(high, 0.5 if interpolation == "midpoint" else ranks - below)


def _declare_quantile(name: str, doc: str) -> None:
    def call(
        input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
        interpolation: str = "linear", out: Any = None,
    ) -> Tensor:  # fmt: skip
        result = _quantile(name, input, q, dim, keepdim, interpolation)
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(composite(call))


_declare_quantile("quantile", "The quantiles of all elements, or along a dimension.")
_declare_quantile("nanquantile", "`quantile` of the elements that are not NaN.")
