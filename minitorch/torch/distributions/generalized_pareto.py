"""The generalized Pareto distribution."""

from __future__ import annotations

from typing import Any

from ..ops.comparison import isclose, where
from ..ops.creation import ones_like, zeros_like
from ..ops.random import rand
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Tensor
    scale: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        shape = self._store(loc=loc, scale=scale, concentration=concentration)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, where(self.concentration < 0, end, float("inf")))

    def _apart(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0, and the concentration with ones there."""
        is_zero = isclose(self.concentration, zeros_like(self.concentration))
        return is_zero, where(is_zero, ones_like(self.concentration), self.concentration)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))
        return self.icdf(rand(shape, dtype=self.loc.dtype))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        z = (value - self.loc) / self.scale
        is_zero, k = self._apart()
        power = 1 / k + ones_like(z)
        tail = where(power == 0, power, power * (k * z).log1p())
        return -self.scale.log() - where(is_zero, z, tail)

    @validated
    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more."""
        z = (value - self.loc) / self.scale
        is_zero, k = self._apart()
        return where(is_zero, -z, -(k * z).log1p() / k)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of at most a value."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        is_zero, k = self._apart()
        left = (-value).log1p()
        heavy = self.loc + self.scale / k * (-k * left).expm1()
        return where(is_zero, self.loc - self.scale * left, heavy)

    @property
    def mean(self) -> Tensor:
        exists = self.concentration < 1
        k = where(exists, self.concentration, 0.5)
        return where(exists, self.loc + self.scale / (1 - k), float("nan"))

    @property
    def variance(self) -> Tensor:
        exists = self.concentration < 0.5
        k = where(exists, self.concentration, 0.25)
        return where(exists, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), float("nan"))

    mode = property(lambda self: self.loc)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)
