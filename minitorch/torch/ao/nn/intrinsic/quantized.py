"""Fused layers on whole numbers."""

from __future__ import annotations

from .. import quantized


class LinearReLU(quantized.Linear):
    """A linear layer and ReLU."""

    relu = True


class ConvReLU1d(quantized.Conv1d):
    """A convolution of sequences and ReLU."""

    relu = True


class ConvReLU2d(quantized.Conv2d):
    """A convolution of pictures and ReLU."""

    relu = True


class ConvReLU3d(quantized.Conv3d):
    """A convolution of volumes and ReLU."""

    relu = True
