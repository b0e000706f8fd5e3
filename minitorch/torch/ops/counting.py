"""Distinct values, binary search, and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_array
from ..tensor import Array, Tensor
from .movement import wrap_dim
from .precision import kind_name, require_floats, widened
from .promotion import cast, exact_number, plain_integer, plain_integers, result_type
from .ranges import linspace
from .record import Op, without_derivative
from .results import named
from .sorting import order_of
from .surface import check_tensor, function, function_and_method, into

# --- Distinct values ----------------------------------------------------------------------------


def _unique(input: Array, dim: int | None, consecutive: bool) -> tuple[Array, Array, Array]:
    """Distinct elements or slices, the index of each input among them, and their counts."""
    if dim is None:
        flat = input.reshape(-1)
        order = np.arange(flat.size, like=flat) if consecutive else order_of(flat, 0)
        return _runs(flat, order, input.shape)
    rows = _as_rows("unique_consecutive" if consecutive else "unique", input, dim)
    order = np.arange(len(rows), like=rows)
    if not consecutive and rows.shape[1]:
        order = np.lexsort(rows.T[::-1])
    return _runs(input, order, (len(rows),), dim)


UNIQUE = Op("unique", ("input",), _unique, {"input": None}, differentiable=1)


def _distinct(input: Tensor, dim: int | None, consecutive: bool, wants: tuple[bool, bool]) -> Any:
    d = None if dim is None else wrap_dim(plain_integer(dim, "unique", "dim"), input.ndim)
    require_floats("unique" if d is None else "unique_dim", input._array, "biufV")
    values, *counts = UNIQUE(input, dim=d, consecutive=consecutive)
    asked = [found for found, want in zip(counts, wants, strict=True) if want]
    return (values, *asked) if asked else values


@function_and_method
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements, or the distinct slices along a dimension, sorted."""
    check_tensor("unique", input)
    _check_flags("unique", sorted, return_inverse, return_counts)
    return _distinct(input, dim, False, (return_inverse, return_counts))


@function_and_method
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along a dimension, that differ from the ones before them."""
    check_tensor("unique_consecutive", input)
    _check_flags("unique_consecutive", return_inverse, return_counts)
    return _distinct(input, dim, True, (return_inverse, return_counts))


def _check_flags(name: str, *flags: Any) -> None:
    for flag in flags:
        if not isinstance(flag, bool):
            raise TypeError(
                f"{name}(): what to return must be said by bools, not {type(flag).__name__}"
            )


def _as_rows(name: str, array: Array, dim: int) -> Array:
    """The slices along a dimension as the rows of a matrix."""
    first = np.moveaxis(array, dim, 0)
    if not array.size and any(not s for d, s in enumerate(array.shape) if d != dim):
        if array.shape[dim]:
            raise RuntimeError(
                f"{name}: There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            )
        raise RuntimeError(
            f"{name}: Number of zero sized dimensions is more than one, so unique cannot be applied"
        )
    return widened(first.reshape(len(first), -1) if array.size else np.empty((len(first), 1)))


def _runs(
    array: Array, order: Array, shape: tuple[int, ...], dim: int = 0
) -> tuple[Array, Array, Array]:
    """In a given order: one slice of each run of equal ones, each slice's run, and the runs' lengths."""
    ordered = np.take(array, order, axis=dim)
    rows = (
        np.moveaxis(ordered, dim, 0).reshape(len(order), -1)
        if array.size
        else np.empty((len(order), 0), like=array)
    )
    begins = np.empty(len(order), bool, like=array)
    begins[:1] = True
    begins[1:] = (rows[1:] != rows[:-1]).any(-1)
    inverse = np.empty(len(order), np.int64, like=array)
    inverse[order] = np.cumsum(begins) - 1
    starts = np.flatnonzero(begins)
    counts = np.diff(starts, append=len(order))
    return np.compress(begins, ordered, axis=dim), inverse.reshape(shape), counts


# --- Searching ------------------------------------------------------------------------------------


def _search(rows: Array, values: Any, sorter: Array | None, side: Any, out_int32: bool) -> Array:
    kind = np.int32 if out_int32 else np.int64
    rows = widened(rows)
    if sorter is not None:
        rows = _sorted_by(rows, sorter)
    found_at = _search_rows(rows, as_array(widened(values)), side)
    return as_array(found_at).astype(kind, copy=False)


SEARCH = Op("searchsorted", ("sorted_sequence", "input", "sorter"), _search,
            {"sorted_sequence": None, "input": None, "sorter": None})  # fmt: skip


def _search_rows(rows: Array, values: Array, side: Any) -> Array:
    """The positions of values in one sorted row, or of each row of values in its own sorted row."""
    if rows.ndim == 1:
        return np.searchsorted(rows, values, side)
    count = math.prod(rows.shape[:-1])
    flat = rows.reshape(count, rows.shape[-1]), values.reshape(count, values.shape[-1])
    found_at = [
        np.searchsorted(row, row_values, side) for row, row_values in zip(*flat, strict=True)
    ]
    return np.asarray(found_at, np.int64).reshape(values.shape)


def _search_type(rows: Tensor, values: Any) -> Any:
    """The common type of boundaries and what is searched; nothing is searched among any type."""
    if not isinstance(values, Tensor):
        return result_type(rows, values)
    return dtypes.promote_types(rows.dtype, values.dtype) if values._array.size else rows.dtype


def _check_search(rows: Tensor, values: Any, out_int32: bool, out: Any) -> None:
    if not rows.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    kind = _search_type(rows, values)
    searched = not isinstance(values, Tensor) or values._array.size
    if searched and (kind.is_complex or kind is dtypes.bool_):
        name = kind.type_name.removesuffix("Tensor")
        raise NotImplementedError(f"\"searchsorted_out_cpu\" not implemented for '{name}'")
    if isinstance(values, Tensor):
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
    """The indices at which values would be inserted into sorted rows."""
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
        kind = _search_type(sorted_sequence, input)
        sorted_sequence, values = sorted_sequence.to(kind), input.to(kind)
    if not isinstance(values, Tensor):
        with np.errstate(over="ignore"):
            values = cast(values, result_type(sorted_sequence, values))
    side = "right" if right else side or "left"
    result = SEARCH(sorted_sequence, values, sorter, side=side, out_int32=out_int32)
    return result if out is None else into(out, result, "searchsorted")


def _sorted_by(rows: Array, order: Array) -> Array:
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
    """The index of the bucket between sorted boundaries in which each value lies."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


ISIN = Op(
    "isin", ("elements", "test_elements"),
    lambda elements, test_elements, **how: np.isin(widened(elements), widened(test_elements), **how),
    {"elements": None, "test_elements": None},
)  # fmt: skip


@function
def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Any = None,
) -> Tensor:
    """Whether each element is among the test elements."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin() received an invalid combination of arguments - got two numbers")
    for v in (elements, test_elements):
        x = v._array if isinstance(v, Tensor) else np.asarray(v)
        if x.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind_name(x)}")
    result = ISIN(elements, test_elements, assume_unique=assume_unique, invert=invert)
    return result if out is None else into(out, result, "isin")


@function
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Flat indices as indices along each dimension of a shape."""
    check_tensor("unravel_index", indices, "indices")
    if indices.dtype.kind != dtypes.INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(
            f"expected 'shape' to be int or sequence of ints, but got {type(shape).__name__}"
        )
    sizes: tuple[Any, ...] = (shape,) if isinstance(shape, int) else tuple(shape)
    if not all(isinstance(s, int) for s in sizes):
        raise TypeError(f"expected 'shape' elements to be int, but got {sizes}")
    sizes = plain_integers(sizes, "unravel_index", "shape")
    if any(s < 0 for s in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if indices._array.size and 0 in sizes:
        raise RuntimeError(f"ZeroDivisionError: unravel_index of a shape without elements: {sizes}")
    steps = np.cumprod((1, *sizes[:0:-1]), dtype=np.int64)[::-1][: len(sizes)]
    wide = indices.to(dtypes.int64)
    return tuple(
        wide.floor_divide(int(step)).remainder(size) if size else wide.clone()
        for step, size in zip(steps, sizes, strict=True)
    )


# --- Counting ---------------------------------------------------------------------------------------


def _bincount(input: Array, weights: Array | None, minlength: int) -> Array:
    kind = np.dtype(np.int64 if weights is None else np.float64)
    if weights is not None and weights.dtype == np.float32:
        kind = weights.dtype
    return np.bincount(input, weights, minlength).astype(kind)


BINCOUNT = Op("bincount", ("input", "weights"), _bincount, {"input": None, "weights": None})


@function_and_method
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer occurs, or the sum of its weights."""
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
    if not input._array.size:
        return BINCOUNT(input, None, minlength=minlength)
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is not None:
        require_floats("bincount_cpu", weights._array, "biufV")
    return BINCOUNT(input, weights, minlength=minlength)


def _limits(name: str, low: float, high: float) -> tuple[float, float]:
    """The range to count in; an empty one is widened."""
    if not np.isfinite(low) or not np.isfinite(high):
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    if low > high:
        wrong = (
            "max must be larger than min" if name == "torch.histc" else "min should not exceed max"
        )
        raise RuntimeError(f"{name}: {wrong}")
    wider = 1 if name == "torch.histc" else 0.5
    return (low - wider, high + wider) if low == high else (low, high)


def _histc(input: Array, bins: int, min: float, max: float) -> Array:
    values, number = input.reshape(-1), input.dtype.type
    given = (values.min(), values.max()) if min == max and values.size else (min, max)
    low, high = map(number, _limits("torch.histc", *given))
    inside = values[(values >= low) & (values <= high)]
    at = ((inside - low) * number(bins) / (high - low)).astype(np.int64)
    at = np.clip(at, 0, bins - 1)  # where the range overflows, they are not in it
    return np.bincount(at, minlength=bins).astype(input.dtype)


HISTC = Op("histc", ("input",), _histc, {"input": None})


@function_and_method
def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None
) -> Tensor:
    """The count of elements in each of `bins` equal bins of a range."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{kind_name(input._array)}'"
        )
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    bins = plain_integer(bins, "histc", "bins")
    min, max = (float(exact_number(v, dtypes.float64)) for v in (min, max))
    if min != max:  # equal ones stand for the range of the elements
        for bound in (min, max):
            exact_number(bound, input.dtype)
    result = HISTC(input.detach(), bins=bins, min=min, max=max)
    return result if out is None else into(out, result, "histc")


def _edges_of(name: str, values: Tensor, bins: Any, limits: tuple[float, float] | None) -> Tensor:
    """The edges of bins: as given, or of a number of equal bins over a range."""
    if isinstance(bins, Tensor):
        if bins.ndim != 1 or bins.dtype is not values.dtype:
            raise RuntimeError(
                f"{name}: bins should be a vector of the type of the input, but got {bins.dtype} of {list(bins.shape)}"
            )
        if len(bins) < 2:
            raise RuntimeError(f"{name}(): bins must be > 0, but got 0")
        return bins
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    if limits is None:
        array = values._array
        if array.size and values.dtype is dtypes.bfloat16:
            raise NotImplementedError("\"histogramdd\" not implemented for 'BFloat16'")
        limits = (array.min(), array.max()) if array.size else (0, 1)
    low, high = _limits(name, *limits)
    return linspace(float(low), float(high), bins + 1, dtype=values.dtype, device=values.device)


def _bins_of(values: Array, edges: Array) -> Array:
    """The bin of each value, or -1; a bin excludes its right edge, except for the last."""
    at = np.searchsorted(edges, values, "right") - 1
    at[values == edges[-1]] = len(edges) - 2
    return np.where((at < 0) | (at > len(edges) - 2), -1, at)


def _counted(input: Array, weight: Array | None, *edges: Array, density: bool) -> Array:
    """The count of rows in each bin of a grid, or the sum of their weights, or the density."""
    kind = input.dtype
    shape = tuple(len(e) - 1 for e in edges)
    places = np.stack([_bins_of(c, e) for c, e in zip(input.T, edges, strict=True)])
    inside = (places >= 0).all(axis=0)
    flat = np.ravel_multi_index(tuple(places[:, inside]), shape)
    weights = None if weight is None else weight.reshape(-1)[inside]
    counts = np.bincount(flat, weights, int(np.prod(shape))).reshape(shape).astype(kind)
    if density:
        counts = counts / counts.sum()
        for d, e in enumerate(edges):
            counts = counts / np.diff(e).reshape([-1 if k == d else 1 for k in range(len(edges))])
    return counts.astype(kind)


HISTOGRAM = Op("histogram", ("input", "weight", "*edges"), _counted,
               {"input": None, "weight": None, "edges": None})  # fmt: skip


def _count_rows(
    rows: Tensor, weight: Tensor | None, edges: Sequence[Tensor], density: bool
) -> Tensor:
    if weight is not None and weight.numel() != rows._array.shape[0]:
        raise RuntimeError(
            f"torch.histogramdd: if weight tensor is provided it should have a number for each of {len(rows)} rows, "
            f"but got {list(weight.shape)}"
        )
    if weight is not None and weight.dtype is not rows.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the "
            f"same dtype, but got input({rows.dtype}), and weight({weight.dtype})"
        )
    return HISTOGRAM(rows, weight, *edges, density=density)


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
    """The count of elements in each bin, or the sum of their weights; and the edges of the bins."""
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{kind_name(input._array)}'"
        )
    values = input.reshape(-1)
    edges = _edges_of("torch.histogram", values, bins, range)
    counts = _count_rows(values.unsqueeze(1), weight, [edges], density)
    edges = without_derivative("histogram", edges.detach().clone(), input, bins, weight)
    result = named("histogram", "hist", "bin_edges")(counts, edges)
    return result if out is None else into(out, result, "histogram")


@function
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """The count of rows in each bin of a grid; and the edges along each dimension."""
    if input.ndim < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.ndim}"
        )
    require_floats("histogramdd", input._array)
    rows = input.flatten(0, -2)
    columns = rows.unbind(1) if rows.shape[1] else ()
    each = [bins] * len(columns) if isinstance(bins, int) else list(bins)
    if len(each) != len(columns):
        raise RuntimeError(
            f"torch.histogramdd: The size of bins must be equal to the innermost dimension of the input: {len(each)} and {len(columns)}"
        )
    if all(isinstance(b, Tensor) for b in each):
        range = None  # which says nothing beside edges
    if range is not None and len(range) != 2 * len(columns):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(columns)}-dimensional histogram range should have {2 * len(columns)} "
            f"elements, but got {len(range)}"
        )
    limits = (
        [None] * len(columns) if range is None else list(zip(range[::2], range[1::2], strict=True))
    )
    edges = [
        _edges_of("torch.histogramdd", c, b, r)
        for c, b, r in zip(columns, each, limits, strict=True)
    ]
    shown = [
        b if isinstance(b, Tensor) else without_derivative("histogramdd", e, input, weight, *each)
        for b, e in zip(each, edges, strict=True)
    ]
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got {list(weight.shape)} and {list(input.shape)}"
        )
    if edges:
        hist = _count_rows(rows, weight, edges, density)
    else:  # a sum of 0, which a density divides by
        hist = input.new_full((), math.nan if density else 0.0)
    return named("histogramdd", "hist", "bin_edges")(hist, tuple(shown))
