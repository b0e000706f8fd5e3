"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from ..autograd.modes import no_grad
from ..nn.functional import log_softmax
from ..tensor import Size, Tensor
from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution, validated


class MixtureSameFamily(Distribution):
    """One of some components, chosen at random for each draw."""

    arg_constraints = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        batch = component_distribution.batch_shape
        self._check(mixture_distribution, batch)
        self._num_component = batch[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            batch[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    @staticmethod
    def _check(mixture: Categorical, batch: Size) -> None:
        for have, want in zip(reversed(mixture.batch_shape), reversed(batch[:-1]), strict=False):
            if have != want and 1 not in (have, want):
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        if mixture.logits.shape[-1] != batch[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({mixture.logits.shape[-1]}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({batch[-1]})"
            )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = object.__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape)
        components = self._component_distribution.expand((*shape, self._num_component))
        new.__dict__.update(self.__dict__, _component_distribution=components)
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._batch_shape = shape
        return new

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which component is chosen."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weighted(self, values: Tensor) -> Tensor:
        """The mean over components."""
        probs = self.mixture_distribution.probs
        weights = probs.reshape(probs.shape + (1,) * self._event_ndims)
        return (weights * values).sum(dim=-1 - self._event_ndims)

    mean = property(lambda self: self._weighted(self.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        inner = self.component_distribution
        apart = inner.mean - self.mean.unsqueeze(-1 - self._event_ndims)
        return self._weighted(inner.variance) + self._weighted(apart.pow(2.0))

    def cdf(self, value: Tensor) -> Tensor:
        inner = self.component_distribution.cdf(value.unsqueeze(-1 - self._event_ndims))
        return (inner * self.mixture_distribution.probs).sum(-1)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        inner = self.component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return (inner + log_softmax(self.mixture_distribution.logits, dim=-1)).logsumexp(dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            at = len(Size(sample_shape)) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return drawn.gather(at, index).squeeze(at)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
