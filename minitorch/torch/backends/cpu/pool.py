"""Pooling of arrays (..., *spatial) in one, two and three dimensions.

A pooling is a set of windows along each dimension, each with a first place, an end and a
step; their products are the windows over an image or a volume. Fixed and adaptive pooling
differ only in where the windows stand. What is left outside the input counts for nothing,
so that padding is never written out. Small inputs are gathered by NumPy through a table of
places; large ones run in the kernels of `pool_kernels`.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .arrays import in_order
from .dispatch import kernels_from, widen

Array = Any
Sizes = tuple[int, ...]

SMALL = kernels_from(1 << 12)
"""Elements up to which pooling is left to NumPy."""


# --- Windows -----------------------------------------------------------------------------


class Windows(NamedTuple):
    """Where the windows stand along one dimension: window i covers range(first[i], end[i], step)."""

    first: Array
    end: Array
    step: int

    @property
    def counts(self) -> Array:
        """How many places each window covers."""
        return np.maximum(-((self.first - self.end) // self.step), 0)


ONE = Windows(np.zeros(1, np.int64), np.ones(1, np.int64), 1)
"""The window along a dimension that is not there."""


@lru_cache(maxsize=256)
def fixed_windows(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> Windows:
    """Windows of one size at equal distances, without what lies outside the input."""
    start = (
        np.arange(pooled_size(size, kernel, stride, padding, dilation, ceil_mode)) * stride
        - padding
    )
    skipped = np.maximum(-(start // dilation), 0)  # taps that lie before the input
    end = np.minimum(start + (kernel - 1) * dilation + 1, size)
    return Windows(start + skipped * dilation, end, dilation)


@lru_cache(maxsize=256)
def adaptive_windows(size: int, count: int) -> Windows:
    """As many windows as asked for, which together cover the input."""
    i = np.arange(count)
    return Windows(i * size // max(count, 1), -(-(i + 1) * size // max(count, 1)), 1)


def pooled_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool
) -> int:
    """How many windows stand along one dimension; the last one may begin inside the input only."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def _fixed(
    name: str,
    shape: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> tuple[Windows, ...]:
    """The windows along every dimension; RuntimeError where there are none such."""
    _check_steps(name, kernel, stride, padding, dilation)
    sizes = _spatial(name, shape, len(kernel))
    geometry = list(zip(sizes, kernel, stride, padding, dilation, strict=True))
    pooled = [pooled_size(*g, ceil_mode) for g in geometry]
    if min(pooled) < 1:
        raise RuntimeError(
            f"{name}: Given input size: ({_by(shape[-len(kernel) - 1 :])}). Calculated output size: "
            f"({_by((*shape[-len(kernel) - 1 : -len(kernel)], *pooled))}). Output size is too small"
        )
    return tuple(fixed_windows(*g, ceil_mode) for g in geometry)


def _check_steps(name: str, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    for what, values in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(
                f"{name}: {what} should be greater than zero, but got {what}={values}"
            )
    if min(padding) < 0:
        raise RuntimeError(f"{name}: pad must be non-negative, but got pad={padding}")
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p > ((d * (k - 1) + 1) // 2 if len(kernel) == 1 else k // 2):
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, "
                f"but got pad={p}, kernel_size={k} and dilation={d}"
            )


def _spatial(name: str, shape: Sizes, dims: int) -> Sizes:
    """The spatial sizes of an input; RuntimeError if there are too few or empty ones."""
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got: {list(shape)}"
        )
    return shape[-dims:]


def _adaptive(name: str, shape: Sizes, output_size: Sizes) -> tuple[Windows, ...]:
    """Adaptive windows along every dimension."""
    dims = len(output_size)
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {output_size}"
        )
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims:]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D input with non-zero size for non-batch "
            f"dimensions, but input has sizes {list(shape)}"
        )
    return tuple(map(adaptive_windows, shape[-dims:], output_size))


def _by(sizes: Any) -> str:
    return "x".join(str(n) for n in sizes)


def _gather_table(windows: tuple[Windows, ...], sizes: Sizes) -> tuple[Array, Array]:
    """For each window its places in the flat input, and which of them count: two (windows, taps).

    A window with fewer places than others names its last one again; one without any, some place.
    """
    places = np.zeros((1, 1), np.int64)
    counting = np.ones((1, 1), bool)
    for w, size in zip(windows, sizes, strict=True):
        counts = w.counts[:, None]
        tap = np.arange(counts.max(initial=1))
        along = w.first[:, None] + np.minimum(tap, counts - 1) * w.step  # (windows, taps) here
        along = np.clip(along, 0, size - 1)
        places = _outer(np.add, places * size, along)
        counting = _outer(np.logical_and, counting, tap < counts)
    return places, counting


def _outer(combine: Any, a: Array, b: Array) -> Array:
    """Every row of a with every row of b, every column with every column."""
    both = combine(a[:, None, :, None], b[None, :, None, :])
    return both.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


# --- Maximum -----------------------------------------------------------------------------


def max_pool_forward(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Array, Array]:
    """The largest element of each window, and its place in the flat spatial dimensions."""
    name = f"max_pool{len(kernel)}d"
    return _max_pool(x, _fixed(name, x.shape, kernel, stride, padding, dilation, ceil_mode))


def adaptive_max_pool_forward(x: Array, output_size: Sizes) -> tuple[Array, Array]:
    """The largest element and its place in each of output_size windows that cover the input."""
    name = f"adaptive_max_pool{len(output_size)}d"
    return _max_pool(x, _adaptive(name, x.shape, output_size))


def _max_pool(x: Array, windows: tuple[Windows, ...]) -> tuple[Array, Array]:
    dims = len(windows)
    planes, shape = _planes(x, dims), _pooled_shape(x.shape, windows)
    if 0 in shape:
        return np.empty(shape, x.dtype), np.empty(shape, np.int64)
    if _is_large(x) and all(w.counts.all() for w in windows):
        return _large_max_pool(x, windows, shape)
    places, counting = _gather_table(windows, x.shape[-dims:])
    candidates = planes[:, places]  # (planes, windows, taps)
    best = candidates.argmax(2)
    if x.dtype.kind not in "iub":
        _prefer_last_nan(candidates, best)
    indices = places[np.arange(len(places)), best]
    values = np.take_along_axis(planes, indices, 1)
    values[:, ~counting.any(1)] = _lowest(x.dtype)  # of nothing
    return values.reshape(shape), indices.reshape(shape)


def _lowest(kind: Any) -> Any:
    return np.iinfo(kind).min if kind.kind in "iu" else -np.inf


def _large_max_pool(x: Array, windows: tuple[Windows, ...], shape: Sizes) -> tuple[Array, Array]:
    planes = _planes(in_order(widen(x)), len(windows))
    values, indices = np.empty(shape, planes.dtype), np.empty(shape, np.int64)
    sizes, firsts, ends, steps = _lift(x.shape, windows)
    flat_values, flat_indices = (_planes(a, len(windows)) for a in (values, indices))
    if len(windows) == 2 and all(map(_halves, windows)):
        _run("halve_planes", x.size, planes, *sizes[1:], flat_values, flat_indices)
    else:
        work = max(x.size, values.size * _taps(windows))
        _run("max_planes", work, planes, sizes, firsts, ends, steps, flat_values, flat_indices)
    return values.astype(x.dtype, copy=False), indices


def _halves(windows: Windows) -> bool:
    """Whether windows of two places stand side by side from the beginning."""
    first, end, step = windows
    return step == 1 and bool(
        (first == 2 * np.arange(len(first))).all() and (end == first + 2).all()
    )


def _prefer_last_nan(candidates: Array, best: Array) -> None:
    """Where a window's maximum is NaN, name its last NaN, as Torch does."""
    missing = np.isnan(candidates)
    if missing.any():
        last = candidates.shape[2] - 1 - missing[:, :, ::-1].argmax(2)
        np.copyto(best, last, where=missing.any(2))


def max_pool_gradient(g: Array, indices: Array, input_shape: Sizes, dims: int) -> Array:
    """The gradient of a maximum's input: g added at the places that won."""
    if _is_large(g):
        added = np.empty(input_shape, widen(g[:0]).dtype)
        parts = _planes(in_order(widen(g)), dims), _planes(in_order(indices), dims)
        _run("add_planes", added.size, *parts, _planes(added, dims))
        return added.astype(g.dtype, copy=False)
    gradient = np.zeros((prod(input_shape[:-dims]), prod(input_shape[-dims:])), g.dtype)
    row = np.arange(len(gradient))[:, None]
    np.add.at(gradient, (row, _planes(indices, dims)), _planes(g, dims))
    return gradient.reshape(input_shape)


def take_pooled(x: Array, indices: Array, dims: int) -> Array:
    """The elements of x at the places that won: the transpose of `max_pool_gradient`."""
    return np.take_along_axis(_planes(x, dims), _planes(indices, dims), 1).reshape(indices.shape)


def max_unpool(x: Array, indices: Array, output_size: Sizes) -> Array:
    """Zeros of output_size with the elements of x at their places."""
    dims = len(output_size)
    if x.shape != indices.shape:
        raise RuntimeError(
            "max_unpool: Expected shape of indices to be same as that of the input tensor "
            f"({list(x.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    wrong = (indices < 0) | (indices >= prod(output_size))
    if wrong.any():
        raise RuntimeError(
            f"max_unpool: Found an invalid max index: {indices[wrong][0]} "
            f"(output volumes are of size {_by(output_size)})"
        )
    out = np.zeros((prod(x.shape[:-dims]), prod(output_size)), x.dtype)
    np.put_along_axis(out, _planes(indices, dims), _planes(x, dims), 1)
    return out.reshape(*x.shape[:-dims], *output_size)


def _planes(x: Array, dims: int) -> Array:
    """The array as (planes, places)."""
    return x.reshape(prod(x.shape[:-dims]), prod(x.shape[-dims:]))


def _lift(shape: Sizes, windows: tuple[Windows, ...]) -> tuple[Any, ...]:
    """Sizes, first places, ends and steps of three dimensions; those that are missing have size 1."""
    missing = 3 - len(windows)
    sizes = (1,) * missing + shape[-len(windows) :]
    firsts, ends, steps = zip(*(ONE,) * missing, *windows, strict=True)
    return sizes, firsts, ends, steps


def _is_large(array: Array) -> bool:
    """Whether a pooling is worth a compiled kernel."""
    return array.size > SMALL and array.dtype.kind in "fV"


def _taps(windows: tuple[Windows, ...]) -> int:
    """How many places the largest window covers."""
    return prod(int(w.counts.max(initial=0)) for w in windows)


def _run(name: str, work: int, planes: Array, *args: Any) -> None:
    """Run a kernel of `pool_kernels` over planes of float32 or float64."""
    from . import pool_kernels

    pool_kernels.compiled_kernel(getattr(pool_kernels, name), planes.dtype.type)(
        work, planes, *args
    )


def _pooled_shape(shape: Sizes, windows: tuple[Windows, ...]) -> Sizes:
    return (*shape[: -len(windows)], *(len(w.first) for w in windows))


# --- Average -----------------------------------------------------------------------------


def avg_pool_forward(
    x: Array,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The mean of each window."""
    name = f"avg_pool{len(kernel)}d"
    windows = _fixed(name, x.shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    divisors = _divisors(
        windows, x.shape, kernel, stride, padding, count_include_pad, divisor_override
    )
    return _avg_pool(x, windows, divisors)


def avg_pool_gradient(
    g: Array,
    input_shape: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """The gradient of a mean's input: each window's g shared among its places."""
    name = f"avg_pool{len(kernel)}d"
    windows = _fixed(name, input_shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    divisors = _divisors(
        windows, input_shape, kernel, stride, padding, count_include_pad, divisor_override
    )
    return _avg_pool_gradient(g, input_shape, windows, divisors)


def adaptive_avg_pool_forward(x: Array, output_size: Sizes) -> Array:
    """The mean of each of output_size windows that cover the input."""
    windows = _adaptive(f"adaptive_avg_pool{len(output_size)}d", x.shape, output_size)
    return _avg_pool(x, windows, _product([w.counts for w in windows]))


def adaptive_avg_pool_gradient(g: Array, input_shape: Sizes, output_size: Sizes) -> Array:
    """The gradient of an adaptive mean's input."""
    windows = _adaptive(f"adaptive_avg_pool{len(output_size)}d", input_shape, output_size)
    return _avg_pool_gradient(g, input_shape, windows, _product([w.counts for w in windows]))


def _divisors(
    windows: tuple[Windows, ...],
    shape: Sizes,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    """What each window's sum is divided by, flat."""
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError(f"avg_pool{len(kernel)}d: divisor must be not zero")
        return np.full(prod(len(w.first) for w in windows), divisor_override)
    if not count_include_pad:
        return _product([w.counts for w in windows])
    lengths = []
    for w, n, k, s, p in zip(windows, shape[-len(kernel) :], kernel, stride, padding, strict=True):
        start = np.arange(len(w.first)) * s - p
        lengths.append(
            np.minimum(start + k, n + p) - start
        )  # padding counts, what is past it does not
    return _product(lengths)


def _product(lengths: list[Array]) -> Array:
    """The sizes of windows from their lengths along each dimension, flat."""
    sizes = np.ones(1, np.int64)
    for along in lengths:
        sizes = np.multiply.outer(sizes, along).reshape(-1)
    return sizes


def _avg_pool(x: Array, windows: tuple[Windows, ...], divisors: Array) -> Array:
    shape = _pooled_shape(x.shape, windows)
    if 0 in shape:
        return np.empty(shape, x.dtype)
    if _is_large(x):
        planes = _planes(in_order(widen(x)), len(windows))
        mean = np.empty(shape, planes.dtype)
        sizes, firsts, ends, _ = _lift(x.shape, windows)
        divisors = divisors.astype(planes.dtype)
        work = max(x.size, mean.size * _taps(windows))
        flat_mean = _planes(mean, len(windows))
        _run("mean_planes", work, planes, sizes, firsts, ends, divisors, flat_mean)
        return mean.astype(x.dtype, copy=False)
    places, counting = _gather_table(windows, x.shape[-len(windows) :])
    parts = widen(_planes(x, len(windows)))[:, places]  # (planes, windows, taps)
    total = np.where(counting, parts, parts.dtype.type(0)).sum(2)
    mean = total / divisors.astype(total.dtype)
    return mean.astype(x.dtype, copy=False).reshape(shape)


def _avg_pool_gradient(
    g: Array, input_shape: Sizes, windows: tuple[Windows, ...], divisors: Array
) -> Array:
    dims = len(windows)
    if _is_large(g):
        parts = _planes(in_order(widen(g)), dims)
        shared = np.empty(input_shape, parts.dtype)
        sizes, firsts, ends, _ = _lift(input_shape, windows)
        divisors = divisors.astype(parts.dtype)
        work = max(shared.size, g.size * _taps(windows))
        _run("share_planes", work, parts, sizes, firsts, ends, divisors, _planes(shared, dims))
        return shared.astype(g.dtype, copy=False)
    shares = widen(_planes(g, dims))
    shares = shares / divisors.astype(shares.dtype)
    gradient = np.zeros((len(shares), prod(input_shape[-dims:])), shares.dtype)
    if g.size:
        places, counting = _gather_table(windows, input_shape[-dims:])
        window, _ = counting.nonzero()
        row = np.arange(len(gradient))[:, None]
        np.add.at(gradient, (row, places[counting]), shares[:, window])
    return gradient.astype(g.dtype, copy=False).reshape(input_shape)
