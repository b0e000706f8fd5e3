"""Lesson 4: convolution in one and two dimensions, compiled by Numba.

A convolution is an unrolling and a matrix product: for every place where the window
stands, the input under it becomes a column, and each output channel's weights, laid
out in a row, meet all columns. The unrolled input of one image fits the cache, and the
product is the tile of `fast_tiles`. A sequence is an image of height 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from .autodiff import Context
from .fast_ops import PARALLEL_PRODUCTS
from .fast_tiles import TILE_COLUMNS, TILE_INNER, multiply_tile
from .jit import compile_kernel, compile_part
from .tensor_data import IndexingError, TensorData
from .tensor_functions import Function, is_tensor

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_data import Shape, Storage, Strides


TASKS = 32
"""Into how many parts a batch is split: each reuses its memory from image to image."""

# --- Unrolling -----------------------------------------------------------------------


def _unroll(
    storage: Storage, start: int, shape: Any, strides: Any, window: Any, reverse: bool, out: Any
) -> None:
    """Fill row (channel, k, l) of out with the input that weight (channel, k, l) meets.

    Column (i, j) is a place in the output. The weight meets the input at (i + k, j + l),
    or with `reverse` at (i - k, j - l); past the edge of the input there are zeros.

    Args:
        storage: the numbers of a batch of images, of which one begins at `start`
        start: the position of that image
        shape: its channels, height and width
        strides: of those three
        window: height and width of the weights, height and width of the output
        reverse: whether the window is anchored at its last corner
        out: (channels * window) x (output places), contiguous
    """
    channels, height, width = shape
    kh, kw, out_height, out_width = window
    for c in range(channels):
        for k in range(kh):
            for m in range(kw):
                row = out[(c * kh + k) * kw + m]
                if reverse:
                    first, last, shift = min(m, out_width), min(out_width, width + m), -m
                else:
                    first, last, shift = 0, max(0, min(out_width, width - m)), m
                for i in range(out_height):
                    y = i - k if reverse else i + k
                    places = row[i * out_width : (i + 1) * out_width]
                    inside = 0 <= y < height
                    for j in range(first if inside else out_width):
                        places[j] = 0.0
                    if inside:
                        start_of_row = start + c * strides[0] + y * strides[1] + shift * strides[2]
                        for j in range(first, last):
                            places[j] = storage[start_of_row + j * strides[2]]
                        for j in range(last, out_width):
                            places[j] = 0.0


def _flatten_weight(storage: Storage, shape: Any, strides: Any, rows: int, columns: int) -> Any:
    """The weights as a contiguous matrix, out x (in, k, l), with zeros up to rows x columns."""
    flat = np.zeros((rows, columns))
    for o in range(shape[0]):
        q = 0
        for c in range(shape[1]):
            for k in range(shape[2]):
                for m in range(shape[3]):
                    position = o * strides[0] + c * strides[1] + k * strides[2] + m * strides[3]
                    flat[o, q] = storage[position]
                    q += 1
    return flat


_unroll_jit = compile_part(_unroll)
_flatten_weight_jit = compile_part(_flatten_weight)

# --- Task 4.2: two dimensions ---------------------------------------------------------


def _conv2d(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    out_size: int,
    input: Storage,
    input_shape: Shape,
    input_strides: Strides,
    weight: Storage,
    weight_shape: Shape,
    weight_strides: Strides,
    reverse: bool,
) -> None:
    """out[b, o, i, j] = sum over c, k, l of weight[o, c, k, l] input[b, c, i + k, j + l].

    With `reverse` the input is read at (i - k, j - l). Past the edge it is 0.

    Args:
        out: batch x out channels x height x width
        out_shape: its shape; height and width may differ from the input's
        out_strides: its strides
        out_size: how many elements it has
        input: batch x in channels x height x width
        input_shape: its shape
        input_strides: its strides
        weight: out channels x in channels x window height x window width
        weight_shape: its shape
        weight_strides: its strides
        reverse: anchor the window at its bottom right instead of its top left
    """
    batch, out_channels, out_height, out_width = out_shape
    inner = weight_shape[1] * weight_shape[2] * weight_shape[3]
    padded_inner = (inner + 3) // 4 * 4
    padded_out = (out_channels + 3) // 4 * 4
    places = out_height * out_width
    flat = _flatten_weight_jit(weight, weight_shape, weight_strides, padded_out, padded_inner)
    image = (input_shape[1], input_shape[2], input_shape[3])
    steps = (input_strides[1], input_strides[2], input_strides[3])
    window = (weight_shape[2], weight_shape[3], out_height, out_width)

    tasks = min(batch, TASKS)
    for task in prange(tasks):
        unrolled = np.zeros((padded_inner, places))
        total = np.empty((padded_out, places))
        t = np.int64(task)
        for b in range(t * batch // tasks, (t + 1) * batch // tasks):
            _unroll_jit(input, b * input_strides[0], image, steps, window, reverse, unrolled)
            total[:] = 0.0
            for k in range(0, padded_inner, TILE_INNER):
                k_range = (k, min(k + TILE_INNER, padded_inner))
                for j in range(0, places, TILE_COLUMNS):
                    j_range = (j, min(j + TILE_COLUMNS, places))
                    multiply_tile(flat, unrolled, total, k_range, j_range)
            for o in range(out_channels):
                position = b * out_strides[0] + o * out_strides[1]
                for i in range(out_height):
                    for j in range(out_width):
                        place = position + i * out_strides[2] + j * out_strides[3]
                        out[place] = total[o, i * out_width + j]


def _dot_rows(a: Any, b: Any, total: Any) -> None:
    """total += a @ b transposed; the rows of a count in twos, those of b in fours."""
    for i in range(0, a.shape[0], 2):
        a0, a1 = a[i], a[i + 1]
        for j in range(0, b.shape[0], 4):
            b0, b1, b2, b3 = b[j], b[j + 1], b[j + 2], b[j + 3]
            t00 = t01 = t02 = t03 = t10 = t11 = t12 = t13 = 0.0
            for k in range(len(a0)):
                t00 += a0[k] * b0[k]
                t01 += a0[k] * b1[k]
                t02 += a0[k] * b2[k]
                t03 += a0[k] * b3[k]
                t10 += a1[k] * b0[k]
                t11 += a1[k] * b1[k]
                t12 += a1[k] * b2[k]
                t13 += a1[k] * b3[k]
            total[i, j] += t00
            total[i, j + 1] += t01
            total[i, j + 2] += t02
            total[i, j + 3] += t03
            total[i + 1, j] += t10
            total[i + 1, j + 1] += t11
            total[i + 1, j + 2] += t12
            total[i + 1, j + 3] += t13


_dot_rows_jit = compile_part(_dot_rows)


def _conv2d_weight_gradient(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    input: Storage,
    input_shape: Shape,
    input_strides: Strides,
    grad: Storage,
    grad_shape: Shape,
    grad_strides: Strides,
) -> None:
    """out[o, c, k, l] = sum over b, i, j of grad[b, o, i, j] input[b, c, i + k, j + l].

    Each task sums over its part of the batch; the parts are added at the end.
    """
    batch, channels, height, width = grad_shape
    inner = out_shape[1] * out_shape[2] * out_shape[3]
    padded_inner = (inner + 3) // 4 * 4
    padded_out = (channels + 1) // 2 * 2
    places = height * width
    image = (input_shape[1], input_shape[2], input_shape[3])
    steps = (input_strides[1], input_strides[2], input_strides[3])
    window = (out_shape[2], out_shape[3], height, width)

    tasks = min(batch, TASKS)
    parts = np.zeros((tasks, padded_out, padded_inner))
    for task in prange(tasks):
        unrolled = np.zeros((padded_inner, places))
        rows = np.zeros((padded_out, places))
        t = np.int64(task)
        for b in range(t * batch // tasks, (t + 1) * batch // tasks):
            _unroll_jit(input, b * input_strides[0], image, steps, window, False, unrolled)
            for o in range(channels):
                for i in range(height):
                    position = b * grad_strides[0] + o * grad_strides[1] + i * grad_strides[2]
                    for j in range(width):
                        rows[o, i * width + j] = grad[position + j * grad_strides[3]]
            _dot_rows_jit(rows, unrolled, parts[t])
    for o in range(channels):
        q = 0
        for c in range(out_shape[1]):
            for k in range(out_shape[2]):
                for m in range(out_shape[3]):
                    total = 0.0
                    for t in range(tasks):
                        total += parts[t, o, q]
                    position = o * out_strides[0] + c * out_strides[1]
                    out[position + k * out_strides[2] + m * out_strides[3]] = total
                    q += 1


_tensor_conv2d = compile_kernel(_conv2d, parallel=True)
tensor_conv2d = _tensor_conv2d
_serial_conv2d = compile_kernel(_conv2d)
_tensor_conv2d_weight_gradient = compile_kernel(_conv2d_weight_gradient, parallel=True)
_serial_conv2d_weight_gradient = compile_kernel(_conv2d_weight_gradient)


def _convolve(input: Tensor, weight: Tensor, reverse: bool) -> Tensor:
    """The convolution of images as large as the input."""
    batch, _, height, width = input.shape
    out = input.zeros((batch, weight.shape[0], height, width))
    work = out.size * (weight.size // max(weight.shape[0], 1))
    kernel = _tensor_conv2d if work >= PARALLEL_PRODUCTS else _serial_conv2d
    kernel(*out.tuple(), out.size, *input.tuple(), *weight.tuple(), reverse)
    return out


def _weight_gradient(input: Tensor, grad_output: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient, of the given shape, of the weights."""
    out = input.zeros(shape)
    work = grad_output.size * (out.size // max(shape[0], 1))
    kernel = _serial_conv2d_weight_gradient
    if work >= PARALLEL_PRODUCTS:
        kernel = _tensor_conv2d_weight_gradient
    kernel(*out.tuple(), *input.tuple(), *grad_output.tuple())
    return out


def check_conv(name: str, dims: int, input: Tensor, weight: Tensor) -> None:
    """IndexingError unless both have the dimensions and the channels that a convolution needs."""
    for role, t in (("input", input), ("weight", weight)):
        if not is_tensor(t):
            raise TypeError(f"{name}: {role} must be a Tensor, not {type(t).__name__}")
    layout = "batch x channel x " + ("height x width" if dims == 4 else "length")
    if input.dims != dims:
        raise IndexingError(f"{name}: input must be {layout}, its shape is {input.shape}")
    if weight.dims != dims:
        raise IndexingError(
            f"{name}: weight must be out channel x in channel x window, its shape is {weight.shape}"
        )
    if input.shape[1] != weight.shape[1]:
        raise IndexingError(
            f"{name}: input {input.shape} has {input.shape[1]} channels, "
            f"weight {weight.shape} takes {weight.shape[1]}"
        )


def _on_gpu() -> Any:
    """The twins of these functions for CUDA tensors."""
    from . import cuda_conv

    return cuda_conv


class Conv2dFun(Function):
    """Convolution of images, anchored at the top left, with zeros past the edge."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
        """Convolve.

        Args:
            ctx: keeps both inputs
            input: batch x in channel x height x width
            weight: out channel x in channel x window height x window width

        Returns:
            batch x out channel x height x width
        """
        check_conv("conv2d", 4, input, weight)
        if input.backend.cuda:
            return _on_gpu().Conv2dFun.forward(ctx, input, weight)
        ctx.save_for_backward(input, weight)
        return _convolve(input, weight, reverse=False)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """The input's gradient is a convolution anchored at the other corner."""
        if grad_output.backend.cuda:
            return _on_gpu().Conv2dFun.backward(ctx, grad_output)
        input, weight = ctx.saved_values
        swapped = weight._new(weight._tensor.permute(1, 0, 2, 3))
        return (
            _convolve(grad_output, swapped, reverse=True) if ctx.needs(0) else None,
            _weight_gradient(input, grad_output, weight.shape) if ctx.needs(1) else None,
        )


conv2d = Conv2dFun.apply

# --- Task 4.1: one dimension ------------------------------------------------------------


def _tensor_conv1d(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    out_size: int,
    input: Storage,
    input_shape: Shape,
    input_strides: Strides,
    weight: Storage,
    weight_shape: Shape,
    weight_strides: Strides,
    reverse: bool,
) -> None:
    """out[b, o, i] = sum over c, k of weight[o, c, k] input[b, c, i + k], or i - k with `reverse`.

    Args:
        out: batch x out channels x length
        out_shape: its shape
        out_strides: its strides
        out_size: how many elements it has
        input: batch x in channels x length
        input_shape: its shape
        input_strides: its strides
        weight: out channels x in channels x window
        weight_shape: its shape
        weight_strides: its strides
        reverse: anchor the window at its right end instead of its left
    """

    def with_height(sizes: Any, height: int) -> Any:
        return np.insert(sizes, 2, height)

    _tensor_conv2d(
        out,
        with_height(out_shape, 1),
        with_height(out_strides, 0),
        out_size,
        input,
        with_height(input_shape, 1),
        with_height(input_strides, 0),
        weight,
        with_height(weight_shape, 1),
        with_height(weight_strides, 0),
        reverse,
    )


tensor_conv1d = _tensor_conv1d


def _as_image(t: Tensor) -> Tensor:
    """Sequences seen as images of height 1, on the same storage."""
    batch, channels, length = t.shape
    s0, s1, s2 = t._tensor.strides
    return t._new(TensorData(t._tensor._storage, (batch, channels, 1, length), (s0, s1, 0, s2)))


def _as_sequence(t: Tensor) -> Tensor:
    """Images of height 1, fresh from a kernel, seen as sequences."""
    batch, channels, _, length = t.shape
    return t._new(TensorData(t._tensor._storage, (batch, channels, length)))


class Conv1dFun(Function):
    """Convolution of sequences, anchored at the left, with zeros past the end."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, weight: Tensor) -> Tensor:
        """Convolve.

        Args:
            ctx: keeps both inputs
            input: batch x in channel x length
            weight: out channel x in channel x window

        Returns:
            batch x out channel x length
        """
        check_conv("conv1d", 3, input, weight)
        if input.backend.cuda:
            return _on_gpu().Conv1dFun.forward(ctx, input, weight)
        images, weights = _as_image(input), _as_image(weight)
        return _as_sequence(Conv2dFun.forward(ctx, images, weights))

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """The input's gradient is a convolution anchored at the other end."""
        if grad_output.backend.cuda:
            return _on_gpu().Conv1dFun.backward(ctx, grad_output)
        grad_input, grad_weight = Conv2dFun.backward(ctx, _as_image(grad_output))
        return (
            None if grad_input is None else _as_sequence(grad_input),
            None if grad_weight is None else _as_sequence(grad_weight),
        )


conv1d = Conv1dFun.apply
