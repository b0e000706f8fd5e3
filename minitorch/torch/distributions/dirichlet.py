"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from ..nn.functional import one_hot
from ..ops.comparison import where
from ..ops.reparametrized import _sample_dirichlet
from ..tensor import Size, Tensor
from . import constraints
from .distribution import validated
from .exp_family import ExponentialFamily


class Dirichlet(ExponentialFamily):
    """Probabilities that sum to 1."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        batch, event = concentration.shape[:-1], concentration.shape[-1:]
        super().__init__(batch, event, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))
        return _sample_dirichlet(self.concentration.expand(shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, keepdim=True))

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, keepdim=True)
        corner = one_hot(mode.nan_to_num().argmax(dim=-1), above.shape[-1]).to(mode)
        return where((self.concentration < 1).all(dim=-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        scale = a.lgamma().sum(-1) - total.lgamma()
        apart = (a.shape[-1] - total) * total.digamma() + ((a - 1) * a.digamma()).sum(-1)
        return scale - apart

    _natural_params = property(lambda self: (self.concentration,))

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        (x,) = natural_params
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
