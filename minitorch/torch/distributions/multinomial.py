"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation import ones_like, tensor
from ..tensor import Size, Tensor
from . import constraints
from .binomial import Binomial
from .categorical import OfCategorical
from .distribution import validated
from .utils import broadcast_all


class Multinomial(OfCategorical):
    """The multinomial distribution: counts of each class in `total_count` draws."""

    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = self._categorical.sample(Size((self.total_count,)) + Size(sample_shape)).movedim(
            0, -1
        )
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        counts.scatter_add_(-1, drawn, ones_like(drawn))
        return counts.type_as(self.probs)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill(value.eq(0) & logits.eq(-math.inf), 0)
        orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return orders + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n = tensor(self.total_count)
        each = Binomial(self.total_count, probs=self.probs)
        counts = each.enumerate_support(expand=False)[1:]
        spread = (each.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + spread
