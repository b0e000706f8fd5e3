"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .layer import Variants, add_parameters, as_tuple
from .lazy import LazyModuleMixin
from .linear import draw_within
from .module import Module

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Variants, Module):
    """The base class of convolutions; subclasses set `_dims` and `_function`."""

    __constants__: ClassVar = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels",
        "out_channels", "kernel_size",
    ]  # fmt: skip
    _dims: int
    _function: Callable[..., Tensor]
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_groups(in_channels, out_channels, groups)
        _check_padding(padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = _both_sides(padding, kernel_size, dilation)
        shapes = {"weight": self._weight_shape(), "bias": (out_channels,) if bias else None}
        add_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw the weight and the bias uniformly from +-1 / sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            draw_within(self.bias, fan_in)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        usual = (0,) * len(self.kernel_size)
        for name, default in (
            ("padding", usual), ("dilation", tuple(x + 1 for x in usual)), ("output_padding", usual), ("groups", 1)
        ):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check_groups(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups:
        raise ValueError("out_channels must be divisible by groups")


def _check_padding(padding: Any, stride: tuple[int, ...], mode: str) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if mode not in _PADDING_MODES:
        raise ValueError(
            f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{mode}'"
        )


def _both_sides(padding: Any, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> list[int]:
    """The padding in the order of `F.pad`: the last dimension first, left and right of each."""
    sides: list[int] = []
    if not isinstance(padding, str):
        for width in reversed(padding):
            sides += [width, width]
        return sides
    for size, spread in zip(reversed(kernel), reversed(dilation), strict=True):
        total = spread * (size - 1) if padding == "same" else 0
        sides += [total // 2, total - total // 2]
    return sides


class _Convolution(_ConvNd):
    """A convolution; the subclass sets the number of dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        dims = self._dims
        padding = padding if isinstance(padding, str) else as_tuple(padding, dims)
        sizes = (
            as_tuple(kernel_size, dims),
            as_tuple(stride, dims),
            padding,
            as_tuple(dilation, dims),
        )
        rest = (False, (0,) * dims, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, *sizes, *rest)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            sides = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, sides, mode=self.padding_mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution, dims=1, function=F.conv1d):
    """A convolution over sequences (N, C, L)."""


class Conv2d(_Convolution, dims=2, function=F.conv2d):
    """A convolution over images (N, C, H, W)."""


class Conv3d(_Convolution, dims=3, function=F.conv3d):
    """A convolution over volumes (N, C, D, H, W)."""


# --- Transposed ----------------------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution; the subclass sets the number of dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        dims = self._dims
        _ConvNd.__init__(
            self, in_channels, out_channels, as_tuple(kernel_size, dims), as_tuple(stride, dims),
            as_tuple(padding, dims), as_tuple(dilation, dims), True, as_tuple(output_padding, dims),
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> Any:
        """The output padding that gives the output a size."""
        if output_size is None:
            return self.output_padding
        dims = self._dims
        batched = input.ndim == dims + 2
        if len(output_size) == (2 if batched else 1) + dims:
            output_size = output_size[-dims:]
        if len(output_size) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or "
                f"{(2 if batched else 1) + dims} elements (got {len(output_size)})"
            )
        padding: Any = self.padding
        least = [
            (size - 1) * step - 2 * width + spread * (kernel - 1) + 1
            for size, step, width, spread, kernel in zip(
                input.shape[-dims:], self.stride, padding, self.dilation, self.kernel_size, strict=True
            )
        ]  # fmt: skip
        most = [low + step - 1 for low, step in zip(least, self.stride, strict=True)]
        for wanted, low, high in zip(output_size, least, most, strict=True):
            if not low <= wanted <= high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {least} "
                    f"to {most} (for an input of {input.shape[2:]})"
                )
        return [wanted - low for wanted, low in zip(output_size, least, strict=True)]

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd, dims=1, function=F.conv_transpose1d):
    """A transposed convolution over sequences (N, C, L)."""


class ConvTranspose2d(_ConvTransposeNd, dims=2, function=F.conv_transpose2d):
    """A transposed convolution over images (N, C, H, W)."""


class ConvTranspose3d(_ConvTransposeNd, dims=3, function=F.conv_transpose3d):
    """A transposed convolution over volumes (N, C, D, H, W)."""


# --- Lazy ----------------------------------------------------------------------------------------


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution that takes `in_channels` from its first input."""

    groups: int
    in_channels: int
    out_channels: int
    weight: Any
    bias: Any
    _dims: int

    def reset_parameters(self) -> None:
        """Initialize the parameters, if they have shapes."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:  # type: ignore[override]
        module: Any = self
        if self.has_uninitialized_params():
            self.in_channels = self._get_in_channels(input)
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            self.weight.materialize(module._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        dims = self._dims
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[-dims - 1]


class LazyConv1d(_LazyConvXdMixin, Conv1d, becomes=Conv1d):
    """`Conv1d` that takes `in_channels` from its first input."""


class LazyConv2d(_LazyConvXdMixin, Conv2d, becomes=Conv2d):
    """`Conv2d` that takes `in_channels` from its first input."""


class LazyConv3d(_LazyConvXdMixin, Conv3d, becomes=Conv3d):
    """`Conv3d` that takes `in_channels` from its first input."""


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d, becomes=ConvTranspose1d):
    """`ConvTranspose1d` that takes `in_channels` from its first input."""


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d, becomes=ConvTranspose2d):
    """`ConvTranspose2d` that takes `in_channels` from its first input."""


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d, becomes=ConvTranspose3d):
    """`ConvTranspose3d` that takes `in_channels` from its first input."""
