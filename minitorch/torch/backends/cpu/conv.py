"""Convolutions of arrays (N, C, *spatial) in one, two and three dimensions.

A convolution is three products in one family: of the input with the weight (the output),
of the output's gradient with the weight (the input's gradient, or a transposed
convolution) and of the gradient with the input (the weight's gradient). Small ones unroll
the input and let NumPy multiply; large ones run in the kernels of `conv_kernels`, which
are compiled at the first such call.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .dispatch import kernels_from, widen
from .matmul import matmul

Array = Any
Sizes = tuple[int, ...]

SMALL = kernels_from(1 << 20)
"""Multiplications up to which a convolution is left to NumPy."""


# --- Geometry ----------------------------------------------------------------------------


@lru_cache(maxsize=256)
def conv_output_shape(
    input_shape: Sizes,
    weight_shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Sizes:
    """The shape of a convolution's output; RuntimeError if there is no such convolution."""
    _check_channels(input_shape, weight_shape, groups)
    _check_steps(stride, padding, dilation)
    sizes, kernel = input_shape[2:], weight_shape[2:]
    padded = [n + 2 * p for n, p in zip(sizes, padding, strict=True)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(r > n for r, n in zip(reach, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: ({_by(reach)}). "
            "Kernel size can't be greater than actual input size"
        )
    if 0 in sizes:
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {list(input_shape)}"
        )
    places = tuple((n - r) // s + 1 for n, r, s in zip(padded, reach, stride, strict=True))
    return (input_shape[0], weight_shape[0], *places)


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


def _check_steps(stride: Sizes, padding: Sizes, dilation: Sizes) -> None:
    if min(padding) < 0:
        raise RuntimeError(f"negative padding is not supported, but got padding={padding}")
    if min(stride) <= 0:
        raise RuntimeError(f"non-positive stride is not supported, but got stride={stride}")
    if min(dilation) <= 0:
        raise RuntimeError(f"non-positive dilation is not supported, but got dilation={dilation}")


def _check_places(
    sizes: Sizes, kernel: Sizes, places: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> None:
    """RuntimeError unless all of these windows lie inside the padded input."""
    geometry = zip(sizes, kernel, places, stride, padding, dilation, strict=True)
    if any((m - 1) * s + d * (k - 1) + 1 > n + 2 * p for n, k, m, s, p, d in geometry):
        raise RuntimeError(
            f"windows of size ({_by(kernel)}) at ({_by(places)}) places do not fit an input of size "
            f"({_by(sizes)}) with stride={stride}, padding={padding}, dilation={dilation}"
        )


def _by(sizes: Any) -> str:
    return " x ".join(str(n) for n in sizes)


# --- The three products ------------------------------------------------------------------


def _is_pointwise(weight: Sizes, stride: Sizes, padding: Sizes) -> bool:
    """Whether a convolution mixes the channels of each place by themselves: a product of matrices."""
    return prod(weight[2:]) == prod(stride) == 1 and not any(padding)


def conv_forward(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    """The convolution of x (N, C, *sizes) with weight (O, C / groups, *kernel)."""
    shape = conv_output_shape(x.shape, weight.shape, stride, padding, dilation, groups)
    if bias is not None and bias.shape != (weight.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be 1-dimensional with "
            f"{weight.shape[0]} elements, but got bias of size {list(bias.shape)} instead"
        )
    pointwise = _is_pointwise(weight.shape, stride, padding)
    if not pointwise and _is_large(prod(shape) * prod(weight.shape[1:]), x):
        from .conv_large import convolve

        y = convolve(
            widen(x),
            widen(weight),
            bias if bias is None else widen(bias),
            shape,
            groups,
            stride,
            padding,
            dilation,
        )
        return y.astype(x.dtype, copy=False)
    rows = _group_rows(weight, groups)  # (G, O/G, C/G * taps)
    columns = widen(x)
    if not pointwise:
        columns = unroll(columns, weight.shape[2:], shape[2:], stride, padding, dilation)
    columns = columns.reshape(x.shape[0], groups, rows.shape[2], prod(shape[2:]))
    y = matmul(rows, columns).reshape(shape)
    if bias is not None:
        y += bias.reshape(-1, *(1,) * (x.ndim - 2))
    return y.astype(x.dtype, copy=False)


def conv_input_gradient(
    g: Array,
    weight: Array,
    input_shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    """The gradient of the input from that of the output: a transposed convolution of g.

    Places of the input that no window reaches get zeros, so that `input_shape` may be
    larger than the smallest that gives g's shape (Torch's output_padding).
    """
    _check_transposed(g, weight, input_shape, groups)
    _check_steps(stride, padding, dilation)
    _check_places(input_shape[2:], weight.shape[2:], g.shape[2:], stride, padding, dilation)
    pointwise = _is_pointwise(weight.shape, stride, padding) and g.shape[2:] == input_shape[2:]
    if not pointwise and _is_large(g.size * prod(weight.shape[1:]), g):
        from .conv_large import convolve_transposed

        x = convolve_transposed(
            widen(g), widen(weight), input_shape, groups, stride, padding, dilation
        )
        return x.astype(g.dtype, copy=False)
    rows = _group_rows(weight, groups)  # (G, O/G, C/G * taps)
    parts = widen(g).reshape(g.shape[0], groups, rows.shape[1], prod(g.shape[2:]))
    columns = matmul(rows.swapaxes(1, 2), parts)  # (N, G, C/G * taps, places)
    if pointwise:
        return columns.reshape(input_shape).astype(g.dtype, copy=False)
    columns = columns.reshape(*input_shape[:2], *weight.shape[2:], *g.shape[2:])
    return roll(columns, input_shape[2:], stride, padding, dilation).astype(g.dtype, copy=False)


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
    g: Array,
    x: Array,
    weight_shape: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
) -> Array:
    """The gradient of the weight from the input and the gradient of the output."""
    _check_channels(x.shape, weight_shape, groups)
    _check_steps(stride, padding, dilation)
    _check_places(x.shape[2:], weight_shape[2:], g.shape[2:], stride, padding, dilation)
    if _is_large(g.size * prod(weight_shape[1:]), g):
        from .conv_large import weight_gradient

        total = weight_gradient(widen(g), widen(x), weight_shape, groups, stride, padding, dilation)
        return total.astype(g.dtype, copy=False)
    everywhere = g.shape[0] * prod(g.shape[2:])  # the places of all samples
    columns = unroll(widen(x), weight_shape[2:], g.shape[2:], stride, padding, dilation)
    columns = np.moveaxis(columns, 0, g.ndim - 1)  # (C, *kernel, N, *places)
    columns = columns.reshape(groups, prod(weight_shape[1:]), everywhere)
    parts = widen(g).swapaxes(0, 1).reshape(groups, weight_shape[0] // groups, everywhere)
    total = parts @ columns.swapaxes(1, 2)
    return total.reshape(weight_shape).astype(g.dtype, copy=False)


def _is_large(multiplications: int, array: Array) -> bool:
    """Whether a convolution is worth a compiled kernel."""
    return multiplications > SMALL and array.dtype.kind in "fV"


def _group_rows(weight: Array, groups: int) -> Array:
    """The weight as one matrix per group: (G, O / G, C / G * taps)."""
    return widen(weight).reshape(groups, weight.shape[0] // groups, prod(weight.shape[1:]))


# --- Unrolling (im2col) and its transpose (col2im) -----------------------------------------


def unroll(
    x: Array, kernel: Sizes, places: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> Array:
    """What each tap of a window meets at each place: (N, C, *kernel, *places), a view if it can be."""
    if any(padding):
        x = _pad(x, padding)
    steps = x.strides[2:]
    strides = [d * s for d, s in zip(dilation, steps, strict=True)]
    strides += [d * s for d, s in zip(stride, steps, strict=True)]
    return np.lib.stride_tricks.as_strided(
        x, (*x.shape[:2], *kernel, *places), (*x.strides[:2], *strides), writeable=False
    )


def _pad(x: Array, padding: Sizes) -> Array:
    """A copy of x with zeros around its spatial dimensions."""
    sizes = [n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)]
    padded = np.zeros((*x.shape[:2], *sizes), x.dtype)
    padded[_inside(padding, x.shape[2:])] = x
    return padded


def _inside(padding: Sizes, sizes: Sizes) -> tuple[Any, ...]:
    """The part of a padded array that is not padding."""
    return (..., *(slice(p, p + n) for p, n in zip(padding, sizes, strict=True)))


def roll(columns: Array, sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Array:
    """Add every tap of `unroll`'s result back to its place: (N, C, *sizes)."""
    dims = len(sizes)
    kernel, places = columns.shape[2 : 2 + dims], columns.shape[2 + dims :]
    padded = np.zeros(
        (*columns.shape[:2], *(n + 2 * p for n, p in zip(sizes, padding, strict=True))),
        columns.dtype,
    )
    for tap in np.ndindex(*kernel):
        starts = [t * d for t, d in zip(tap, dilation, strict=True)]
        where = tuple(
            slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, places, stride, strict=True)
        )
        padded[(..., *where)] += columns[(slice(None), slice(None), *tap)]
    return padded[_inside(padding, sizes)] if any(padding) else padded


def unfold(x: Array, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Array:
    """Windows of x (N, C, *sizes) as columns (N, C * taps, places), as Torch's unfold."""
    places = _fold_places(x.shape[2:], kernel, dilation, padding, stride)
    if min(places) <= 0:
        raise RuntimeError(
            f"Given input with spatial size {x.shape[2:]}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {places}, "
            "but its components must be at least one."
        )
    columns = unroll(x, kernel, places, stride, padding, dilation)
    return columns.reshape(x.shape[0], x.shape[1] * prod(kernel), prod(places))


def fold(
    columns: Array,
    output_size: Sizes,
    kernel: Sizes,
    dilation: Sizes,
    padding: Sizes,
    stride: Sizes,
) -> Array:
    """The sum of overlapping windows (N, C * taps, places): the transpose of `unfold`."""
    places = _fold_places(output_size, kernel, dilation, padding, stride)
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
            f"blocks {' * '.join(str(n) for n in places)} = {count}, but got input.size(2)={columns.shape[2]}."
        )
    columns = columns.reshape(columns.shape[0], columns.shape[1] // taps, *kernel, *places)
    return roll(columns, output_size, stride, padding, dilation)


def _fold_places(
    sizes: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Sizes:
    """How many windows stand along each dimension; RuntimeError for steps that cannot be."""
    for name, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{name} should be greater than zero, but got {values}")
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got {padding}")
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(sizes, padding, dilation, kernel, stride, strict=True)
    )
