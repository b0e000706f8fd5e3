"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

from ..autograd.modes import no_grad
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.random import bernoulli
from ..ops.ranges import arange
from ..tensor import Size, Tensor
from . import constraints
from .distribution import OfProbabilities, validated
from .exp_family import ExponentialFamily
from .utils import broadcast_all


class Bernoulli(OfProbabilities, ExponentialFamily):
    """1 with a probability, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._store_one(probs, logits), validate_args=validate_args)

    mean = property(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        likely = (self.probs >= 0.5).to(self.probs)
        return likely.masked_fill(self.probs.eq(0.5), math.nan)

    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(2, dtype=self._param.dtype), expand)

    _natural_params = property(lambda self: (self.probs.logit(),))

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].exp().log1p()
