"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

from .. import linalg
from ..ops.linalg.factorizations import cholesky_inverse
from ..ops.movement import broadcast_shapes
from ..ops.ranges import eye
from ..tensor import Size, Tensor
from . import constraints
from .distribution import Distribution, validated
from .utils import lazy_property, standard_normal


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a matrix."""
    inverse = linalg.cholesky(precision.flip((-2, -1))).flip((-2, -1)).mT
    identity = eye(precision.shape[-1], dtype=precision.dtype)
    return linalg.solve_triangular(inverse, identity, upper=False)


def form_of(
    scale_tril: Tensor | None, covariance_matrix: Tensor | None, precision_matrix: Tensor | None
) -> tuple[str, Tensor]:
    """Which of three forms of a covariance is given, and it."""
    forms = {
        "scale_tril": scale_tril,
        "covariance_matrix": covariance_matrix,
        "precision_matrix": precision_matrix,
    }
    given = {name: matrix for name, matrix in forms.items() if matrix is not None}
    if len(given) != 1:
        raise ValueError(
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
        )
    ((name, matrix),) = given.items()
    if matrix.ndim < 2:
        raise ValueError(
            f"{name} must be at least two-dimensional, with optional leading batch dimensions"
        )
    return name, matrix


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of a covariance in one of its forms."""
    if name == "scale_tril":
        return matrix
    return (
        linalg.cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)
    )


def squared_distance(tril: Tensor, apart: Tensor) -> Tensor:
    """apartᵀ (tril trilᵀ)⁻¹ apart, for each place."""
    return linalg.solve_triangular(tril, apart.unsqueeze(-1), upper=False).square().sum((-2, -1))


class MultivariateNormal(Distribution):
    """The multivariate normal distribution, by its covariance, precision or Cholesky factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = form_of(scale_tril, covariance_matrix, precision_matrix)
        batch = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        size = loc.shape[-1]
        self.__dict__[name] = matrix.expand((*batch, size, size))
        self.loc = loc.expand((*batch, size))
        super().__init__(batch, (size,), validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _expanded(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._expanded(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return self._expanded(tril @ tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._expanded(cholesky_inverse(self._unbroadcasted_scale_tril))

    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + (self._unbroadcasted_scale_tril @ eps.unsqueeze(-1)).squeeze(-1)

    @property
    def _half_log_determinant(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        apart = value - self.loc
        far = squared_distance(self._unbroadcasted_scale_tril, apart)
        return (
            -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + far) - self._half_log_determinant
        )

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        result = 0.5 * size * (1 + math.log(2 * math.pi)) + self._half_log_determinant
        return result.expand(self._batch_shape) if len(self._batch_shape) else result
