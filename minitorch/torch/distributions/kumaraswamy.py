"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.creation import full_like
from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import euler_constant


class Kumaraswamy(TransformedDistribution):
    """A probability, much like one of a beta distribution, but with a simple inverse."""

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self._store(concentration1=concentration1, concentration0=concentration0)
        like, a, b = full_like, self.concentration1, self.concentration0
        base = Uniform(like(b, 0), like(b, 1), validate_args=validate_args)
        steps = [
            PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal()),
        ]  # fmt: skip
        super().__init__(base, steps, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        """The expected value of the n-th power."""
        more, b = 1 + n / self.concentration1, self.concentration0
        return b * (more.lgamma() + b.lgamma() - (more + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    variance = property(lambda self: self._moment(2) - self.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
