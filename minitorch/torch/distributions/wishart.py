"""The Wishart distribution."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes, linalg
from ..ops.creation import tensor
from ..ops.linalg.factorizations import cholesky_inverse, cholesky_solve
from ..ops.movement import broadcast_shapes
from ..ops.random import randn
from ..ops.ranges import arange, tril_indices
from ..special import multigammaln
from ..tensor import Size, Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import validated
from .exp_family import ExponentialFamily
from .multivariate_normal import factor_of, form_of
from .utils import NUMBERS, lazy_property


class Wishart(ExponentialFamily):
    """Sums of `df` outer products of normal vectors, whose covariance is given in one of three forms."""

    support = constraints.positive_definite
    has_rsample = True
    df: Tensor

    @property
    def arg_constraints(self) -> dict[str, Any]:  # type: ignore[override]
        """Where each parameter may be."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = form_of(scale_tril, covariance_matrix, precision_matrix)
        event = matrix.shape[-2:]
        if isinstance(df, NUMBERS):
            df = tensor(df, dtype=matrix.dtype)
        batch = broadcast_shapes(matrix.shape[:-2], df.shape)
        self.df = df.expand(batch)
        if self.df.le(event[-1] - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}."
            )
        self.__dict__[name] = matrix.expand((*batch, *event))
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._diagonal = Chi2(self.df.unsqueeze(-1) - arange(event[-1], dtype=matrix.dtype))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Wishart:
        factor = self._unbroadcasted_scale_tril.expand((*batch_shape, *self.event_shape))
        checked = self.__dict__.get("_validate_args")
        return Wishart(self.df.expand(batch_shape), scale_tril=factor, validate_args=checked)

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        return self._expanded(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._expanded(cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = property(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, float("nan"))
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v**2 + diagonal[..., None] * diagonal[..., None, :])

    def _drawn(self, shape: Size) -> Tensor:
        """Products of triangles of chi and normal numbers (Bartlett, 1933)."""
        size = self._event_shape[-1]
        diagonal = self._diagonal.rsample(shape).sqrt()
        noise = diagonal.clamp(min=dtypes.finfo(diagonal.dtype).eps).diag_embed()
        i, j = tril_indices(size, size, offset=-1)
        below = randn((*shape, *self._batch_shape, size * (size - 1) // 2), dtype=noise.dtype)
        noise[..., i, j] = below
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Tensor:
        """Draws: as in Torch, those that are positive definite at first are drawn once more.

        Args:
            sample_shape: how many
            max_try_correction: how often singular ones are drawn again
        """
        drawn = self._drawn(Size(sample_shape))
        again = self._any_of_batch(self.support.check(drawn))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not again.any():
                break
            new = self._drawn(again[again].shape)
            drawn[again] = new
            again[again.clone()] = self._any_of_batch(~self.support.check(new))
        return drawn

    def _any_of_batch(self, flags: Tensor) -> Tensor:
        batch = len(self._batch_shape)
        return flags.amax(tuple(range(-batch, 0))) if batch else flags

    def _log_scale(self) -> Tensor:
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        return self._event_shape[-1] * math.log(2) / 2 + diagonal.log().sum(-1)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        size = self._event_shape[-1]
        solved = cholesky_solve(value, self._unbroadcasted_scale_tril)
        return (
            -self.df * self._log_scale()
            - multigammaln(self.df / 2, size)
            + (self.df - size - 1) / 2 * linalg.slogdet(value)[1]
            - solved.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self) -> Tensor:
        size, half = self._event_shape[-1], self.df / 2
        digammas = (half.unsqueeze(-1) - arange(size, dtype=half.dtype) / 2).digamma().sum(-1)
        return (
            (size + 1) * self._log_scale()
            + multigammaln(half, size)
            - (self.df - size - 1) / 2 * digammas
            + self.df * size / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        size = self._event_shape[-1]
        degrees = y + (size + 1) / 2
        return degrees * (size * math.log(2) - linalg.slogdet(-2 * x)[1]) + multigammaln(
            degrees, size
        )
