"""Convolutions of arrays (N, C, *spatial) in one, two and three dimensions.

A convolution is three products in one family: of the input with the weight (the output),
of the output's gradient with the weight (the input's gradient, or a transposed
convolution) and of the gradient with the input (the weight's gradient). Small ones unroll
the input and let NumPy multiply.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..backends.interface import accelerated, strided
from .geometry import Geometry, Sizes, by
from .matmul import matmul

Array = Any


# --- What can be -------------------------------------------------------------------------


@lru_cache(maxsize=256)
def conv_output_shape(
    input_shape: Sizes, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Sizes:  # fmt: skip
    """The shape of a convolution's output; RuntimeError if there is no such convolution."""
    _check_channels(input_shape, weight_shape, groups)
    geometry = _geometry(weight_shape, stride, padding, dilation)
    sizes = input_shape[2:]
    padded, reach = geometry.padded(sizes), geometry.reach
    if any(r > n for r, n in zip(reach, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({by(padded)}). Kernel size: ({by(reach)}). "
            "Kernel size can't be greater than actual input size"
        )
    if 0 in sizes:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input_shape)}"
        )
    return (input_shape[0], weight_shape[0], *geometry.places(sizes))


def _geometry(weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Geometry:
    """The windows of a convolution; RuntimeError if they cannot be."""
    if min(padding) < 0:
        raise RuntimeError(f"negative padding is not supported, but got padding={padding}")
    if min(stride) <= 0:
        raise RuntimeError(f"non-positive stride is not supported, but got stride={stride}")
    if min(dilation) <= 0:
        raise RuntimeError(f"non-positive dilation is not supported, but got dilation={dilation}")
    return Geometry(weight_shape[2:], stride, padding, dilation)


def _check_channels(input_shape: Sizes, weight_shape: Sizes, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(input_shape) != len(weight_shape):
        raise RuntimeError(
            f"Expected {len(weight_shape)}-dimensional input for {len(weight_shape)}-dimensional weight "
            f"{list(weight_shape)}, but got {len(input_shape)}-dimensional input of size {list(input_shape)} instead"
        )
    if weight_shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {list(weight_shape)} instead"
        )
    if weight_shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(weight_shape)} instead"
        )
    if input_shape[1] != weight_shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight_shape)}, expected input{list(input_shape)} "
            f"to have {weight_shape[1] * groups} channels, but got {input_shape[1]} channels instead"
        )


def _check_places(geometry: Geometry, sizes: Sizes, places: Sizes) -> None:
    """RuntimeError unless all of these windows lie inside the padded input."""
    steps = zip(geometry.padded(sizes), places, geometry.stride, geometry.reach, strict=True)
    if any((m - 1) * s + r > n for n, m, s, r in steps):
        raise RuntimeError(
            f"windows of size ({by(geometry.kernel)}) at ({by(places)}) places do not fit an input of size "
            f"({by(sizes)}) with stride={geometry.stride}, padding={geometry.padding}, dilation={geometry.dilation}"
        )


# --- The three products ------------------------------------------------------------------


def conv_forward(
    x: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:  # fmt: skip
    """The convolution of x (N, C, *sizes) with weight (O, C / groups, *kernel)."""
    shape = conv_output_shape(x.shape, weight.shape, stride, padding, dilation, groups)
    if bias is not None and bias.shape != (weight.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)} instead"
        )
    geometry = Geometry(weight.shape[2:], stride, padding, dilation)
    return convolve(x, weight, bias, shape, geometry, groups)


@accelerated
def convolve(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, geometry: Geometry, groups: int
) -> Array:
    """The convolution, of this shape."""
    rows = _group_rows(weight, groups)  # (G, O/G, C/G * taps)
    columns = x if geometry.is_pointwise else unroll(x, geometry, shape[2:])
    columns = columns.reshape(x.shape[0], groups, rows.shape[2], prod(shape[2:]))
    y = matmul(rows, columns).reshape(shape)
    if bias is not None:
        y += bias.reshape(-1, *(1,) * (x.ndim - 2))
    return y


def conv_input_gradient(
    g: Array, weight: Array, input_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:  # fmt: skip
    """The gradient of the input from that of the output: a transposed convolution of g.

    Places of the input that no window reaches get zeros, so that `input_shape` may be
    larger than the smallest that gives g's shape (Torch's output_padding).
    """
    _check_transposed(g, weight, input_shape, groups)
    geometry = _geometry(weight.shape, stride, padding, dilation)
    _check_places(geometry, input_shape[2:], g.shape[2:])
    return convolve_transposed(g, weight, input_shape, geometry, groups)


@accelerated
def convolve_transposed(
    g: Array, weight: Array, input_shape: Sizes, geometry: Geometry, groups: int
) -> Array:
    """The transposed convolution of g, to this shape."""
    rows = _group_rows(weight, groups)  # (G, O/G, C/G * taps)
    parts = g.reshape(g.shape[0], groups, rows.shape[1], prod(g.shape[2:]))
    columns = matmul(rows.swapaxes(1, 2), parts)  # (N, G, C/G * taps, places)
    if geometry.is_pointwise and g.shape[2:] == input_shape[2:]:
        return columns.reshape(input_shape)
    columns = columns.reshape(*input_shape[:2], *weight.shape[2:], *g.shape[2:])
    return roll(columns, input_shape[2:], geometry)


def _check_transposed(g: Array, weight: Array, input_shape: Sizes, groups: int) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if g.shape[1] != weight.shape[0] or weight.shape[0] % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, expected input{list(g.shape)} "
            f"to have {weight.shape[0]} channels, but got {g.shape[1]} channels instead"
        )
    if input_shape[1] != weight.shape[1] * groups or min(input_shape[2:]) <= 0:
        raise RuntimeError(
            f"Given input of size {list(g.shape)}, weight of size {list(weight.shape)} and groups={groups}, "
            f"there is no transposed convolution of output size {list(input_shape)}. Output size is too small"
        )


def conv_weight_gradient(
    g: Array, x: Array, weight_shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:  # fmt: skip
    """The gradient of the weight from the input and the gradient of the output."""
    _check_channels(x.shape, weight_shape, groups)
    geometry = _geometry(weight_shape, stride, padding, dilation)
    _check_places(geometry, x.shape[2:], g.shape[2:])
    return weight_gradient(g, x, weight_shape, geometry, groups)


@accelerated
def weight_gradient(
    g: Array, x: Array, weight_shape: Sizes, geometry: Geometry, groups: int
) -> Array:
    """The gradient of a weight of this shape."""
    everywhere = g.shape[0] * prod(g.shape[2:])  # the places of all samples
    columns = unroll(x, geometry, g.shape[2:])
    columns = np.moveaxis(columns, 0, g.ndim - 1)  # (C, *kernel, N, *places)
    columns = columns.reshape(groups, prod(weight_shape[1:]), everywhere)
    parts = g.swapaxes(0, 1).reshape(groups, weight_shape[0] // groups, everywhere)
    return (parts @ columns.swapaxes(1, 2)).reshape(weight_shape)


def _group_rows(weight: Array, groups: int) -> Array:
    """The weight as one matrix per group: (G, O / G, C / G * taps)."""
    return weight.reshape(groups, weight.shape[0] // groups, prod(weight.shape[1:]))


# --- Unrolling (im2col) and its transpose (col2im) -----------------------------------------


def unroll(x: Array, geometry: Geometry, places: Sizes) -> Array:
    """What each tap of a window meets at each place: (N, C, *kernel, *places), a view if it can be."""
    if any(geometry.padding):
        padded = np.zeros((*x.shape[:2], *geometry.padded(x.shape[2:])), x.dtype, like=x)
        padded[_inside(geometry, x.shape[2:])] = x
        x = padded
    steps = x.strides[2:]
    strides = [d * s for d, s in zip(geometry.dilation, steps, strict=True)]
    strides += [d * s for d, s in zip(geometry.stride, steps, strict=True)]
    shape = (*x.shape[:2], *geometry.kernel, *places)
    return strided(x, shape, (*x.strides[:2], *strides))


def _inside(geometry: Geometry, sizes: Sizes) -> tuple[Any, ...]:
    """The part of a padded array that is not padding."""
    return (..., *(slice(p, p + n) for p, n in zip(geometry.padding, sizes, strict=True)))


def roll(columns: Array, sizes: Sizes, geometry: Geometry) -> Array:
    """Add every tap of `unroll`'s result back to its place: (N, C, *sizes)."""
    places = columns.shape[2 + len(sizes) :]
    padded = np.zeros((*columns.shape[:2], *geometry.padded(sizes)), columns.dtype, like=columns)
    for tap in np.ndindex(*geometry.kernel):
        steps = zip(tap, geometry.dilation, places, geometry.stride, strict=True)
        where = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in steps)
        padded[(..., *where)] += columns[(slice(None), slice(None), *tap)]
    return padded[_inside(geometry, sizes)] if any(geometry.padding) else padded


def unfold(x: Array, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """Windows of x (N, C, *sizes) as columns (N, C * taps, places), as Torch's unfold."""
    geometry = Geometry(kernel, stride, padding, dilation)
    geometry.check("unfold")
    places = geometry.places(x.shape[2:])
    if min(places) <= 0:
        raise RuntimeError(
            f"Given input with spatial size {x.shape[2:]}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {places}, "
            "but its components must be at least one."
        )
    columns = unroll(x, geometry, places)
    return columns.reshape(x.shape[0], x.shape[1] * prod(kernel), prod(places))


def fold(
    columns: Array, output_size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Array:  # fmt: skip
    """The sum of overlapping windows (N, C * taps, places): the transpose of `unfold`."""
    geometry = Geometry(kernel, stride, padding, dilation)
    geometry.check("fold")
    places = geometry.places(output_size)
    taps, count = prod(kernel), prod(max(n, 0) for n in places)
    if columns.shape[1] % taps:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={columns.shape[1]} and kernel_size={kernel}."
        )
    if columns.shape[2] != count or min(places) <= 0:
        raise RuntimeError(
            f"Given output_size={output_size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding "
            f"blocks {by(places, ' * ')} = {count}, but got input.size(2)={columns.shape[2]}."
        )
    columns = columns.reshape(columns.shape[0], columns.shape[1] // taps, *kernel, *places)
    return roll(columns, output_size, geometry)
