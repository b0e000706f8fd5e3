"""Pixel shuffle and its inverse."""

from __future__ import annotations

from .. import functional as F
from .layer import layer
from .module import Module


@layer(F.pixel_shuffle, shows="upscale_factor={upscale_factor}")
class PixelShuffle(Module):
    """(..., C r², H, W) rearranged to (..., C, H r, W r)."""

    upscale_factor: int


@layer(F.pixel_unshuffle, shows="downscale_factor={downscale_factor}")
class PixelUnshuffle(Module):
    """(..., C, H r, W r) rearranged to (..., C r², H, W)."""

    downscale_factor: int
