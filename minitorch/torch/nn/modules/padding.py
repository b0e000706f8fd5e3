"""Padding: more elements at the edges."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .layer import as_many, layer
from .module import Module


class _Pad(Module):
    """What paddings share; the subclass says how, and of how many dimensions."""

    _dims: int
    _mode: str
    padding: Any

    def _settle(self) -> None:
        self.padding = as_many(self.padding, 2 * self._dims)


@layer(shows="{padding}")
class _RepeatingPad(_Pad):
    """Edges from the input itself."""

    padding: Any

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)


@layer(shows="padding={padding}, value={value}")
class _ConstantPadNd(_Pad):
    """Edges of one value."""

    padding: Any
    value: float

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd):
    """Sequences with edges of one value."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Images with edges of one value."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Volumes with edges of one value."""

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    """Edges of zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Sequences with edges of zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Images with edges of zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Volumes with edges of zeros."""


class _ReflectionPadNd(_RepeatingPad):
    """Edges that mirror the input."""

    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Sequences with edges that mirror them."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Images with edges that mirror them."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Volumes with edges that mirror them."""

    _dims = 3


class _ReplicationPadNd(_RepeatingPad):
    """Edges that repeat the outermost elements."""

    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Sequences with edges that repeat the outermost elements."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Images with edges that repeat the outermost elements."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Volumes with edges that repeat the outermost elements."""

    _dims = 3


class _CircularPadNd(_RepeatingPad):
    """Edges that go on at the other side."""

    _mode = "circular"


class CircularPad1d(_CircularPadNd):
    """Sequences that go on at the other side."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Images that go on at the other side."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Volumes that go on at the other side."""

    _dims = 3
