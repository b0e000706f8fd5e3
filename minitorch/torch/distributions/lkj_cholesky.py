"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..ops.creation import zeros
from ..ops.joining import cat
from ..ops.random import randn
from ..ops.ranges import arange
from ..special import multigammaln
from ..tensor import Size, Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution, validated
from .utils import broadcast_all


class LKJCholesky(Distribution):
    """Lower triangles L whose L Lᵀ is a correlation matrix, with a density of its determinant's power.

    Rows are drawn one by one, each a point in a ball (Lewandowski, Kurowicka and Joe, 2009).
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    concentration: Tensor

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        first = arange(dim - 1, dtype=self.concentration.dtype)
        offset = cat([zeros(1, dtype=self.concentration.dtype), first])
        rest = (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset
        self._beta = Beta(offset + 0.5, rest)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> LKJCholesky:
        checked = self.__dict__.get("_validate_args")
        return LKJCholesky(self.dim, self.concentration.expand(batch_shape), validate_args=checked)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Rows on spheres, whose radii are drawn first."""
        radii = self._beta.sample(Size(sample_shape)).unsqueeze(-1)
        points = randn(self._extended_shape(Size(sample_shape)), dtype=radii.dtype).tril(-1)
        directions = points / points.norm(dim=-1, keepdim=True)
        directions[..., 0, :] = 0.0
        rows = radii.sqrt() * directions
        left = (1 - (rows**2).sum(-1)).clamp(min=dtypes.finfo(rows.dtype).tiny)
        return rows + left.sqrt().diag_embed()

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - arange(2, self.dim + 1)
        rest = self.dim - 1
        alpha = self.concentration + 0.5 * rest
        scale = (
            0.5 * rest * math.log(math.pi) + multigammaln(alpha - 0.5, rest) - alpha.lgamma() * rest
        )
        return (order * diagonal.log()).sum(-1) - scale
