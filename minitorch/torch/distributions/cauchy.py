"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated


class Cauchy(Distribution):
    """The Cauchy distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._store(loc=loc, scale=scale), validate_args=validate_args)

    mean = property(lambda self: self.loc.new_full(self._extended_shape(), math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: self.loc.new_full(self._extended_shape(), math.inf))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        eps = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + eps * self.scale

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        apart = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (apart**2).log1p()

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
