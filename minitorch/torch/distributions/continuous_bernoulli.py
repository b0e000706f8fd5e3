"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.comparison import where
from ..tensor import Size, Tensor
from . import constraints
from .distribution import OfProbabilities, validated
from .exp_family import ExponentialFamily
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, uniform


class ContinuousBernoulli(OfProbabilities, ExponentialFamily):
    """A number between 0 and 1 with a density proportional to p^x (1 - p)^(1 - x).

    Near p = 1/2, between `lims`, formulas lose their digits and Taylor series stand in for them.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._store_one(probs, logits)
        if probs is not None:
            if validate_args and not bool(constraints.unit_interval.check(self.probs).all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The parameter p."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _choose(self, formula: Any, near_half: Any) -> Tensor:
        """A formula of p, or what stands in for it near 1/2."""
        far = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        safe = where(far, self.probs, self._lims[0])
        return where(far, formula(safe), near_half)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of what the density is scaled by."""

        def formula(p: Tensor) -> Tensor:
            return ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()

        x = (self.probs - 0.5).pow(2)
        return self._choose(formula, math.log(2.0) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        x = self.probs - 0.5
        series = 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x
        return self._choose(lambda p: p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), series)

    @property
    def variance(self) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            return p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)

        x = (self.probs - 0.5).pow(2)
        return self._choose(formula, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(uniform(self._extended_shape(sample_shape), self.probs.dtype))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        surprise = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -surprise + self._cont_bern_log_norm()

    @validated
    def cdf(self, value: Tensor) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            return (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)

        inner = self._choose(formula, value)
        return inner.masked_fill(value <= 0, 0.0).masked_fill(value >= 1, 1.0)

    def icdf(self, value: Tensor) -> Tensor:
        def formula(p: Tensor) -> Tensor:
            return ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())

        return self._choose(formula, value)

    def entropy(self) -> Tensor:
        zero, one = (-self.probs).log1p(), self.probs.log()
        return self.mean * (zero - one) - self._cont_bern_log_norm() - zero

    _natural_params = property(lambda self: (self.logits,))
