"""Pooling of arrays (..., *spatial) in one, two and three dimensions.

A pooling is a set of windows along each dimension; their products are the windows over an image
or a volume. Fixed and adaptive pooling differ only in where the windows stand. What is left
outside the input counts for nothing, so that padding is never written out. Small inputs are
gathered by NumPy through a table of places.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..backends.interface import accelerated, reduce
from . import reductions
from .geometry import Geometry, Grid, Sizes, adaptive_windows, by
from .half_precision import in_single
from .indexing import add_at

Array = Any


# --- Windows -----------------------------------------------------------------------------


@lru_cache(256)
def _fixed(name: str, shape: Sizes, geometry: Geometry) -> Grid:
    """The windows over an input of a shape; RuntimeError where there are none such."""
    dims = len(geometry.kernel)
    name = f"{name}{dims}d"
    geometry.check(name)
    for k, r, p, d in zip(
        geometry.kernel, geometry.reach, geometry.padding, geometry.dilation, strict=True
    ):
        if p > (r // 2 if dims == 1 else k // 2):
            raise RuntimeError(
                f"{name}: pad should be at most half of effective kernel size, "
                f"but got pad={p}, kernel_size={k} and dilation={d}"
            )
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got: {list(shape)}"
        )
    pooled = geometry.places(shape[-dims:])
    if min(pooled) < 1:
        raise RuntimeError(
            f"{name}: Given input size: ({by(shape[-dims - 1 :], 'x')}). Calculated output size: "
            f"({by((*shape[-dims - 1 : -dims], *pooled), 'x')}). Output size is too small"
        )
    return geometry.grid(shape[-dims:])


@lru_cache(256)
def _adaptive(name: str, shape: Sizes, output_size: Sizes) -> Grid:
    """Adaptive windows over an input of a shape."""
    dims = len(output_size)
    name = f"{name}{dims}d"
    if min(output_size) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {output_size}"
        )
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[-dims:]:
        raise RuntimeError(
            f"{name}: Expected {dims + 1}D or {dims + 2}D input with non-zero size for non-batch "
            f"dimensions, but input has sizes {list(shape)}"
        )
    return Grid(tuple(map(adaptive_windows, shape[-dims:], output_size)), shape[-dims:])


def planes_of(x: Array, dims: int) -> Array:
    """The array as (planes, places)."""
    return x.reshape(prod(x.shape[:-dims]), prod(x.shape[-dims:]))


def pooled_shape(shape: Sizes, grid: Grid) -> Sizes:
    """The shape of a pooling's result."""
    return shape[: -grid.dims] + grid.shape


# --- Maximum -----------------------------------------------------------------------------


def max_pool_forward(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Array, Array]:
    """The largest element of each window, and its place in the flat spatial dimensions."""
    geometry = Geometry(kernel, stride, padding, dilation, ceil_mode)
    return max_of_windows(x, _fixed("max_pool", x.shape, geometry))


def max_pool_windows(shape: Sizes, geometry: Geometry) -> Sizes:
    """The shape of what `max_pool_forward` gives; RuntimeError where there are no such windows."""
    return pooled_shape(shape, _fixed("max_pool", shape, geometry))


def adaptive_max_pool_forward(x: Array, output_size: Sizes) -> tuple[Array, Array]:
    """The largest element and its place in each of output_size windows that cover the input."""
    return max_of_windows(x, _adaptive("adaptive_max_pool", x.shape, output_size))


@accelerated
def max_of_windows(x: Array, grid: Grid) -> tuple[Array, Array]:
    """The largest element of each window, and its place: the first, or the last NaN, as in Torch."""
    planes, shape = planes_of(x, grid.dims), pooled_shape(x.shape, grid)
    if 0 in shape:
        return np.empty(shape, x.dtype, like=x), np.empty(shape, np.int64, like=x)
    places = np.asarray(grid.table[0], like=x)
    candidates = planes.take(places, 1)  # (planes, taps, windows)
    best, values = candidates.argmax(1), reduce(np.maximum, candidates, 1)
    top = values.max()
    if top != top:
        last = candidates.shape[1] - 1 - np.isnan(candidates[:, ::-1]).argmax(1)
        np.copyto(best, last, where=np.isnan(values))
    if not grid.covers_some:  # the largest of nothing
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        values[:, ~np.asarray(grid.table[1], like=x).any(0)] = lowest
    indices = places[best, np.arange(places.shape[1], like=x)]
    return values.reshape(shape), indices.reshape(shape)


@accelerated
def max_pool_gradient(g: Array, indices: Array, input_shape: Sizes, dims: int) -> Array:
    """The gradient of a maximum's input: g added at the places that won."""
    shape = prod(input_shape[:-dims]), prod(input_shape[-dims:])
    gradient = np.zeros(shape, g.dtype, like=g)
    starts = np.arange(shape[0], like=g)[:, None] * shape[1]
    places = (starts + planes_of(indices, dims)).reshape(-1)
    add_at(gradient.reshape(-1), places, planes_of(g, dims).reshape(-1))
    return gradient.reshape(input_shape)


def take_pooled(x: Array, indices: Array, dims: int) -> Array:
    """The elements of x at the places that won: the transpose of `max_pool_gradient`."""
    taken = np.take_along_axis(planes_of(x, dims), planes_of(indices, dims), 1)
    return taken.reshape(indices.shape)


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
            f"(output volumes are of size {by(output_size, 'x')})"
        )
    out = np.zeros((prod(x.shape[:-dims]), prod(output_size)), x.dtype, like=x)
    np.put_along_axis(out, planes_of(indices, dims), planes_of(x, dims), 1)
    return out.reshape(*x.shape[:-dims], *output_size)


# --- Average -----------------------------------------------------------------------------


def avg_pool_forward(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Array:  # fmt: skip
    """The mean of each window."""
    geometry = Geometry(kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return mean_of_windows(x, *_means(x.shape, geometry, count_include_pad, divisor_override))


def avg_pool_windows(shape: Sizes, window: tuple[Any, ...]) -> tuple[Geometry, Sizes]:
    """The windows of `avg_pool_forward`, and the shape of what it gives; RuntimeError where there are none such."""
    kernel, stride, padding, ceil_mode, *means = window
    geometry = Geometry(kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return geometry, pooled_shape(shape, _means(shape, geometry, *means)[0])


def avg_pool_gradient(
    g: Array, input_shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Array:  # fmt: skip
    """The gradient of a mean's input: each window's g shared among its places."""
    geometry = Geometry(kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    means = _means(input_shape, geometry, count_include_pad, divisor_override)
    return share_among_windows(g, *means)


def adaptive_avg_pool_forward(x: Array, output_size: Sizes) -> Array:
    """The mean of each of output_size windows that cover the input."""
    return mean_of_windows(x, *_adaptive_means(x.shape, output_size))


def adaptive_avg_pool_gradient(g: Array, input_shape: Sizes, output_size: Sizes) -> Array:
    """The gradient of an adaptive mean's input."""
    return share_among_windows(g, *_adaptive_means(input_shape, output_size))


@lru_cache(256)
def _means(
    shape: Sizes, geometry: Geometry, count_include_pad: bool, divisor_override: int | None
) -> tuple[Grid, Array]:
    """The windows over an input of a shape, and what each one's sum is divided by, flat."""
    grid = _fixed("avg_pool", shape, geometry)
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError(f"avg_pool{grid.dims}d: divisor must be not zero")
        return grid, np.full(prod(grid.shape), divisor_override)
    if not count_include_pad:
        return grid, _product([w.counts for w in grid.windows])
    lengths = []
    steps = geometry.kernel, geometry.stride, geometry.padding
    for count, n, k, s, p in zip(grid.shape, grid.sizes, *steps, strict=True):
        start = np.arange(count) * s - p
        lengths.append(np.minimum(start + k, n + p) - start)  # padding counts, what is past it not
    return grid, _product(lengths)


@lru_cache(256)
def _adaptive_means(shape: Sizes, output_size: Sizes) -> tuple[Grid, Array]:
    """The same for adaptive windows."""
    grid = _adaptive("adaptive_avg_pool", shape, output_size)
    return grid, _product([w.counts for w in grid.windows])


def _product(lengths: list[Array]) -> Array:
    """The sizes of windows from their lengths along each dimension, flat."""
    product = lengths[0]
    for length in lengths[1:]:
        product = np.multiply.outer(product, length).reshape(-1)
    return product


@in_single
def mean_of_windows(x: Array, grid: Grid, divisors: Array) -> Array:
    """The sum of each window, divided by its own number: sums along one dimension after the other."""
    total = x.astype(np.int64) if x.dtype.kind in "biu" else x
    if prod(grid.shape) == 1:
        whole = total[(..., *(passes[0][1] for passes in grid.passes))]
        total = reductions.sum(whole, tuple(range(-grid.dims, 0)), True)
    elif x.size < _FEW and grid.tiles:
        lead = x.shape[: -grid.dims]
        tiles = total.reshape(*lead, *_interleaved(grid.shape, grid.tiles))
        total = np.add.reduce(tiles, axis=tuple(range(len(lead) + 1, tiles.ndim, 2)))
    else:
        for axis, (passes, count) in enumerate(
            zip(grid.passes, grid.shape, strict=True), -grid.dims
        ):
            total = _sum_along(total, axis, passes, count)
    divisors = np.asarray(divisors.reshape(grid.shape).astype(total.dtype), like=x)
    if total.dtype.kind == "i":  # towards 0, with all digits
        return ((total - np.fmod(total, divisors)) // divisors).astype(x.dtype)
    return total / divisors


@in_single
def share_among_windows(g: Array, grid: Grid, divisors: Array) -> Array:
    """Each window's g, divided by its own number, added to all its places."""
    shared = g / np.asarray(divisors.reshape(grid.shape).astype(g.dtype), like=g)
    if g.size < _FEW and grid.tiles:
        lead = g.shape[: -grid.dims]
        spread = np.empty((*lead, *_interleaved(grid.shape, grid.tiles)), g.dtype, like=g)
        spread[...] = shared.reshape(*lead, *_interleaved(grid.shape, (1,) * grid.dims))
        return spread.reshape(*lead, *grid.sizes)
    for axis, (passes, size) in enumerate(zip(grid.passes, grid.sizes, strict=True), -grid.dims):
        parts = shared
        shared = np.zeros(_resized(parts, axis, size), parts.dtype, like=g)
        for chosen, places in passes:
            shared[_along(axis, places)] += parts[_along(axis, chosen)]
    return shared


_FEW = 4096
"""Up to this many elements, one call for all windows side by side costs less than one for each of their places."""


def _interleaved(a: Sizes, b: Sizes) -> Sizes:
    return tuple([n for pair in zip(a, b, strict=True) for n in pair])


def _sum_along(x: Array, axis: int, passes: list[tuple[slice, slice]], count: int) -> Array:
    """The sums of windows along one dimension."""
    total = np.empty(_resized(x, axis, count), x.dtype, like=x)
    before = None
    for chosen, places in passes:
        part, target = x[_along(axis, places)], total[_along(axis, chosen)]
        if chosen == before:
            target += part
        else:
            alone = chosen.stop - chosen.start == 1
            with np.errstate(
                over="ignore", invalid="ignore"
            ):  # of two-byte floats NumPy warns here
                target[...] = part.sum(axis, keepdims=True) if alone else part
        before = chosen
    return total


def _along(axis: int, part: slice) -> tuple[Any, ...]:
    """An index of part of a dimension, counted from the last."""
    return (..., part, *(slice(None),) * (-axis - 1))


def _resized(x: Array, axis: int, size: int) -> Sizes:
    """The shape of an array with another size of one dimension."""
    return (*x.shape[:axis], size, *x.shape[x.ndim + axis + 1 :])
