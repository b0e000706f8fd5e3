"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..ops.movement import broadcast_tensors
from ..ops.random import multinomial
from ..ops.ranges import arange
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, OfProbabilities, validated, which


class Categorical(OfProbabilities):
    """The number of one of some classes, which have probabilities along the last dimension."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._given = which(probs, logits)
        given: Any = logits if probs is None else probs
        if given.ndim < 1:
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    mean = property(lambda self: self._param.new_full(self._extended_shape(), math.nan))
    mode = property(lambda self: self.probs.argmax(dim=-1))
    variance = property(lambda self: self._param.new_full(self._extended_shape(), math.nan))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        rows, count = self.probs.reshape(-1, self._num_events), Size(sample_shape).numel()
        drawn = multinomial(rows.detach(), count, True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        value, logits = value.long().unsqueeze(-1), self.logits
        if value.shape[:-1] != logits.shape[:-1]:
            value, logits = broadcast_tensors(value, logits)
            value = value[..., :1]
        return logits.gather(-1, value).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=dtypes.finfo(self.logits.dtype).min)
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(arange(self._num_events), expand)


class OfCategorical(Distribution):
    """A distribution of vectors that is given as a categorical one is: they have an element for each class."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    probs = property(lambda self: self._categorical.probs, doc="The probabilities.")

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape
