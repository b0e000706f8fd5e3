"""Order: sorting, medians and quantiles, distinct values, searching, counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor, wrap
from .elementwise import kind_name
from .movement import wrap_dim
from .precision import widened
from .record import Op
from .reduce import at_indices_gradient, at_places_gradient, shared_gradient
from .results import found, named
from .surface import FUNCTIONS, check_tensor, function, function_and_method, into

# --- Sorting ------------------------------------------------------------------------------------


def _order(array: Array, dim: int, descending: bool = False, stable: bool = True) -> Array:
    """The places of the elements in order; NaN is the largest, equal ones keep their order."""
    keys = widened(array)
    kind = "stable" if stable or array.shape[dim] <= _FEW else None
    if not descending:
        return np.argsort(keys, axis=dim, kind=kind)
    # What is reversed at the end is reversed at the beginning too, so that equal ones stay.
    reverse = np.flip(np.argsort(np.flip(keys, dim), axis=dim, kind=kind), dim)
    return array.shape[dim] - 1 - reverse


_FEW = 16
"""Up to so many elements are sorted whole and in a stable way, as that costs nothing."""


def _check_ordered(name: str, input: Tensor) -> None:
    check_tensor(name, input)
    if input.dtype.is_complex:
        raise RuntimeError(f"Sort currently does not support complex dtypes on CPU [{name}]")


def with_dimension(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let a computation along a dimension see a number as a vector of one."""

    def run(input: Array, dim: int, **params: Any) -> Any:
        if input.ndim:
            return compute(input, dim, **params)
        result = compute(input.reshape(1), 0, **params)
        return tuple(r.reshape(()) for r in result) if type(result) is tuple else result.reshape(())

    return run


@with_dimension
def _sort(input: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
    at = _order(input, dim, descending, stable)
    return np.take_along_axis(input, at, dim), at


SORT = Op("sort", ("input",), _sort, {"input": at_places_gradient}, differentiable=1)


@function_and_method
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None
) -> Any:
    """The elements in order along a dimension, and where they were."""
    _check_ordered("sort", input)
    d = wrap_dim(dim, input.ndim)
    result = found("sort", *SORT(input, dim=d, descending=descending, stable=bool(stable)))
    return result if out is None else into(out, result, "sort")


@function_and_method
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the elements of a dimension are, in order."""
    return sort(input, dim, descending, stable)[1]


@function_and_method
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """The elements in order along the first dimension."""
    result = sort(input, 0)[0]
    return result if out is None else into(out, result, "msort")


def _largest(keys: Array, k: int, dim: int) -> Array:
    """The places of the k largest elements, in the order of their places."""
    size = keys.shape[dim]
    part = np.argpartition(keys, size - k, axis=dim)
    return np.sort(np.take(part, range(size - k, size), axis=dim), axis=dim)


def _smallest(keys: Array, k: int, dim: int) -> Array:
    """The places of the k smallest elements, in the order of their places."""
    part = np.argpartition(keys, k - 1, axis=dim)
    return np.sort(np.take(part, range(k), axis=dim), axis=dim)


@with_dimension
def _topk(input: Array, dim: int, k: int, largest: bool) -> tuple[Array, Array]:
    size = input.shape[dim]
    if size <= _FEW or k in (0, size):
        at = np.take(_order(input, dim, largest), range(k), axis=dim)
    else:
        chosen = (_largest if largest else _smallest)(widened(input), k, dim)
        order = _order(np.take_along_axis(input, chosen, dim), dim, largest)
        at = np.take_along_axis(chosen, order, dim)
    return np.take_along_axis(input, at, dim), at


TOPK = Op("topk", ("input",), _topk, {"input": at_places_gradient}, differentiable=1)


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
    """The k largest elements along a dimension, and where they are."""
    _check_ordered("topk", input)
    d = wrap_dim(dim, input.ndim)
    if not 0 <= k <= (input._array.shape[d] if input.ndim else 1):
        raise RuntimeError(
            f"selected index k out of range: {k} of {list(input.shape)} along dimension {d}"
        )
    result = found("topk", *TOPK(input, dim=d, k=k, largest=largest))
    return result if out is None else into(out, result, "topk")


# --- One of the ordered -------------------------------------------------------------------------


def _picked(choose: Callable[..., Array]) -> Callable[..., Any]:
    """Values and places along a dimension, where `choose` gives the places."""

    @with_dimension
    def run(input: Array, dim: int, keepdim: bool, **params: Any) -> tuple[Array, Array]:
        at = np.expand_dims(choose(input, dim, **params), dim)
        values = np.take_along_axis(input, at, dim)
        return (values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))

    return run


def _in_order(input: Array, dim: int, rank: Array) -> Array:
    """The places of the elements of given ranks."""
    return np.take_along_axis(_order(input, dim), np.expand_dims(rank, dim), dim).squeeze(dim)


def _kth(input: Array, dim: int, k: int) -> Array:
    return np.take(np.argpartition(widened(input), k - 1, axis=dim), k - 1, axis=dim)


def _median(input: Array, dim: int, skip_nan: bool) -> Array:
    """The lower of the middle elements; a NaN counts as the median unless it is skipped."""
    missing = np.isnan(input).sum(axis=dim) if input.dtype.kind in "fV" else np.zeros((), int)
    there = input.shape[dim] - missing
    rank = np.maximum(there - 1, 0) // 2
    if not skip_nan:
        rank = np.where(missing > 0, there, rank)
    return _in_order(input, dim, np.broadcast_to(rank, np.delete(input.shape, dim)))


def _mode(input: Array, dim: int) -> Array:
    """The last place of the most frequent element, the smallest of equally frequent ones."""
    at = _order(input, dim)
    rows = np.moveaxis(np.take_along_axis(input, at, dim), dim, -1)
    steps = np.arange(rows.shape[-1])
    begins = np.concatenate(
        [np.ones((*rows.shape[:-1], 1), bool), rows[..., 1:] != rows[..., :-1]], -1
    )
    into_run = steps - np.maximum.accumulate(np.where(begins, steps, 0), axis=-1)
    return np.take_along_axis(at, np.expand_dims(into_run.argmax(-1), dim), dim).squeeze(dim)


def _picking(name: str, choose: Callable[..., Array], doc: str) -> Op:
    return Op(
        name, ("input",), _picked(choose), {"input": at_indices_gradient}, differentiable=1, doc=doc
    )


KTHVALUE = _picking(
    "kthvalue", _kth, "The k-th smallest element along a dimension, and where it is."
)
MEDIAN = _picking("median", _median, "The middle element along a dimension, and where it is.")
MODE = _picking("mode", _mode, "The most frequent element along a dimension, and where it is.")


def _pick(
    op: Op, name: str, input: Tensor, dim: int, keepdim: bool, out: Any, **params: Any
) -> Any:
    d = wrap_dim(dim, input.ndim)
    if input.ndim and not input._array.shape[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    result = found(name, *op(input, dim=d, keepdim=keepdim, **params))
    return result if out is None else into(out, result, name)


@function_and_method
def kthvalue(
    input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The k-th smallest element along a dimension, and where it is."""
    _check_ordered("kthvalue", input)
    size = input.size(dim) if input.ndim else 1
    if not 1 <= k <= size:
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {dim}: {k} of {size}"
        )
    return _pick(KTHVALUE, "kthvalue", input, dim, keepdim, out, k=k)


@function_and_method
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent element along a dimension, and where it is."""
    _check_ordered("mode", input)
    return _pick(MODE, "mode", input, dim, keepdim, out)


MEDIAN_OF_ALL = Op("median_of_all", ("input",),
                   lambda input, dim, skip_nan: _picked(_median)(input.reshape(-1), 0, keepdim=False, skip_nan=skip_nan)[0],
                   {"input": shared_gradient})  # fmt: skip
MEDIAN_OF_ALL.node_name = "MedianBackward0"


def _declare_median(name: str, skip_nan: bool, doc: str) -> None:
    def call(
        input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None
    ) -> Any:
        _check_ordered(name, input)
        if dim is not None:
            return _pick(MEDIAN, name, input, dim, keepdim, out, skip_nan=skip_nan)
        if not input._array.size:
            result = input.new_full((), np.nan if input.dtype.is_floating_point else 0)
        else:
            result = MEDIAN_OF_ALL(input, dim=tuple(range(input.ndim)), skip_nan=skip_nan)
        return result if out is None else into(out, result, name)

    call.__name__, call.__doc__ = name, doc
    function_and_method(call)


_declare_median("median", False, "The middle element of all, or along a dimension with its place.")
_declare_median("nanmedian", True, "`median` of the elements that are not NaN.")

# --- Quantiles ------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile_arguments(name: str, input: Tensor, q: Any, interpolation: str) -> Tensor:
    """The shares as a tensor of the input's type; RuntimeError where they are none."""
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
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return shares


def _quantile(
    name: str, input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    """Between the neighbours of a rank in the sorted elements; shares come first in the result."""
    shares = _quantile_arguments(name, input, q, interpolation)
    d = wrap_dim(0 if dim is None else dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else input.movedim(d, -1)
    rows = rows.sort(-1)[0].unsqueeze(-2)  # (..., 1, n)
    ranks = _ranks(rows, shares.reshape(-1), name == "nanquantile")
    result = _between(rows, ranks, interpolation)  # (..., shares)
    if keepdim:
        shape = [1] * input.ndim if dim is None else list(input.shape)
        if input.ndim:
            shape[d] = 1
        result = result.reshape([*shape, shares.numel()])
    result = result.movedim(-1, 0)
    return result if shares.ndim else result.squeeze(0)


def _ranks(rows: Tensor, shares: Tensor, skip_nan: bool) -> Tensor:
    """Where in a sorted row each share lies; at its end where a row holds NaN."""
    array = rows._array
    missing = np.isnan(array).sum(-1)
    last = array.shape[-1] - 1
    if skip_nan:
        ranks = shares._array * np.maximum(last - missing, 0)
    else:
        ranks = np.where(missing > 0, last, shares._array * last)
    return wrap(ranks.astype(array.dtype))


def _between(rows: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    rounding = {"higher": Tensor.ceil, "nearest": Tensor.round}.get(interpolation, Tensor.floor)
    below = rounding(ranks)
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
    function_and_method(call)


_declare_quantile("quantile", "Below which elements given shares of all lie.")
_declare_quantile("nanquantile", "`quantile` of the elements that are not NaN.")

# --- Distinct values ----------------------------------------------------------------------------


def _several(values: Array, inverse: Array, counts: Array, wants: tuple[bool, bool]) -> Any:
    """Distinct values, with what else was asked for."""
    extra = [
        wrap(v.astype(np.int64)) for v, want in zip((inverse, counts), wants, strict=True) if want
    ]
    return (wrap(values), *extra) if extra else wrap(values)


@function_and_method
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements, or the distinct places of a dimension, in order."""
    check_tensor("unique", input)
    array = input._array
    if dim is None:
        order = _order(array.reshape(-1), 0)
        return _runs(array.reshape(-1), order, array.shape, (return_inverse, return_counts))
    d = wrap_dim(dim, input.ndim)
    rows = _as_rows("unique", array, d)
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    return _runs(array, order, (len(rows),), (return_inverse, return_counts), d)


@function_and_method
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or places of a dimension, that differ from the ones before them."""
    check_tensor("unique_consecutive", input)
    array = input._array
    wants = return_inverse, return_counts
    if dim is None:
        return _runs(array.reshape(-1), np.arange(array.size), array.shape, wants)
    d = wrap_dim(dim, input.ndim)
    order = np.arange(len(_as_rows("unique_consecutive", array, d)))
    return _runs(array, order, order.shape, wants, d)


def _as_rows(name: str, array: Array, dim: int) -> Array:
    """A dimension's places as the rows of a matrix."""
    first = np.moveaxis(array, dim, 0)
    if not array.size and any(not s for d, s in enumerate(array.shape) if d != dim):
        if array.shape[dim]:
            raise RuntimeError(
                f"{name}: There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            )
        return np.empty((0, 0), array.dtype)
    return widened(first.reshape(len(first), -1) if array.size else np.empty((len(first), 1)))


def _runs(array: Array, order: Array, shape: Any, wants: tuple[bool, bool], dim: int = 0) -> Any:
    """Along an order, one of each run of equal places; each place's run; the runs' lengths."""
    ordered = np.take(array, order, axis=dim)
    rows = (
        np.moveaxis(ordered, dim, 0).reshape(len(order), -1)
        if array.size
        else np.empty((len(order), 0))
    )
    begins = np.ones(len(order), bool)
    begins[1:] = (rows[1:] != rows[:-1]).any(-1)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    counts = np.diff(starts, append=len(order))
    return _several(np.compress(begins, ordered, axis=dim), inverse.reshape(shape), counts, wants)


# --- Searching ------------------------------------------------------------------------------------


def _search(rows: Array, values: Array, side: Any) -> Array:
    """Where values belong in a sorted row, or in the row beside each row of values."""
    if rows.ndim == 1:
        return np.searchsorted(rows, values, side)
    flat = rows.reshape(-1, rows.shape[-1]), values.reshape(-1, values.shape[-1])
    found_at = [
        np.searchsorted(row, row_values, side) for row, row_values in zip(*flat, strict=True)
    ]
    return np.asarray(found_at, np.int64).reshape(values.shape)


def _check_search(rows: Tensor, values: Any, out_int32: bool, out: Any) -> None:
    if not rows.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if isinstance(values, Tensor):
        if values.dtype is not rows.dtype:
            raise RuntimeError(
                "torch.searchsorted(): boundary tensor and input value tensor should have same dtype, "
                f"but got boundary tensor dtype {kind_name(rows._array)} and input value tensor dtype {kind_name(values._array)}"
            )
        if rows.ndim > 1 and values.shape[:-1] != rows.shape[:-1]:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(rows.shape)} and input value tensor {list(values.shape)}"
            )
    elif rows.ndim > 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, "
            f"but we got boundaries tensor dim({rows.ndim}) and input value's dim(0) numel(1)"
        )
    if out is not None and out.dtype is not (dtypes.int32 if out_int32 else dtypes.int64):
        raise RuntimeError(
            "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) "
            "depending on whether out_int32 flag is True"
        )


@function
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None, out: Any = None,
) -> Tensor:  # fmt: skip
    """Where values belong in sorted rows."""
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    _check_search(sorted_sequence, input, out_int32, out)
    rows = widened(sorted_sequence._array)
    if sorter is not None:
        rows = _sorted_by(rows, sorter)
    values = widened(input._array) if isinstance(input, Tensor) else np.asarray(input)
    at = _search(rows, values, "right" if right else side or "left")
    result = wrap(np.asarray(at, np.int32 if out_int32 else np.int64))
    return result if out is None else into(out, result, "searchsorted")


def _sorted_by(rows: Array, sorter: Tensor) -> Array:
    order = sorter._array
    if order.shape != rows.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(rows.shape)}and got sorter tensor {list(order.shape)}"
        )
    if order.dtype != np.int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {kind_name(order)}"
        )
    if order.size and not (order.min() >= 0 and order.max() < rows.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")
    return np.take_along_axis(rows, order, -1)


@function
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """Between which of sorted boundaries each value lies."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


@function
def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Any = None,
) -> Tensor:
    """Whether each element is among others."""
    tensors = [v for v in (elements, test_elements) if isinstance(v, Tensor)]
    if not tensors:
        raise TypeError("isin() received an invalid combination of arguments - got two numbers")
    for x in tensors:
        if x.dtype is dtypes.bool_ or x.dtype.is_complex:
            raise RuntimeError(
                f"Unsupported input type encountered for isin(): {kind_name(x._array)}"
            )
    arrays = [
        v._array if isinstance(v, Tensor) else np.asarray(v) for v in (elements, test_elements)
    ]
    result = wrap(np.asarray(np.isin(*arrays, assume_unique=assume_unique, invert=invert)))
    return result if out is None else into(out, result, "isin")


@function
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Places in a flattened tensor as places along each dimension of its shape."""
    check_tensor("unravel_index", indices, "indices")
    if indices.dtype.kind != dtypes.INTEGRAL:
        raise ValueError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(s, int) for s in sizes):
        raise TypeError(f"expected 'shape' elements to be int, but got {sizes}")
    if any(s < 0 for s in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = np.cumprod((1, *sizes[:0:-1]), dtype=np.int64)[::-1][: len(sizes)]
    array = indices._array
    return tuple(
        wrap((array // step % size).astype(array.dtype))
        for step, size in zip(steps, sizes, strict=True)
    )


# --- Counting ---------------------------------------------------------------------------------------


@function_and_method
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each whole number occurs, or the sum of the weights beside it."""
    if input.ndim != 1 or input.dtype.kind != dtypes.INTEGRAL or (input._array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is None:
        return wrap(np.bincount(input._array, minlength=minlength).astype(np.int64))
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kind = np.float32 if weights.dtype is dtypes.float32 else np.float64
    return wrap(np.bincount(input._array, weights._array, minlength).astype(kind))


def _limits(name: str, values: Array, low: Any, high: Any) -> tuple[float, float]:
    """From where to where to count: as given, or as the values lie."""
    if low == high and values.size and low is not None:
        low, high = values.min(), values.max()
    if not np.isfinite(low) or not np.isfinite(high):
        raise RuntimeError(f"{name}(): range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(
            f"{name}(): max must be larger than min"
            if name == "torch.histc"
            else f"{name}: min should not exceed max"
        )
    return (low - 1, high + 1) if low == high else (low, high)


@function_and_method
def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None
) -> Tensor:
    """How many elements fall into each of so many equal parts of a range."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{kind_name(input._array)}'"
        )
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    values = widened(input._array).reshape(-1)
    low, high = _limits("torch.histc", values, min, max)
    inside = values[(values >= low) & (values <= high)]
    at = np.minimum(((inside - low) * bins / (high - low)).astype(np.int64), bins - 1)
    result = wrap(np.bincount(at, minlength=bins).astype(input._array.dtype))
    return result if out is None else into(out, result, "histc")


def _edges_of(name: str, values: Array, bins: Any, limits: tuple[float, float] | None) -> Array:
    """The edges of bins: as given, or so many of equal width over a range."""
    if isinstance(bins, Tensor):
        return bins._array
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    low, high = _limits(name, values, *(limits or (0, 0)))
    return FUNCTIONS["linspace"](
        float(low), float(high), bins + 1, dtype=dtypes.from_numpy_dtype(values.dtype)
    )._array


def _bins_of(values: Array, edges: Array) -> Array:
    """The bin of each value, which ends before the next begins, but for the last; -1 for none."""
    at = np.searchsorted(edges, values, "right") - 1
    at[values == edges[-1]] = len(edges) - 2
    return np.where((at < 0) | (at > len(edges) - 2), -1, at)


def _counted(
    columns: Sequence[Array], edges: Sequence[Array], weight: Any, density: bool, kind: Any
) -> Array:
    """How many rows fall into each box of a grid, or the sum of their weights, or the density."""
    shape = tuple(len(e) - 1 for e in edges)
    places = np.stack([_bins_of(c, e) for c, e in zip(columns, edges, strict=True)])
    inside = (places >= 0).all(axis=0)
    flat = np.ravel_multi_index(tuple(places[:, inside]), shape)
    weights = None if weight is None else weight._array.reshape(-1)[inside]
    counts = np.bincount(flat, weights, int(np.prod(shape))).reshape(shape).astype(kind)
    if density:
        counts = counts / counts.sum()
        for d, e in enumerate(edges):
            counts = counts / np.diff(e).reshape([-1 if k == d else 1 for k in range(len(edges))])
    return counts.astype(kind)


@function_and_method
def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements, or what weight of them, fall into each bin; and the edges of the bins."""
    values = input._array.reshape(-1)
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{kind_name(values)}'")
    edges = _edges_of("torch.histogram", values, bins, range)
    counts = _counted([values], [edges], weight, density, values.dtype)
    result = named("histogram", "hist", "bin_edges")(wrap(counts), wrap(edges))
    return result if out is None else into(out, result, "histogram")


@function
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many rows fall into each box of a grid; and the edges along each dimension."""
    if input.ndim < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.ndim}"
        )
    rows = input._array.reshape(-1, input.shape[-1])
    columns = list(rows.T)
    each = [bins] * len(columns) if isinstance(bins, int) else list(bins)
    if len(each) != len(columns):
        raise RuntimeError(
            f"torch.histogramdd: The size of bins must be equal to the innermost dimension of the input: {len(each)} and {len(columns)}"
        )
    limits = (
        [None] * len(columns) if range is None else list(zip(range[::2], range[1::2], strict=True))
    )
    edges = [
        _edges_of("torch.histogramdd", c, b, r)
        for c, b, r in zip(columns, each, limits, strict=True)
    ]
    counts = _counted(columns, edges, weight, density, rows.dtype)
    return named("histogramdd", "hist", "bin_edges")(wrap(counts), tuple(map(wrap, edges)))
