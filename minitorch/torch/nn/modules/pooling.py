"""Pooling: the maximum, mean or p-norm of each window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .layer import as_many, layer
from .module import Module


class _Pool(Module):
    """The base class of poolings; subclasses set the number of dimensions and the function."""

    _dims: int
    _function: Callable[..., Any]


# --- The largest ---------------------------------------------------------------------------------


@layer(
    shows="kernel_size={kernel_size}, stride={stride}, padding={padding}, dilation={dilation}, "
    "ceil_mode={ceil_mode}"
)
class _MaxPoolNd(_Pool):
    """The maximum of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    dilation: Any = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def _settle(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Any:
        return self._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation,
            ceil_mode=self.ceil_mode, return_indices=self.return_indices,
        )  # fmt: skip


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window of sequences."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window of images."""

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window of volumes."""

    _function = staticmethod(F.max_pool3d)


@layer(shows="kernel_size={kernel_size}, stride={stride}, padding={padding}")
class _MaxUnpoolNd(_Pool):
    """The partial inverse of max pooling: zeros, with each value at its index."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0

    def _settle(self) -> None:
        stride = self.kernel_size if self.stride is None else self.stride
        self.kernel_size = as_many(self.kernel_size, self._dims)
        self.stride = as_many(stride, self._dims)
        self.padding = as_many(self.padding, self._dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool1d`: zeros, with each value at its index."""

    _dims, _function = 1, staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool2d`: zeros, with each value at its index."""

    _dims, _function = 2, staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of `MaxPool3d`: zeros, with each value at its index."""

    _dims, _function = 3, staticmethod(F.max_unpool3d)


@layer()
class _FractionalMaxPoolNd(_Pool):
    """The maximum of each window, with random positions of windows."""

    kernel_size: Any
    output_size: Any = None
    output_ratio: Any = None
    return_indices: bool = False
    _random_samples: Any = None

    def _settle(self) -> None:
        self.register_buffer("_random_samples", self.__dict__.pop("_random_samples"))
        self.kernel_size = as_many(self.kernel_size, self._dims)
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
            self.output_size = as_many(self.output_size, self._dims)
        else:
            self.output_ratio = as_many(ratio, self._dims)
            if not all(0 < r < 1 for r in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")

    def forward(self, input: Tensor) -> Any:
        return self._function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            _random_samples=self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maximum of each window of images, with random positions of windows."""

    _dims, _function = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The maximum of each window of volumes, with random positions of windows."""

    _dims, _function = 3, staticmethod(F.fractional_max_pool3d)


# --- The mean ------------------------------------------------------------------------------------

_AVERAGE = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


@layer(shows=_AVERAGE)
class AvgPool1d(Module):
    """The mean of each window of sequences."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def _settle(self) -> None:
        stride = self.kernel_size if self.stride is None else self.stride
        self.kernel_size, self.stride, self.padding = (
            as_many(x, 1) for x in (self.kernel_size, stride, self.padding)
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )  # fmt: skip


@layer(shows=_AVERAGE)
class _AvgPoolNd(_Pool):
    """The mean of each window."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    def _settle(self) -> None:
        if self.stride is None:
            self.stride = self.kernel_size

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_AvgPoolNd):
    """The mean of each window of images."""

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window of volumes."""

    _function = staticmethod(F.avg_pool3d)


# --- A norm --------------------------------------------------------------------------------------


@layer(
    shows="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"
)
class _LPPoolNd(_Pool):
    """The p-norm of each window."""

    norm_type: float
    kernel_size: Any
    stride: Any = None
    ceil_mode: bool = False

    def forward(self, input: Tensor) -> Tensor:
        return self._function(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window of sequences."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of images."""

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of volumes."""

    _function = staticmethod(F.lp_pool3d)


# --- To a size -----------------------------------------------------------------------------------


@layer(shows="output_size={output_size}")
class _AdaptiveMaxPoolNd(_Pool):
    """The maximum of each window, for an output of a given size."""

    output_size: Any
    return_indices: bool = False

    def forward(self, input: Tensor) -> Any:
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum of each window of sequences, for an output of a given length."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum of each window of images, for an output of a given size."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum of each window of volumes, for an output of a given size."""

    _function = staticmethod(F.adaptive_max_pool3d)


@layer(shows="output_size={output_size}")
class _AdaptiveAvgPoolNd(_Pool):
    """The mean of each window, for an output of a given size."""

    output_size: Any

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each window of sequences, for an output of a given length."""

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each window of images, for an output of a given size."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each window of volumes, for an output of a given size."""

    _function = staticmethod(F.adaptive_avg_pool3d)
