"""Dropout: random elements or channels set to zero in training."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ...tensor import Tensor
from .. import functional as F
from .layer import layer
from .module import Module


@layer(shows="p={p}, inplace={inplace}")
class _DropoutNd(Module):
    """The base class of dropout layers; subclasses name the function."""

    _function: ClassVar[Callable[..., Tensor]]

    p: float = 0.5
    inplace: bool = False

    def _settle(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd):
    """Random elements set to zero; the others are scaled so that the mean stays."""

    _function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Random channels of sequences set to zero."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Random channels of images set to zero."""

    _function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Random channels of volumes set to zero."""

    _function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Random elements set to SELU's lower limit; mean and variance stay."""

    _function = staticmethod(F.alpha_dropout)

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Random channels set to SELU's lower limit; mean and variance stay."""

    _function = staticmethod(F.feature_alpha_dropout)

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
