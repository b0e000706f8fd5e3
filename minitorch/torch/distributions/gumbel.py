"""The Gumbel distribution: loc - scale log(-log u)."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..ops.creation import full_like, ones_like
from ..tensor import Tensor
from . import constraints
from .distribution import validated
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import euler_constant


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: loc - scale log(-log u)."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._store(loc=loc, scale=scale)
        like, info = full_like, dtypes.finfo(self.loc.dtype)
        base = Uniform(
            like(self.loc, info.tiny), like(self.loc, 1 - info.eps), validate_args=validate_args
        )
        steps = [
            ExpTransform().inv, AffineTransform(0, -ones_like(self.scale)),
            ExpTransform().inv, AffineTransform(loc, -self.scale),
        ]  # fmt: skip
        super().__init__(base, steps, validate_args=validate_args)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: self.stddev.pow(2))

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
