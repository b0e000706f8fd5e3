"""Dropout: random elements or channels set to zero in training."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .layer import layer
from .module import Module


@layer(shows="p={p}, inplace={inplace}")
class _DropoutNd(Module):
    """The base class of dropout layers."""

    p: float = 0.5
    inplace: bool = False

    def _normalize_arguments(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


@layer(F.dropout)
class Dropout(_DropoutNd):
    """Random elements set to zero; the others are scaled so that the mean stays."""


@layer(F.dropout1d)
class Dropout1d(_DropoutNd):
    """Random channels of sequences set to zero."""


@layer(F.dropout2d)
class Dropout2d(_DropoutNd):
    """Random channels of images set to zero."""


@layer(F.dropout3d)
class Dropout3d(_DropoutNd):
    """Random channels of volumes set to zero."""


class AlphaDropout(_DropoutNd):
    """Random elements set to SELU's lower limit; mean and variance stay."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """Random channels set to SELU's lower limit; mean and variance stay."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
