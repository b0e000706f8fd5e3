# ruff: noqa: N999
"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from ..ops.comparison import where
from ..tensor import Size, Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution, validated
from .utils import standard_normal


class StudentT(Distribution):
    """Student's t distribution."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    df: Tensor
    loc: Tensor
    scale: Tensor

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        shape = self._store(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape, validate_args=validate_args)

    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        wide = where(self.df > 1, math.inf, math.nan).to(self.df)
        return where(self.df > 2, self.scale.pow(2) * self.df / (self.df - 2), wide)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        x = standard_normal(self._extended_shape(sample_shape), self.df.dtype)
        return self.loc + self.scale * (x * (self._chi2.rsample(sample_shape) / self.df).rsqrt())

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        y, half = (value - self.loc) / self.scale, 0.5 * (self.df + 1)
        scale = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        return -half * (y**2 / self.df).log1p() - (scale + (0.5 * self.df).lgamma() - half.lgamma())

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return (
            self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta
        )
