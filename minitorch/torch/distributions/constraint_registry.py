"""From all real numbers into a region: `biject_to(constraint)`, `transform_to(constraint)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .utils import NUMBERS

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Which transform leads into which kind of region."""

    def __init__(self) -> None:
        self._registry: dict[type, Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Declare what makes the transform for a kind of region; also as a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _between(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, NUMBERS) and isinstance(high, NUMBERS) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return _then(transforms.SigmoidTransform(), low, high - low)


def _then(first: transforms.Transform, loc: Any, scale: Any) -> transforms.Transform:
    return transforms.ComposeTransform([first, transforms.AffineTransform(loc, scale)])


for _registry in (biject_to, transform_to):
    _registry.register(constraints.real, lambda _: transforms.identity_transform)
    _registry.register(
        constraints.independent,
        lambda c, to=_registry: transforms.IndependentTransform(
            to(c.base_constraint), c.reinterpreted_batch_ndims
        ),
    )
    for _kind in (constraints.greater_than, constraints.greater_than_eq):
        _registry.register(_kind, lambda c: _then(transforms.ExpTransform(), c.lower_bound, 1))
    _registry.register(
        constraints.less_than, lambda c: _then(transforms.ExpTransform(), c.upper_bound, -1)
    )
    for _kind in (constraints.interval, constraints.half_open_interval):
        _registry.register(_kind, _between)
    _registry.register(
        constraints.stack,
        lambda c, to=_registry: transforms.StackTransform([to(part) for part in c.cseq], c.dim),
    )
    _registry.register(
        constraints.cat,
        lambda c, to=_registry: transforms.CatTransform(
            [to(part) for part in c.cseq], c.dim, c.lengths
        ),
    )
    _registry.register(constraints.corr_cholesky, lambda _: transforms.CorrCholeskyTransform())
biject_to.register(constraints.simplex, lambda _: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda _: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda _: transforms.LowerCholeskyTransform())
for _matrix in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_matrix, lambda _: transforms.PositiveDefiniteTransform())
