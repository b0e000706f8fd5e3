"""Lesson 4: pooling, maximum, softmax, dropout."""

from __future__ import annotations

from .autodiff import Context
from .operators import EPS
from .tensor import Tensor
from .tensor_data import IndexingError, TensorData
from .tensor_functions import Function, rand
from .tensor_ops import reduced_dim

# --- Task 4.3: pooling ---------------------------------------------------------


def _windows(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """An image as batch x channel x new height x kernel height x new width x kernel width."""
    if input.dims != 4:
        raise IndexingError(f"tile: needs batch x channel x height x width, got {input.shape}")
    if len(kernel) != 2:
        raise IndexingError(f"tile: kernel must be a height and a width, it is {kernel}")
    batch, channel, height, width = input.shape
    kh, kw = kernel
    if kh < 1 or kw < 1 or height % kh or width % kw:
        raise IndexingError(f"tile: kernel {kernel} does not divide an image of {height} x {width}")
    return input.contiguous().view(batch, channel, height // kh, kh, width // kw, kw)


def tile(input: Tensor, kernel: tuple[int, int]) -> tuple[Tensor, int, int]:
    """Cut an image into tiles, so that pooling is a reduction over the last dimension.

    Args:
        input: batch x channel x height x width
        kernel: height and width of a tile; each must divide the image's

    Returns:
        batch x channel x new height x new width x (kernel height * kernel width),
        the new height and the new width
    """
    windows = _windows(input, kernel)
    batch, channel, height, kh, width, kw = windows.shape
    tiles = windows.permute(0, 1, 2, 4, 3, 5).contiguous()
    return tiles.view(batch, channel, height, width, kh * kw), height, width


def avgpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """The mean of each tile.

    >>> from minitorch import tensor
    >>> avgpool2d(tensor([[[[1, 2], [3, 4]]]]), (2, 2)).item()
    2.5
    """
    windows = _windows(input, kernel)
    batch, channel, height, kh, width, kw = windows.shape
    total = windows.sum(3).sum(5)  # where they are: a sum needs no copy of the tiles
    return (total / (kh * kw)).view(batch, channel, height, width)


def maxpool2d(input: Tensor, kernel: tuple[int, int]) -> Tensor:
    """The maximum of each tile.

    >>> from minitorch import tensor
    >>> maxpool2d(tensor([[[[1, 2], [3, 4]]]]), (2, 2)).item()
    4.0
    """
    tiles, height, width = tile(input, kernel)
    return max(tiles, 4).view(*input.shape[:2], height, width)


# --- Task 4.4: maximum, softmax, dropout ---------------------------------------


def argmax(input: Tensor, dim: int) -> Tensor:
    """1.0 at the maximum along a dimension and 0.0 elsewhere; of equal maxima, at the first.

    >>> from minitorch import tensor
    >>> argmax(tensor([1, 3, 2, 3]), 0)
    [0.00 1.00 0.00 0.00]
    """
    input = input.detach()
    dim = reduced_dim(input.shape, dim)
    f = input.f
    is_maximum = f.eq_zip(input, f.max_reduce(input, dim))
    # Number the places n ... 1, so that among the maxima the first has the highest number.
    n = input.shape[dim]
    shape = [n if d == dim else 1 for d in range(input.dims)]
    numbers = input._new(TensorData([float(n - i) for i in range(n)], shape))
    numbered = f.mul_zip(is_maximum, numbers)
    first = f.eq_zip(numbered, f.max_reduce(numbered, dim))
    return f.mul_zip(is_maximum, first)


class Max(Function):
    """The maximum along a dimension, which stays with size 1."""

    @staticmethod
    def forward(ctx: Context, input: Tensor, dim: int) -> Tensor:
        """Reduce with max."""
        ctx.save_for_backward(input, dim)
        return input.f.max_reduce(input, dim)

    @staticmethod
    def backward(ctx: Context, grad_output: Tensor) -> tuple[Tensor, float]:
        """The gradient goes where the maximum was."""
        input, dim = ctx.saved_values
        return grad_output.f.mul_zip(argmax(input, dim), grad_output), 0.0


def max(input: Tensor, dim: int) -> Tensor:
    """The maximum along a dimension, which stays with size 1.

    >>> from minitorch import tensor
    >>> max(tensor([[1, 5], [7, 3]]), 1)
    [
        [5.00]
        [7.00]]
    """
    return Max.apply(input, dim)


def _below_maximum(input: Tensor, dim: int) -> Tensor:
    """The input less its maximum along dim: softmax does not change, and exp cannot overflow."""
    return input - max(input.detach(), dim)


def softmax(input: Tensor, dim: int) -> Tensor:
    """exp(x) / sum of exp(x), along a dimension.

    >>> from minitorch import tensor
    >>> softmax(tensor([1000, 1000]), 0)
    [0.50 0.50]
    """
    exponentials = _below_maximum(input, dim).exp()
    return exponentials / exponentials.sum(dim)


def logsoftmax(input: Tensor, dim: int) -> Tensor:
    """The logarithm of softmax, computed without the quotient."""
    shifted = _below_maximum(input, dim)
    total = shifted.exp().sum(dim)  # at least 1, as the maximum contributes exp(0)
    return shifted - (total - EPS).log()  # log adds EPS back


def dropout(input: Tensor, rate: float, ignore: bool = False) -> Tensor:
    """Set each element to 0 with probability `rate`; with `ignore`, change nothing.

    As in the course, what is kept is not scaled up.

    Args:
        input: any tensor
        rate: 0 keeps everything, 1 nothing
        ignore: switch dropout off, as in evaluation
    """
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"dropout: rate must be between 0 and 1, it is {rate}")
    if ignore:
        return input
    dropped = rand(input.shape, backend=input.backend) < rate
    return input * (1.0 - dropped)
