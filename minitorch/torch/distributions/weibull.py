"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from ..ops.creation import ones_like
from ..tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import euler_constant


class Weibull(TransformedDistribution):
    """scale times a power of an exponential number."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    scale: Tensor
    concentration: Tensor

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._store(scale=scale, concentration=concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        power = PowerTransform(exponent=self.concentration_reciprocal)
        super().__init__(base, [power, AffineTransform(0, self.scale)], validate_args=validate_args)

    mean = property(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    @property
    def mode(self) -> Tensor:
        a = self.concentration
        return self.scale * ((a - 1) / a) ** a.reciprocal()

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * (
            (1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp()
        )

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
