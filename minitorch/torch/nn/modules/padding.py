"""Padding."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .layer import as_many, layer
from .module import Module


class _Pad(Module):
    """The base class of paddings; subclasses set the mode and the number of dimensions."""

    _dims: int
    _mode: str
    padding: Any

    def _normalize_arguments(self) -> None:
        self.padding = as_many(self.padding, 2 * self._dims)


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


class ConstantPad1d(_ConstantPadNd):
    """Sequences padded with a constant."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Images padded with a constant."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Volumes padded with a constant."""

    _dims = 3


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


class _ReflectionPadNd(_RepeatingPad):
    """The base class of padding by reflection."""

    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Sequences padded by reflection."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Images padded by reflection."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Volumes padded by reflection."""

    _dims = 3


class _ReplicationPadNd(_RepeatingPad):
    """The base class of padding by replication of the edge."""

    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Sequences padded by replication of the edge."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Images padded by replication of the edge."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Volumes padded by replication of the edge."""

    _dims = 3


class _CircularPadNd(_RepeatingPad):
    """The base class of circular padding."""

    _mode = "circular"


class CircularPad1d(_CircularPadNd):
    """Sequences with circular padding."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Images with circular padding."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Volumes with circular padding."""

    _dims = 3
