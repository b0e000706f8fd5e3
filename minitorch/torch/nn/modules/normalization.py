"""Normalization over features, groups of channels and neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor, wrap
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import add_parameters, as_tuple, layer
from .module import Module


class _Affine(Module):
    """The base class of normalizations with a weight, initially 1, and a bias, initially 0."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Reset the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self._parameters["bias"])


class LayerNorm(_Affine):
    """The input normalized over the last dimensions, then scaled and shifted."""

    __constants__: ClassVar = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape = as_tuple(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = {
            "weight": shape if elementwise_affine else None,
            "bias": shape if elementwise_affine and bias else None,
        }
        add_parameters(self, device, dtype, **affine)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """The input divided by its root mean square over the last dimensions, then scaled."""

    __constants__: ClassVar = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = shape = as_tuple(normalized_shape, 1)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        add_parameters(self, device, dtype, weight=shape if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """Each group of channels of each example normalized, then scaled and shifted."""

    __constants__: ClassVar = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        size = (num_channels,)
        shapes = {"weight": size if affine else None, "bias": size if affine and bias else None}
        add_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


_NEIGHBOURS = "{size}, alpha={alpha}, beta={beta}, k={k}"


@layer(F.local_response_norm, shows=_NEIGHBOURS)
class LocalResponseNorm(Module):
    """Each element divided by (k + alpha times the mean square over neighbouring channels)^beta."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0


@layer(shows=_NEIGHBOURS)
class CrossMapLRN2d(Module):
    """The old version of `LocalResponseNorm` for images.

    It differs in that the first channel counts for all later ones, too.
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1

    def forward(self, input: Tensor) -> Tensor:
        channels = input.shape[1]
        reach = int((self.size - 1) / 2 + 1)
        apart = np.subtract.outer(np.arange(channels), np.arange(channels))
        counts = np.abs(apart) < reach
        counts[reach:, 0] = True
        counted = wrap(counts * (self.alpha / self.size)).to(input.device, input.dtype)
        squares = (counted @ input.square().flatten(2)).reshape(input.shape)
        return input * (squares + self.k).pow(-self.beta)
