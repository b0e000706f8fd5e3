"""The normal distribution of vectors, with a covariance that is nearly diagonal."""

from __future__ import annotations

import math
from typing import Any

from ..linalg import cholesky, solve_triangular
from ..ops.movement import broadcast_tensors
from ..ops.ranges import eye
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated
from .multivariate_normal import squared_distance
from .utils import lazy_property, standard_normal


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with covariance W Wᵀ + D, for a thin W and a diagonal D."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        _check(loc, cov_factor, cov_diag)
        try:
            columns = loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            spread, self.cov_factor, diagonal = broadcast_tensors(*columns)
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                f"{cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = spread[..., 0], diagonal[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        super().__init__(self.loc.shape[:-1], loc.shape[-1:], validate_args=validate_args)

    @lazy_property
    def _scaled_factor(self) -> Tensor:
        """Wᵀ D⁻¹."""
        return self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of Wᵀ D⁻¹ W + 1."""
        inner = self._scaled_factor @ self._unbroadcasted_cov_factor
        return cholesky(inner + eye(inner.shape[-1], dtype=inner.dtype))

    def _expanded(self, x: Tensor, event: Size) -> Tensor:
        return x.expand(self._batch_shape + event)

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return self._expanded(squares, self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        whole = factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed()
        return self._expanded(whole, self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        a = solve_triangular(self._capacitance_tril, self._scaled_factor, upper=False)
        inverse = self._unbroadcasted_cov_diag.reciprocal().diag_embed() - a.mT @ a
        return self._expanded(inverse, self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        kind = self.loc.dtype
        thin = standard_normal(shape[:-1] + self.cov_factor.shape[-1:], kind)
        wide = standard_normal(shape, kind)
        spread = (self._unbroadcasted_cov_factor @ thin.unsqueeze(-1)).squeeze(-1)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * wide

    @property
    def _log_determinant(self) -> Tensor:
        inner = self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 2 * inner + self._unbroadcasted_cov_diag.log().sum(-1)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        apart = value - self.loc
        inner = (self._scaled_factor @ apart.unsqueeze(-1)).squeeze(-1)
        far = (apart.pow(2) / self._unbroadcasted_cov_diag).sum(-1)
        far = far - squared_distance(self._capacitance_tril, inner)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_determinant + far)

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        result = 0.5 * (size * (1 + math.log(2 * math.pi)) + self._log_determinant)
        return self._expanded(result, Size()) if self._batch_shape else result


def _check(loc: Tensor, cov_factor: Tensor, cov_diag: Tensor) -> None:
    if loc.ndim < 1:
        raise ValueError("loc must be at least one-dimensional.")
    if cov_factor.ndim < 2:
        raise ValueError(
            "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        )
    event = loc.shape[-1:]
    if cov_factor.shape[-2:-1] != event:
        raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
    if cov_diag.shape[-1:] != event:
        raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
