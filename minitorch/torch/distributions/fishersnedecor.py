"""The F distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated
from .gamma import Gamma


class FisherSnedecor(Distribution):
    """The F distribution."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    df1: Tensor
    df2: Tensor

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        shape = self._store(df1=df1, df2=df2)
        self._gamma1, self._gamma2 = (Gamma(df * 0.5, df) for df in (self.df1, self.df2))
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = Size(sample_shape)
        x1 = self._gamma1.rsample(shape).view(self._extended_shape(shape))
        x2 = self._gamma2.rsample(shape).view(self._extended_shape(shape))
        x2.detach().clamp_(min=dtypes.finfo(x2.dtype).tiny)
        y = x1 / x2
        y.detach().clamp_(min=dtypes.finfo(x2.dtype).tiny)
        return y

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        ratio, half1, half2 = self.df1 / self.df2, self.df1 * 0.5, self.df2 * 0.5
        scale = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        weight = half1 * ratio.log() + (half1 - 1) * value.log()
        return scale + weight - (half1 + half2) * (ratio * value).log1p()
