"""Padding."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .layer import Variants, as_tuple, layer
from .module import Module


class _Pad(Variants, Module):
    """The base class of paddings; subclasses set the mode and the number of dimensions."""

    _dims: int
    _mode: str
    padding: Any

    def _normalize_arguments(self) -> None:
        self.padding = as_tuple(self.padding, 2 * self._dims)


@layer(shows="{padding}")
class _RepeatingPad(_Pad):
    """The base class of paddings with elements of the input."""

    padding: Any

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)


@layer(shows="padding={padding}, value={value}")
class _ConstantPadNd(_Pad):
    """The base class of constant padding."""

    padding: Any
    value: float

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd, dims=1):
    """Sequences padded with a constant."""


class ConstantPad2d(_ConstantPadNd, dims=2):
    """Images padded with a constant."""


class ConstantPad3d(_ConstantPadNd, dims=3):
    """Volumes padded with a constant."""


class _ZeroPad(_ConstantPadNd):
    """The base class of zero padding."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Sequences padded with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Images padded with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Volumes padded with zeros."""


class _ReflectionPadNd(_RepeatingPad, mode="reflect"):
    """The base class of padding by reflection."""


class ReflectionPad1d(_ReflectionPadNd, dims=1):
    """Sequences padded by reflection."""


class ReflectionPad2d(_ReflectionPadNd, dims=2):
    """Images padded by reflection."""


class ReflectionPad3d(_ReflectionPadNd, dims=3):
    """Volumes padded by reflection."""


class _ReplicationPadNd(_RepeatingPad, mode="replicate"):
    """The base class of padding by replication of the edge."""


class ReplicationPad1d(_ReplicationPadNd, dims=1):
    """Sequences padded by replication of the edge."""


class ReplicationPad2d(_ReplicationPadNd, dims=2):
    """Images padded by replication of the edge."""


class ReplicationPad3d(_ReplicationPadNd, dims=3):
    """Volumes padded by replication of the edge."""


class _CircularPadNd(_RepeatingPad, mode="circular"):
    """The base class of circular padding."""


class CircularPad1d(_CircularPadNd, dims=1):
    """Sequences with circular padding."""


class CircularPad2d(_CircularPadNd, dims=2):
    """Images with circular padding."""


class CircularPad3d(_CircularPadNd, dims=3):
    """Volumes with circular padding."""
