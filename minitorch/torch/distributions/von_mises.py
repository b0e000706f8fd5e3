"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..autograd.modes import no_grad
from ..ops.comparison import where
from ..ops.creation import zeros
from ..ops.random import rand
from ..special import i0e, i1e
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated


class VonMises(Distribution):
    """Angles around `loc`; the larger the concentration, the nearer."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    loc: Tensor
    concentration: Tensor

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        super().__init__(
            self._store(loc=loc, concentration=concentration), validate_args=validate_args
        )

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        k = self.concentration
        return k * (value - self.loc).cos() - math.log(2 * math.pi) - (i0e(k).log() + k)

    @property
    def _proposal(self) -> Tensor:
        """The parameter of the wrapped Cauchy distribution that angles are first drawn from."""
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        return where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Angles: drawn from a wider distribution, and again until they are accepted (Best, Fisher, 1979)."""
        with no_grad():
            shape = self._extended_shape(Size(sample_shape))
            k, r = self.concentration.double(), self._proposal
            angles = zeros(shape, dtype=dtypes.float64)
            done = zeros(shape, dtype=dtypes.bool_)
            while not done.all():
                one, two, three = rand((3, *shape), dtype=dtypes.float64).unbind()
                z = (math.pi * one).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = ((c * (2 - c) - two) > 0) | ((c / two).log() + 1 - c >= 0)
                angles = where(accepted, (three - 0.5).sign() * f.acos(), angles)
                done = done | accepted
            turned = (angles + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """One less the length of the mean of directions."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)
