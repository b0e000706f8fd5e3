"""The layers of lesson 4: linear, and convolution over words and over images.

The course starts all weights and biases at 0.1 * (random - 0.5), whatever the size of the
layer: with nine inputs that is so small that the signal dies out on its way, and training starts
with a long flat stretch. Here weights lie in -s ... s, and biases start at 0. With n inputs to one
output,

- s = sqrt(6 / n) in `Linear` and `Conv2d`, so that layers with ReLU pass on signals as large as
  they get them (He et al. 2015);
- s = sqrt(1 / n) in `Conv1d`, whose outputs are not averaged but searched for their maximum over a
  sentence, which is large enough as it is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..module import Module, Parameter
from ..tensor import Tensor
from ..tensor_functions import rand
from ..tensor_ops import TensorBackend
from . import tensor_points


@lru_cache(maxsize=1)
def fast_backend() -> TensorBackend:
    """The backend of lesson 3, which layers live on unless they are told otherwise."""
    from ..fast_ops import FastOps

    return TensorBackend(FastOps)


def constant(values: npt.ArrayLike, backend: TensorBackend) -> Tensor:
    """Data as a tensor that needs no gradient."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    return Tensor.make(array.reshape(-1), array.shape, backend=backend)


class Linear(tensor_points.Linear):
    """x @ weights + bias: (batch, in_size) -> (batch, out_size)."""

    def __init__(self, in_size: int, out_size: int, backend: TensorBackend | None = None) -> None:
        super().__init__(in_size, out_size, backend or fast_backend())


class Conv1d(Module):
    """Slides `out_channels` kernels of `kernel_width` words over a sentence.

    (batch, in_channels, length) -> (batch, out_channels, length)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_width: int,
        backend: TensorBackend | None = None,
    ) -> None:
        super().__init__()
        backend = backend or fast_backend()
        self.weights = _kernels((out_channels, in_channels, kernel_width), 1.0, backend)
        self.bias = Parameter(constant(np.zeros((1, out_channels, 1)), backend))

    def forward(self, input: Tensor) -> Tensor:
        """Convolve, and add the bias of each output channel."""
        return _convolutions().conv1d(input, self.weights.value) + self.bias.value


class Conv2d(Module):
    """Slides `out_channels` kernels of kh x kw pixels over an image.

    (batch, in_channels, height, width) -> (batch, out_channels, height, width)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kh: int,
        kw: int,
        backend: TensorBackend | None = None,
    ) -> None:
        super().__init__()
        backend = backend or fast_backend()
        self.weights = _kernels((out_channels, in_channels, kh, kw), 6.0, backend)
        self.bias = Parameter(constant(np.zeros((out_channels, 1, 1)), backend))

    def forward(self, input: Tensor) -> Tensor:
        """Convolve, and add the bias of each output channel."""
        return _convolutions().conv2d(input, self.weights.value) + self.bias.value


def _kernels(shape: tuple[int, ...], gain: float, backend: TensorBackend) -> Parameter:
    scale = math.sqrt(gain / math.prod(shape[1:]))
    return Parameter(((rand(shape, backend) - 0.5) * (2.0 * scale)).detach())


def _convolutions() -> Any:
    """Lesson 4's convolutions, which load Numba."""
    from .. import fast_conv

    return fast_conv
