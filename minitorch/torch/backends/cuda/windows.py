"""Convolution and pooling on a GPU.

A convolution of few channels and many places is one kernel, and so is one of many groups. Any other one unrolls the windows of its input into columns, by one kernel, and multiplies them with the
weight, all samples in one call of cuBLAS. Its gradients are products with the same columns, and the
gradient of columns is rolled up again by a kernel in which each place adds up what windows give it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ...formulas.conv import conv_output_shape
from ...formulas.geometry import Geometry
from ...formulas.pool import avg_pool_windows, max_pool_windows
from ...ops.layout import has_channels_last
from ..interface import Array
from .direct_sources import DIRECT
from .grouped_sources import GROUPED
from .mean_sources import MEANS
from .products import multiply, sum_of_rows
from .sources import WINDOWS
from .typed_kernels import fit, kernel_for, pointer, scratch

BLOCK = 256
MOST_BYTES = 1 << 28
"""How much memory columns may take; more samples are convolved one part after another."""

MOST_GROUPS = 16
"""Of so many groups at most, each has products of its own."""

CHANNELS, DIRECT_BLOCK = 8, 128
"""How many channels a thread of the kernel without columns computes, and how many threads a block has."""

DEEPEST = 640
"""How many weights each of these channels may have."""

MANY = 1 << 16
"""How many threads are worth it."""

Sizes = tuple[int, ...]


@lru_cache(maxsize=512)
def _packed(channels: int, sizes: Sizes, outs: Sizes, geometry: Geometry) -> bytes:
    """The structure `Geometry` of the kernels; missing dimensions have the size 1."""
    more = 3 - len(sizes)
    numbers = [channels]
    for fill, own in ((1, sizes), (1, outs), (1, geometry.kernel), (1, geometry.stride), (0, geometry.padding), (1, geometry.dilation)):  # fmt: skip
        numbers += [fill] * more + list(own)
    return np.array(numbers, np.int32).tobytes()


GROUPS_OF_WINDOWS, MEANS_OF_WINDOWS = WINDOWS + GROUPED, WINDOWS + MEANS


@cache
def _direct(depth: int) -> str:
    return f"{WINDOWS}\n#define CHANNELS {CHANNELS}\n#define DEPTH {depth}\n{DIRECT}"


def _launch(name: str, kind: Any, size: int, *args: Any, source: str = WINDOWS) -> None:
    kernel_for(source, name, kind)((-(-size // BLOCK),), (BLOCK,), (*args, size))


class _Convolution:
    """Sizes of a convolution of `input` (N, C, ...) with `weight` (O, C / groups, ...) to `output` (N, O, ...).

    Attributes:
        parts: the first of each part of the samples whose columns fit into memory, and how many they are
        each_group: where its weight, its part of columns and its part of outputs begin, in bytes
    """

    def __init__(
        self, input: Sizes, weight: Sizes, output: Sizes, steps: tuple[Any, ...], kind: Any
    ) -> None:
        stride, padding, dilation, groups = steps
        geometry = Geometry(weight[2:], stride, padding, dilation)
        self.pointwise = geometry.is_pointwise
        self.kind, self.samples, self.channels, self.outputs = kind, input[0], input[1], weight[0]
        self.places, self.windows = prod(input[2:]), prod(output[2:])
        self.packed = _packed(input[1], input[2:], output[2:], geometry)
        self.rows = self.channels * prod(weight[2:])  # of columns
        size = kind.itemsize
        part = max(1, MOST_BYTES // max(1, self.rows * self.windows * size))
        self.parts = [
            (i, min(part, self.samples - i)) for i in range(0, max(self.samples, 1), part)
        ]
        self.own_rows, self.own_outputs = self.rows // groups, self.outputs // groups
        own = self.own_outputs * self.own_rows, self.own_rows * self.windows, self.own_outputs * self.windows  # fmt: skip
        self.each_group = [tuple(g * n * size for n in own) for g in range(groups)]

    def columns(self, x: Array, first: int, count: int) -> tuple[Any, int]:
        """The windows of some samples, (count, C * taps, windows): what holds them, and their address."""
        start = x.data.ptr + first * self.channels * self.places * self.kind.itemsize
        if self.pointwise:
            return x, start
        out = scratch((count, self.rows, self.windows), self.kind)
        threads = count * self.channels * self.windows
        _launch("unroll", self.kind, threads, start, out.ptr, self.packed)
        return out, out.ptr

    def is_direct(self, given: int, made: int, places: int) -> bool:
        """Whether one kernel computes `made` channels from `given`: its weights fit, and threads keep a GPU busy."""
        taps, count = self.rows // max(self.channels, 1), self.samples * places
        small = given * taps <= DEEPEST and self.kind.itemsize <= 4 and len(self.each_group) == 1
        return small and count * -(-made // CHANNELS) >= MANY and count < 1 << 31

    def direct(self, x: Array, weight: Array, bias: Array | None, out: Array, back: bool) -> None:
        """The convolution, or back its gradient by the input, by one kernel."""
        given, made = x.shape[1], out.shape[1]
        count = out.size // made
        kernel = kernel_for(_direct(self.rows // self.channels * given), "direct", self.kind)
        grid = -(-count // DIRECT_BLOCK), -(-made // CHANNELS)
        args = x, weight, pointer(bias), out, self.packed, given, made, back, count
        kernel(grid, (DIRECT_BLOCK,), args)

    @property
    def has_many_groups(self) -> bool:
        """Whether a product for each group would take longer than a kernel for all of them."""
        return len(self.each_group) > MOST_GROUPS

    def grouped(self, name: str, blocks: int, *args: Any) -> None:
        """Start a kernel for all groups; the last of its arguments is how many numbers there are."""
        groups = len(self.each_group)
        sizes = self.outputs, self.channels // groups, self.own_outputs
        kernel = kernel_for(GROUPS_OF_WINDOWS, name, self.kind)
        kernel((blocks,), (BLOCK,), (*args[:-1], self.packed, *sizes, args[-1]))

    def outputs_at(self, x: Array, first: int) -> int:
        """Where the outputs of a sample begin."""
        return x.data.ptr + first * self.outputs * self.windows * self.kind.itemsize


@lru_cache(maxsize=512)
def _sized(
    input: Sizes, weight: Sizes, output: Sizes, steps: tuple[Any, ...], kind: Any
) -> _Convolution | None:
    """What there is to know of a convolution of such sizes; None where there is no kernel for it."""
    large = prod(input) >= 1 << 31 or prod(output) >= 1 << 31
    large = large or input[1] * prod(output[2:]) >= 1 << 31  # windows of all channels
    if large or not prod(output):
        return None
    return _Convolution(input, weight, output, steps, kind)


def _in_order(x: Array) -> Array:
    """An array, or a copy without gaps, unless its channels are innermost: then the result's are, too."""
    return x if x._c_contiguous or has_channels_last(x) else cupy.ascontiguousarray(x)


def _is_row(bias: Array | None, channels: int) -> bool:
    return bias is None or bias.shape == (channels,)


def convolution(
    input: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:  # fmt: skip
    """Each window of the input times the weight."""
    given = (weight,) if bias is None else (weight, bias)
    input = _in_order(input)
    if not fit(input, *given) or input.ndim > 5 or not _is_row(bias, weight.shape[0]):
        return None  # the formula says what is wrong
    shape = conv_output_shape(input.shape, weight.shape, stride, padding, dilation, groups)
    conv = _sized(input.shape, weight.shape, shape, (stride, padding, dilation, groups), input.dtype)  # fmt: skip
    if conv is None:
        return None
    out = cupy.ndarray(shape, input.dtype)
    if conv.has_many_groups:
        conv.grouped("grouped", -(-out.size // BLOCK), input, weight, pointer(bias), out, out.size)
        return out
    if conv.is_direct(conv.channels, conv.outputs, conv.windows):
        conv.direct(input, weight, bias, out, back=False)
        return out
    sizes = conv.own_outputs, conv.own_rows, conv.windows
    for first, count in conv.parts:
        _memory, columns = conv.columns(input, first, count)
        target = conv.outputs_at(out, first)
        for w, c, o in conv.each_group:
            multiply(
                sizes, (weight.data.ptr + w, False, sizes[1], 0),
                (columns + c, False, conv.windows, conv.rows * conv.windows),
                (target + o, conv.windows, conv.outputs * conv.windows), input.dtype, count,
            )  # fmt: skip
    if bias is not None:
        _launch("add_bias", input.dtype, out.size, out, bias, conv.outputs, conv.windows)
    return out


def transposed(
    input: Array, weight: Array, bias: Array | None, shape: Sizes,
    stride: Sizes, padding: Sizes, dilation: Sizes, groups: int,
) -> Array | None:  # fmt: skip
    """A convolution's gradient by its input, whose shape is given: also the transposed convolution."""
    given = (weight,) if bias is None else (weight, bias)
    input = _in_order(input)
    if (
        not fit(input, *given)
        or input.ndim > 5
        or not prod(shape)
        or weight.shape[0] != input.shape[1]
        or not _is_row(bias, shape[1])
    ):
        return None
    steps = stride, padding, dilation, groups
    conv = _sized(tuple(shape), weight.shape, input.shape, steps, input.dtype)
    if conv is None or shape[1] != weight.shape[1] * groups or shape[0] != input.shape[0]:
        return None
    out = cupy.ndarray(shape, input.dtype)
    if conv.has_many_groups:
        args = input, weight, pointer(bias), out, out.size
        conv.grouped("grouped_by_input", -(-out.size // BLOCK), *args)
        return out
    if conv.is_direct(conv.outputs, conv.channels, conv.places):
        conv.direct(input, weight, bias, out, back=True)
        return out
    sizes = conv.own_rows, conv.own_outputs, conv.windows
    own = conv.channels * conv.places
    for first, count in conv.parts:
        columns = scratch((count, conv.rows, conv.windows), input.dtype)
        source, into = conv.outputs_at(input, first), columns.ptr
        for w, c, o in conv.each_group:
            multiply(
                sizes, (weight.data.ptr + w, True, sizes[0], 0),
                (source + o, False, conv.windows, conv.outputs * conv.windows),
                (into + c, conv.windows, conv.rows * conv.windows), input.dtype, count,
            )  # fmt: skip
        target = out.data.ptr + first * own * input.itemsize
        _launch("roll", input.dtype, count * own, into, pointer(bias), target, conv.packed)
    return out


def by_weight(
    grad: Array, input: Array, shape: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array | None:  # fmt: skip
    """A convolution's gradient by its weight."""
    grad, input = _in_order(grad), _in_order(input)
    if not fit(grad, input) or input.ndim > 5 or not prod(shape):
        return None
    steps = stride, padding, dilation, groups
    conv = _sized(input.shape, tuple(shape), grad.shape, steps, input.dtype)
    if conv is None or input.shape[1] != shape[1] * groups or grad.shape[1] != shape[0]:
        return None
    sizes = conv.own_outputs, conv.windows, conv.own_rows
    size = conv.outputs * sizes[2]
    several = len(conv.parts) > 1
    out = cupy.ndarray(shape, input.dtype)
    if conv.has_many_groups:
        conv.grouped("grouped_by_weight", out.size, grad, input, out, input.shape[0])
        return out
    sums = cupy.ndarray((len(conv.parts), size), input.dtype) if several else None
    for part, (first, count) in enumerate(conv.parts):
        _memory, columns = conv.columns(input, first, count)
        source, each = conv.outputs_at(grad, first), cupy.ndarray((count, size), input.dtype)
        for w, c, o in conv.each_group:
            multiply(
                sizes, (source + o, False, conv.windows, conv.outputs * conv.windows),
                (columns + c, True, conv.windows, conv.rows * conv.windows),
                (each.data.ptr + w, sizes[2], size), input.dtype, count,
            )  # fmt: skip
        sum_of_rows(each, out if sums is None else sums[part])
    return out if sums is None else sum_of_rows(sums, out)


# --- Pooling -------------------------------------------------------------------------------------------


def max_pool(input: Array, window: tuple[Any, ...], dims: int) -> tuple[Array, Array] | None:
    """The largest element of each window, and its place."""
    if not fit(input) or input.size >= 1 << 31:
        return None
    geometry = Geometry(*window)
    shape = max_pool_windows(input.shape, geometry)
    out, places = cupy.ndarray(shape, input.dtype), cupy.ndarray(shape, np.int64)
    if not out.size:
        return out, places
    packed = _packed(1, input.shape[-dims:], shape[-dims:], geometry)
    _launch("max_pool", input.dtype, out.size, input, out, places, packed)
    return out, places


def max_pool_backward(grad: Array, indices: Array, shape: Sizes, dims: int) -> Array | None:
    """Numbers added up at the places that windows chose."""
    if grad.dtype.char not in "fd" or not fit(grad) or not indices._c_contiguous:
        return None
    if indices.dtype != np.int64 or indices.size != grad.size:
        return None
    out = cupy.zeros(shape, grad.dtype)
    windows, sizes = prod(indices.shape[-dims:]), prod(shape[-dims:])
    _launch("max_pool_backward", grad.dtype, grad.size, grad, indices, out, windows, sizes)
    return out


def avg_pool(input: Array, window: tuple[Any, ...]) -> Array | None:
    """The mean of each window."""
    geometry, shape = avg_pool_windows(input.shape, window)
    if not fit(input) or input.size >= 1 << 31:
        return None
    out = cupy.ndarray(shape, input.dtype)
    if out.size:
        _launch_means("avg_pool", input, out, (input.shape, shape), geometry, window)
    return out


def avg_pool_backward(grad: Array, shape: Sizes, window: tuple[Any, ...]) -> Array | None:
    """Each mean's gradient, shared among the places of its window."""
    if not fit(grad) or not 0 < prod(shape) < 1 << 31:
        return None
    out = cupy.ndarray(shape, grad.dtype)
    geometry, windows = avg_pool_windows(shape, window)
    _launch_means("avg_pool_backward", grad, out, (shape, windows), geometry, window)
    return out


def _launch_means(
    name: str, source: Array, out: Array, shapes: tuple[Sizes, Sizes], geometry: Geometry, window: tuple[Any, ...]
) -> None:  # fmt: skip
    """Start a kernel of average pooling; `shapes` are those of its input and of its means."""
    sizes, outs = (shape[-len(geometry.kernel) :] for shape in shapes)
    *_, padded, divisor = window
    args = source, out, _packed(1, sizes, outs, geometry), divisor or 0, bool(padded)
    _launch(name, out.dtype, out.size, *args, source=MEANS_OF_WINDOWS)


def mean_pool(input: Array, size: Sizes) -> Array | None:
    """The mean of each image: the adaptive pooling to one place."""
    if prod(size) != 1 or not fit(input) or input.ndim <= len(size):
        return None
    out = cupy.ndarray((*input.shape[: -len(size)], *size), input.dtype)
    sizes = input.size // out.size
    kernel_for(WINDOWS, "mean_pool", input.dtype)((out.size,), (BLOCK,), (input, out, sizes))
    return out


def mean_pool_backward(grad: Array, shape: Sizes, size: Sizes) -> Array | None:
    """The gradient of `mean_pool`."""
    if prod(size) != 1 or not fit(grad) or not prod(shape):
        return None
    out = cupy.ndarray(shape, grad.dtype)
    _launch("mean_pool_backward", grad.dtype, out.size, grad, out, out.size // grad.size)
    return out


KERNELS: dict[str, Any] = {
    "convolution": convolution, "conv_transpose": transposed, "convolution_backward_weight": by_weight,
    "max_pool1d_with_indices": max_pool, "max_pool2d_with_indices": max_pool, "max_pool3d_with_indices": max_pool,
    "max_pool_backward": max_pool_backward, "avg_pool": avg_pool, "avg_pool_backward": avg_pool_backward, "adaptive_avg_pool": mean_pool,
    "adaptive_avg_pool_backward": mean_pool_backward,
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
