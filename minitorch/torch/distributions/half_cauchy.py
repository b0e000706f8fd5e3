"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ..ops.comparison import where
from ..ops.creation import zeros_like
from ..tensor import Tensor
from . import constraints
from .cauchy import Cauchy
from .distribution import validated
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class HalfCauchy(TransformedDistribution):
    """The size of a Cauchy number around 0."""

    arg_constraints: ClassVar = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Cauchy

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The width of the whole curve."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self._extended_shape(), math.inf)

    @property
    def mode(self) -> Tensor:
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

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
