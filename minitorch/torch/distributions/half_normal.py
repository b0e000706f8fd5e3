"""The half-normal distribution."""

from __future__ import annotations

import math

from .half import HalfDistribution
from .normal import Normal


class HalfNormal(HalfDistribution):
    """The size of a normal number around 0."""

    whole = Normal

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))
