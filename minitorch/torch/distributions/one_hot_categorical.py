"""One of some classes, as a vector with a 1."""

from __future__ import annotations

from typing import Any

from ..nn.functional import one_hot
from ..ops.ranges import eye
from ..tensor import Size, Tensor
from . import constraints
from .categorical import OfCategorical
from .distribution import validated
from .utils import broadcast_all


class OneHotCategorical(OfCategorical):
    """A vector that is 1 at one of some classes, and 0 elsewhere."""

    support = constraints.one_hot
    has_enumerate_support = True

    _param = property(lambda self: self._categorical._param)
    mean = property(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        return one_hot(self.probs.argmax(dim=-1), self.event_shape[-1]).to(self.probs)

    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = self._categorical.sample(Size(sample_shape))
        return one_hot(drawn, self.event_shape[-1]).to(self.probs)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        _, value = broadcast_all(self.logits, value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = eye(n, dtype=self._param.dtype)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradient of the probabilities in place of that of the draw."""

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
