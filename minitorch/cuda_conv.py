"""Lesson 4: convolution in one and two dimensions on the GPU.

One kernel for each serves forward and both gradients: the input's gradient is a
convolution anchored at the other end, and the weight's is one where the batch plays the
channels and the gradient plays the weight, a window as long as the input.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from numba import float64

from . import cuda_device
from .autodiff import Context
from .cuda_device import cuda, launch_arguments
from .cuda_ops import REDUCE_BLOCKS, THREADS
from .fast_conv import check_conv
from .tensor_data import TensorData
from .tensor_functions import Function

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tensor import Tensor
    from .tensor_data import Shape, Storage, Strides


@cuda_device.device_function
def _sum_lanes(totals: Storage, cell: int, lane: int, lanes: int) -> None:
    """Add up the totals of the threads that share an output, into the first one's cell."""
    cuda.syncthreads()
    half = lanes // 2
    while half > 0:
        if lane < half:
            totals[cell] += totals[cell + half]
        cuda.syncthreads()
        half //= 2


# --- One dimension -----------------------------------------------------------------


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

    Past the edge the input is 0. Launch it with (lanes, outputs) threads to a block,
    lanes a power of two: `lanes` threads share an output, each takes every lanes-th k.

    Args:
        out: batch x out channels x length
        out_shape: its shape; the length may differ from the input's
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
    totals = cuda.shared.array(THREADS, float64)
    lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
    cell = cuda.threadIdx.y * lanes + lane
    ordinal = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    length = out_shape[2]
    i = ordinal % length
    o = ordinal // length % out_shape[1]
    b = ordinal // (length * out_shape[1])
    total = 0.0
    if ordinal < out_size:
        for c in range(weight_shape[1]):
            w = o * weight_strides[0] + c * weight_strides[1]
            x = b * input_strides[0] + c * input_strides[1]
            for k in range(lane, weight_shape[2], lanes):
                at = i - k if reverse else i + k
                if at >= 0 and at < input_shape[2]:
                    total += weight[w + k * weight_strides[2]] * input[x + at * input_strides[2]]
    totals[cell] = total
    _sum_lanes(totals, cell, lane, lanes)
    if lane == 0 and ordinal < out_size:
        out[b * out_strides[0] + o * out_strides[1] + i * out_strides[2]] = totals[cell]


# --- Two dimensions ----------------------------------------------------------------


def _tensor_conv2d(
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

    With `reverse` the input is read at (i - k, j - l); past the edge it is 0. The
    threads that share an output divide the columns of the window, as in one dimension.

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
    totals = cuda.shared.array(THREADS, float64)
    lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
    cell = cuda.threadIdx.y * lanes + lane
    ordinal = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    height, width = out_shape[2], out_shape[3]
    j = ordinal % width
    i = ordinal // width % height
    o = ordinal // (width * height) % out_shape[1]
    b = ordinal // (width * height * out_shape[1])
    total = 0.0
    if ordinal < out_size:
        for c in range(weight_shape[1]):
            for k in range(weight_shape[2]):
                row = i - k if reverse else i + k
                if row >= 0 and row < input_shape[2]:
                    w = o * weight_strides[0] + c * weight_strides[1] + k * weight_strides[2]
                    x = b * input_strides[0] + c * input_strides[1] + row * input_strides[2]
                    for l in range(lane, weight_shape[3], lanes):  # noqa: E741
                        at = j - l if reverse else j + l
                        if at >= 0 and at < input_shape[3]:
                            total += (
                                weight[w + l * weight_strides[3]] * input[x + at * input_strides[3]]
                            )
    totals[cell] = total
    _sum_lanes(totals, cell, lane, lanes)
    if lane == 0 and ordinal < out_size:
        place = b * out_strides[0] + o * out_strides[1] + i * out_strides[2] + j * out_strides[3]
        out[place] = totals[cell]


# --- Functions ---------------------------------------------------------------------


def _convolve(
    kernel: Callable[..., None],
    input: Tensor,
    weight: Tensor,
    window: tuple[int, ...],
    reverse: bool = False,
) -> Tensor:
    """Launch a kernel into batch x out channels x window."""
    shape = (input.shape[0], weight.shape[0], *window)
    out = TensorData(cuda_device.empty(prod(shape)), shape)
    lanes = 1
    while lanes < min(THREADS, weight.shape[-1]) and lanes * out.size < THREADS * REDUCE_BLOCKS:
        lanes *= 2
    outputs = THREADS // lanes  # to a block
    if out.size:
        cuda_device.jit(kernel)[-(-out.size // outputs), (lanes, outputs)](
            *launch_arguments(out),
            out.size,
            *launch_arguments(input._tensor),
            *launch_arguments(weight._tensor),
            reverse,
        )
    return input._new(out)


def _swapped(t: Tensor) -> Tensor:
    """The first two dimensions exchanged, on the same storage."""
    return t._new(t._tensor.permute(1, 0, *range(2, t.dims)))


def _gradients(
    kernel: Callable[..., None], ctx: Context, grad_output: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients of the input and of the weight, both by the kernel of forward."""
    input, weight = ctx.saved_values
    grad_input = _convolve(kernel, grad_output, _swapped(weight), input.shape[2:], reverse=True)
    grad_weight = _convolve(kernel, _swapped(input), _swapped(grad_output), weight.shape[2:])
    return grad_input, _swapped(grad_weight)


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
        ctx.save_for_backward(input, weight)
        return _convolve(_tensor_conv1d, input, weight, input.shape[2:])

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """The input's gradient is a convolution anchored at the other end."""
        return _gradients(_tensor_conv1d, ctx, grad_output)


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
        ctx.save_for_backward(input, weight)
        return _convolve(_tensor_conv2d, input, weight, input.shape[2:])

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, Tensor]:
        """The input's gradient is a convolution anchored at the other corner."""
        return _gradients(_tensor_conv2d, ctx, grad_output)


conv1d = Conv1dFun.apply
conv2d = Conv2dFun.apply
