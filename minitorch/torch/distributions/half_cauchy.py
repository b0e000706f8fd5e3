"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .cauchy import Cauchy
from .half import HalfDistribution


class HalfCauchy(HalfDistribution):
    """The size of a Cauchy number around 0."""

    whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self._extended_shape(), math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance
