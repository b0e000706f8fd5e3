"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from ..autograd.modes import no_grad
from ..ops.random import binomial
from ..ops.ranges import arange
from ..tensor import Size, Tensor
from . import constraints
from .distribution import OfProbabilities, validated


class Binomial(OfProbabilities):
    """The binomial distribution."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._store_one(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    mean = property(lambda self: self.total_count * self.probs)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        n, logits = self.total_count, self.logits
        # n log(1 + exp(logits)), whose derivative at 0 is that of both halves
        above = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        scale = n * above + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - scale

    def entropy(self) -> Tensor:
        self._same_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._same_count("enumerate_support")
        return self._enumerated(arange(1 + count, dtype=self._param.dtype), expand)

    def _same_count(self, name: str) -> int:
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count
