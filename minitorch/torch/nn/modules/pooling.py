"""Pooling: the maximum, mean or p-norm of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .layer import Variants, as_tuple, layer
from .module import Module

# --- The largest ---------------------------------------------------------------------------------


@layer(
    shows="kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
    "ceil_mode={ceil_mode}"
)
class _MaxPoolNd(Module):
    """The maximum of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def _normalize_arguments(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


@layer(F.max_pool1d)
class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of sequences."""


@layer(F.max_pool2d)
class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of images."""


@layer(F.max_pool3d)
class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of volumes."""


@layer(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}")
class _MaxUnpoolNd(Variants, Module):
    """The partial inverse of max pooling: zeros, with each value at its index."""

    _dims: ClassVar[int]
    _function: ClassVar[Callable[..., Tensor]]
    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    def _normalize_arguments(self) -> None:
        stride = self.kernel_size if self.stride is None else self.stride
        self.kernel_size = as_tuple(self.kernel_size, self._dims)
        self.stride = as_tuple(stride, self._dims)
        self.padding = as_tuple(self.padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(_MaxUnpoolNd, dims=1, function=F.max_unpool1d):
    """The partial inverse of `MaxPool1d`: zeros, with each value at its index."""


class MaxUnpool2d(_MaxUnpoolNd, dims=2, function=F.max_unpool2d):
    """The partial inverse of `MaxPool2d`: zeros, with each value at its index."""


class MaxUnpool3d(_MaxUnpoolNd, dims=3, function=F.max_unpool3d):
    """The partial inverse of `MaxPool3d`: zeros, with each value at its index."""


@layer()
class _FractionalMaxPoolNd(Variants, Module):
    """The maximum of each window, with random positions of windows."""

    _dims: ClassVar[int]
    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Any = None

    def _normalize_arguments(self) -> None:
        self.register_buffer("_random_samples", self.__dict__.pop("_random_samples"))
        self.kernel_size = as_tuple(self.kernel_size, self._dims)
        if any(not k > 0 for k in self.kernel_size):
            raise ValueError(f"kernel_size must be greater than 0, but got {self.kernel_size}")
        ratio = self.output_ratio
        if self.output_size is None and ratio is None:
            raise ValueError(
                f"{type(self).__name__} requires specifying either an output size, or a pooling ratio"
            )
        if self.output_size is not None and ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_size is not None:
            self.output_size = as_tuple(self.output_size, self._dims)
        else:
            self.output_ratio = as_tuple(ratio, self._dims)
            if not all(0 < r < 1 for r in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")


@layer(F.fractional_max_pool2d)
class FractionalMaxPool2d(_FractionalMaxPoolNd, dims=2):
    """The maximum of each window of images, with random positions of windows."""


@layer(F.fractional_max_pool3d)
class FractionalMaxPool3d(_FractionalMaxPoolNd, dims=3):
    """The maximum of each window of volumes, with random positions of windows."""


# --- The mean ------------------------------------------------------------------------------------

_AVERAGE = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


@layer(F.avg_pool1d, shows=_AVERAGE)
class AvgPool1d(Module):
    """The mean of each window of sequences."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def _normalize_arguments(self) -> None:
        stride = self.kernel_size if self.stride is None else self.stride
        self.kernel_size, self.stride, self.padding = (
            as_tuple(x, 1) for x in (self.kernel_size, stride, self.padding)
        )


@layer(shows=_AVERAGE)
class _AvgPoolNd(Module):
    """The mean of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    def _normalize_arguments(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size


@layer(F.avg_pool2d)
class AvgPool2d(_AvgPoolNd):
    """The mean of each window of images."""


@layer(F.avg_pool3d)
class AvgPool3d(_AvgPoolNd):
    """The mean of each window of volumes."""


# --- A norm --------------------------------------------------------------------------------------


@layer(
    shows="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"
)
class _LPPoolNd(Module):
    """The p-norm of each window."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False


@layer(F.lp_pool1d)
class LPPool1d(_LPPoolNd):
    """The p-norm of each window of sequences."""


@layer(F.lp_pool2d)
class LPPool2d(_LPPoolNd):
    """The p-norm of each window of images."""


@layer(F.lp_pool3d)
class LPPool3d(_LPPoolNd):
    """The p-norm of each window of volumes."""


# --- To a size -----------------------------------------------------------------------------------


@layer(shows="output_size={output_size}")
class _AdaptiveMaxPoolNd(Module):
    """The maximum of each window, for an output of a given size."""

    output_size: Any
    return_indices: bool = False


@layer(F.adaptive_max_pool1d)
class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum of each window of sequences, for an output of a given length."""


@layer(F.adaptive_max_pool2d)
class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum of each window of images, for an output of a given size."""


@layer(F.adaptive_max_pool3d)
class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum of each window of volumes, for an output of a given size."""


@layer(shows="output_size={output_size}")
class _AdaptiveAvgPoolNd(Module):
    """The mean of each window, for an output of a given size."""

    output_size: Any


@layer(F.adaptive_avg_pool1d)
class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each window of sequences, for an output of a given length."""


@layer(F.adaptive_avg_pool2d)
class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each window of images, for an output of a given size."""


@layer(F.adaptive_avg_pool3d)
class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each window of volumes, for an output of a given size."""
