"""Distributions of what transforms make of draws."""

from __future__ import annotations

from typing import Any

from ..autograd.modes import no_grad
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """The distribution of t(x), for transforms t and x of another distribution."""

    arg_constraints = {}
    base_dist: Any
    transforms: list[Transform]

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        self.transforms = _listed(transforms)
        whole, base = ComposeTransform(self.transforms), base_distribution
        shape, inner = base.batch_shape + base.event_shape, len(base.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {shape}."
            )
        made = Size(whole.forward_shape(shape))
        needed = Size(whole.inverse_shape(made))
        if shape != needed:
            base = base.expand(needed[: len(needed) - inner])
        more = whole.domain.event_dim - inner
        self.base_dist = Independent(base, more) if more > 0 else base
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(made) - max(whole.codomain.event_dim, inner + change)
        super().__init__(made[:cut], made[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = object.__new__(type(self)) if _instance is None else _instance
        shape = Size(batch_shape) + self.event_shape
        for transform in reversed(self.transforms):
            shape = Size(transform.inverse_shape(shape))
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        held = {
            name: value.expand(Size(batch_shape))
            for name, value in self.__dict__.items() if name in self.arg_constraints
        }  # fmt: skip
        new.__dict__.update(self.__dict__, base_dist=base, **held)
        new._batch_shape = Size(batch_shape)
        return new

    def _region(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    support: Any = constraints.dependent_property(_region, is_discrete=False)
    has_rsample: Any = property(lambda self: self.base_dist.has_rsample)

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        event, total, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event += transform.domain.event_dim - transform.codomain.event_dim
            growth = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(growth, event - transform.domain.event_dim)
            y = x
        inner = self.base_dist.log_prob(y)
        return total + sum_rightmost(inner, event - len(self.base_dist.event_shape))

    def _rising(self, value: Tensor) -> Tensor:
        """A probability, turned around if the transforms fall."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._rising(value)))


def _listed(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(t, Transform) for t in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms
