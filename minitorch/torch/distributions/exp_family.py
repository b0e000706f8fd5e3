"""Distributions whose density is exp(parameters * statistics - normalizer(parameters))."""

from __future__ import annotations

from typing import Any

from ..autograd.backward import grad
from ..tensor import Tensor
from .distribution import Distribution


class ExponentialFamily(Distribution):
    """Such a distribution: entropy and divergence follow from the normalizer's derivative."""

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    _mean_carrier_measure: Any = property(lambda self: _missing())

    def entropy(self) -> Tensor:
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        slopes = grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for p, slope in zip(params, slopes, strict=True):
            result = result - (p * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result


def _missing() -> Any:
    raise NotImplementedError
