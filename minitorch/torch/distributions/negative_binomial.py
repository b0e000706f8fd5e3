"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from ..autograd.modes import no_grad
from ..nn.functional import logsigmoid
from ..ops.random import poisson
from ..tensor import Size, Tensor
from . import constraints
from .distribution import OfProbabilities, validated
from .gamma import Gamma
from .utils import lazy_property


class NegativeBinomial(OfProbabilities):
    """The negative binomial distribution: successes before `total_count` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._store_one(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.total_count * self.logits.exp())

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    @lazy_property
    def _gamma(self) -> Gamma:
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        n = self.total_count
        weight = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        scale = -(n + value).lgamma() + (1 + value).lgamma() + n.lgamma()
        return weight - scale.masked_fill((n + value).eq(0), 0.0)
