"""Categorical draws made smooth."""

from __future__ import annotations

from typing import Any

from ..ops.creation import full_like
from ..tensor import Size, Tensor
from . import constraints
from .categorical import OfCategorical
from .distribution import validated
from .relaxed_bernoulli import Relaxed
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs, uniform


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of a relaxed one-hot draw."""

    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        u = clamp_probs(uniform(self._extended_shape(sample_shape), self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        full = full_like(self.temperature, float(count))
        scale = full.lgamma() + self.temperature.log() * (count - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class RelaxedOneHotCategorical(Relaxed):
    """Probabilities; a low temperature moves them towards one class."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
