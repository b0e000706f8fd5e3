"""Channels as pixels, and pixels as channels."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .layer import layer
from .module import Module


@layer(shows="upscale_factor={upscale_factor}")
class PixelShuffle(Module):
    """Channels laid out as pixels of larger images."""

    upscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


@layer(shows="downscale_factor={downscale_factor}")
class PixelUnshuffle(Module):
    """Pixels gathered as channels of smaller images."""

    downscale_factor: int

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
