"""The half-normal distribution."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .half import HalfDistribution
from .normal import Normal


class HalfNormal(HalfDistribution):
    """The size of a normal number around 0."""

    whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
