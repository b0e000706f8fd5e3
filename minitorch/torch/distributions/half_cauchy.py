"""The half-Cauchy distribution."""

from __future__ import annotations

import math

from .cauchy import Cauchy
from .half import HalfDistribution


class HalfCauchy(HalfDistribution):
    """The size of a Cauchy number around 0."""

    whole = Cauchy

    mean = property(lambda self: self.scale.new_full(self._extended_shape(), math.inf))
    variance = property(lambda self: self.base_dist.variance)
