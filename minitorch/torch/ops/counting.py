"""Distinct values, where values belong among others, and how many there are of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor, wrap
from .elementwise import kind_name
from .movement import wrap_dim
from .precision import widened
from .promotion import cast, result_type
from .record import without_derivative
from .results import named
from .sorting import order_of
from .surface import FUNCTIONS, check_tensor, function, function_and_method, into

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
    _check_flags("unique", sorted, return_inverse, return_counts)
    array = input._array
    if dim is None:
        order = order_of(array.reshape(-1), 0)
        found = _runs(array.reshape(-1), order, array.shape, (return_inverse, return_counts))
    else:
        d = wrap_dim(dim, input.ndim)
        rows = _as_rows("unique", array, d)
        order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
        found = _runs(array, order, (len(rows),), (return_inverse, return_counts), d)
    return _recorded("unique", found, input)


@function_and_method
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or places of a dimension, that differ from the ones before them."""
    check_tensor("unique_consecutive", input)
    _check_flags("unique_consecutive", return_inverse, return_counts)
    array = input._array
    wants = return_inverse, return_counts
    if dim is None:
        found = _runs(array.reshape(-1), np.arange(array.size), array.shape, wants)
    else:
        d = wrap_dim(dim, input.ndim)
        order = np.arange(len(_as_rows("unique_consecutive", array, d)))
        found = _runs(array, order, order.shape, wants, d)
    return _recorded("unique_consecutive", found, input)


def _check_flags(name: str, *flags: Any) -> None:
    for flag in flags:
        if not isinstance(flag, bool):
            raise TypeError(
                f"{name}(): what to return must be said by bools, not {type(flag).__name__}"
            )


def _recorded(name: str, found: Any, input: Tensor) -> Any:
    """Distinct values belong to the graph, though they have no derivative."""
    if isinstance(found, tuple):
        return without_derivative(name, found[0], input), *found[1:]
    return without_derivative(name, found, input)


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
    count = math.prod(rows.shape[:-1])
    flat = rows.reshape(count, rows.shape[-1]), values.reshape(count, values.shape[-1])
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
        kind = dtypes.promote_types(rows.dtype, values.dtype)
        if kind.is_complex or kind is dtypes.bool_:
            name = kind.type_name.removesuffix("Tensor")
            raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{name}'")
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
    values = input
    if isinstance(input, Tensor) and input.dtype is not sorted_sequence.dtype:
        kind = dtypes.promote_types(sorted_sequence.dtype, input.dtype)
        sorted_sequence, values = sorted_sequence.to(kind), input.to(kind)
    rows = widened(sorted_sequence._array)
    if sorter is not None:
        rows = _sorted_by(rows, sorter)
    values = (
        widened(values._array)
        if isinstance(values, Tensor)
        else cast(values, result_type(rows, values))
    )
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
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin() received an invalid combination of arguments - got two numbers")
    arrays = [
        widened(v._array) if isinstance(v, Tensor) else np.asarray(v)
        for v in (elements, test_elements)
    ]
    for x in arrays:
        if x.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind_name(x)}")
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
    if indices._array.size and 0 in sizes:
        raise RuntimeError(f"ZeroDivisionError: unravel_index of a shape without elements: {sizes}")
    steps = np.cumprod((1, *sizes[:0:-1]), dtype=np.int64)[::-1][: len(sizes)]
    array = indices._array
    return tuple(
        wrap(np.asarray(array // step % size, np.int64))
        for step, size in zip(steps, sizes, strict=True)
    )


# --- Counting ---------------------------------------------------------------------------------------


@function_and_method
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each whole number occurs, or the sum of the weights beside it."""
    if input.ndim != 1 or (input._array < 0).any():
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if input.dtype.kind != dtypes.INTEGRAL:
        raise NotImplementedError(
            f"\"bincount_cpu\" not implemented for '{kind_name(input._array)}'"
        )
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if minlength > np.iinfo(np.int64).max:
        raise ValueError("Overflow when unpacking long long")
    if weights is None:
        return wrap(np.bincount(input._array, minlength=minlength).astype(np.int64))
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    kind = np.float32 if weights.dtype is dtypes.float32 else np.float64
    return wrap(np.bincount(input._array, weights._array, minlength).astype(kind))


def _limits(name: str, low: float, high: float) -> tuple[float, float]:
    """From where to where to count: as given, but over some width."""
    if not np.isfinite(low) or not np.isfinite(high):
        raise RuntimeError(f"{name}(): range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(
            f"{name}(): max must be larger than min"
            if name == "torch.histc"
            else f"{name}: min should not exceed max"
        )
    wider = 1 if name == "torch.histc" else 0.5
    return (low - wider, high + wider) if low == high else (low, high)


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
    values, number = input._array.reshape(-1), input._array.dtype.type
    given = (values.min(), values.max()) if min == max and values.size else (min, max)
    low, high = map(number, _limits("torch.histc", *given))
    inside = values[(values >= low) & (values <= high)]
    at = ((inside - low) * number(bins) / (high - low)).astype(np.int64)
    at = np.clip(at, 0, bins - 1)  # where the range overflows, they are not in it
    result = wrap(np.bincount(at, minlength=bins).astype(input._array.dtype))
    return result if out is None else into(out, result, "histc")


def _edges_of(name: str, values: Array, bins: Any, limits: tuple[float, float] | None) -> Array:
    """The edges of bins: as given, or so many of equal width over a range."""
    if isinstance(bins, Tensor):
        if bins.ndim != 1 or bins._array.dtype != values.dtype:
            raise RuntimeError(
                f"{name}: bins should be a vector of the type of the input, but got {bins.dtype} of {list(bins.shape)}"
            )
        if len(bins) == 1:
            raise RuntimeError(f"{name}(): bins must be > 0, but got 0")
        return bins._array
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    if limits is None:
        limits = (values.min(), values.max()) if values.size else (0, 1)
    low, high = _limits(name, *limits)
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
    if weight is not None and weight._array.dtype != kind:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
            f"same dtype, but got input({kind}), and weight({weight.dtype})"
        )
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
    bins: Any = 100,
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
    edges = _edges_of("torch.histogram", values, bins, range).copy()
    counts = _counted([values], [edges], weight, density, values.dtype)
    recorded = [
        without_derivative("histogram", wrap(x), input, bins, weight) for x in (counts, edges)
    ]
    result = named("histogram", "hist", "bin_edges")(*recorded)
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
    inputs = (input, weight, *each)
    shown = [
        b if isinstance(b, Tensor) else without_derivative("histogramdd", wrap(e), *inputs)
        for b, e in zip(each, edges, strict=True)
    ]
    hist = without_derivative("histogramdd", wrap(counts), *inputs)
    return named("histogramdd", "hist", "bin_edges")(hist, tuple(shown))
