"""Bernoulli draws made smooth."""

from __future__ import annotations

from typing import Any

from ..tensor import Size, Tensor
from . import constraints
from .distribution import OfProbabilities, validated
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, uniform


class LogitRelaxedBernoulli(OfProbabilities):
    """The log odds of a relaxed Bernoulli draw."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(self._store_one(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniform(shape, probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        apart = logits - value.mul(self.temperature)
        return self.temperature.log() + apart - 2 * apart.exp().log1p()


class Relaxed(TransformedDistribution):
    """A draw made smooth: what a transform makes of a distribution that has a temperature."""

    has_rsample = True

    temperature = property(lambda self: self.base_dist.temperature, doc="How smooth.")

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities, or log odds."""
        return self.base_dist.logits

    probs = property(lambda self: self.base_dist.probs, doc="The probabilities.")


class RelaxedBernoulli(Relaxed):
    """A number between 0 and 1; a low temperature moves it towards 0 or 1."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
