"""The sizes of numbers around 0: the half of a symmetric distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.comparison import where
from ..ops.creation import zeros_like
from ..tensor import Tensor
from . import constraints
from .distribution import validated
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class HalfDistribution(TransformedDistribution):
    """The size of a number of a distribution around 0, which has a scale."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    whole: type
    """The distribution."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = self.whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    scale = property(lambda self: self.base_dist.scale, doc="The width of the whole curve.")
    mode = property(lambda self: zeros_like(self.scale))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        inner = self.base_dist.log_prob(value) + math.log(2)
        return where(value >= 0, inner, -math.inf)

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
