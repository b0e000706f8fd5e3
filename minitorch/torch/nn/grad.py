"""Gradients of convolutions, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.backward import grad
from ..autograd.modes import enable_grad
from ..ops.creation import zeros
from ..tensor import Tensor
from . import functional as F


def _declare(dims: int) -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    """Declare the gradients of a convolution with respect to its input and its weight."""
    convolve = getattr(F, f"conv{dims}d")

    def call(by: Tensor, input: Tensor, weight: Tensor, grad_output: Tensor, *how: Any) -> Tensor:
        with enable_grad():
            return grad(convolve(input, weight, None, *how), by, grad_output)[0]

    def by_input(
        input_size: Sequence[int], weight: Tensor, grad_output: Tensor,
        stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        input = zeros(input_size, dtype=weight.dtype, requires_grad=True)
        return call(input, input, weight.detach(), grad_output, stride, padding, dilation, groups)

    def by_weight(
        input: Tensor, weight_size: Sequence[int], grad_output: Tensor,
        stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        weight = zeros(weight_size, dtype=input.dtype, requires_grad=True)
        return call(weight, input.detach(), weight, grad_output, stride, padding, dilation, groups)

    for fn, what in ((by_input, "input"), (by_weight, "weight")):
        fn.__name__ = fn.__qualname__ = f"conv{dims}d_{what}"
        fn.__doc__ = f"The gradient of `conv{dims}d` with respect to its {what}."
    return by_input, by_weight


conv1d_input, conv1d_weight = _declare(1)
conv2d_input, conv2d_weight = _declare(2)
conv3d_input, conv3d_weight = _declare(3)
