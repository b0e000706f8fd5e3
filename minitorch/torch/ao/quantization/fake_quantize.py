"""Modules that round tensors as their quantized form would, in their own type, with gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ... import dtypes
from ...environment import per_channel_symmetric, per_tensor_symmetric
from ...nn.modules.module import Module
from ...ops.fake_quantization import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
)
from ...quantized_tensor import PER_CHANNEL, limits, range_parameters
from ...tensor import Tensor, wrap
from .observer import (
    SYMMETRIC,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _with_args,
    qint8,
    quint8,
)


class FakeQuantizeBase(ABC, Module):
    """A module that rounds tensors as their quantized form would, in their own type."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, Tensor([1]).to(dtypes.uint8))

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """The rounded tensor."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point that it rounds by."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on, or not."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Round no more."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Look at tensors from now on, or not."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Look at tensors no more."""
        self.enable_observer(False)

    with_args = classmethod(_with_args)


class FakeQuantize(FakeQuantizeBase):
    """Rounds by the scale and zero point that an observer finds.

    Args:
        observer: the observer's class
        quant_min: the least whole number
        quant_max: the largest
        observer_kwargs: for the observer
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None, quant_max: int | None = None,
        is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            least, largest = limits(observer_kwargs.get("dtype", quint8))
            if not least <= quant_min <= quant_max <= largest:
                raise AssertionError("quant_min or quant_max out of bound")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        found = self.activation_post_process = observer(is_dynamic=is_dynamic, **observer_kwargs)
        self.quant_min, self.quant_max, self.is_dynamic = found.quant_min, found.quant_max, is_dynamic  # fmt: skip
        self.dtype, self.qscheme, self.ch_axis = found.dtype, found.qscheme, getattr(found, "ch_axis", -1)  # fmt: skip
        self.is_per_channel = self.qscheme in PER_CHANNEL
        self.register_buffer("scale", wrap(np.ones(1, np.float32)))
        self.register_buffer("zero_point", wrap(np.zeros(1, np.int32)))

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """The scale and the zero point that the observer finds."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, x: Tensor) -> Tensor:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(x.detach())
            self._keep(*self._found())
        if self.fake_quant_enabled[0] != 1:
            return x
        bounds = self.quant_min, self.quant_max
        if self.is_per_channel:
            return fake_quantize_per_channel_affine(x, self.scale, self.zero_point, self.ch_axis, *bounds)  # fmt: skip
        return fake_quantize_per_tensor_affine(x, self.scale, self.zero_point, *bounds)

    def _found(self) -> Any:
        return self.calculate_qparams()

    def _keep(self, scale: Tensor, zero_point: Tensor) -> None:
        self.scale, self.zero_point = scale, zero_point.to(dtypes.int32)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """The same with averages that forget, and scales as PyTorch's fused kernel chooses them."""

    def __init__(self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255, **kwargs: Any) -> None:  # fmt: skip
        super().__init__(observer, quant_min, quant_max, **kwargs)
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, wrap(np.ones(1, np.int64)))

    def _found(self) -> tuple[Tensor, Tensor]:
        seen = self.activation_post_process
        pairs = zip(np.atleast_1d(seen.min_val._array), np.atleast_1d(seen.max_val._array), strict=True)  # fmt: skip
        symmetric = self.qscheme in SYMMETRIC
        found = [range_parameters(float(low), float(high), self.quant_min, self.quant_max, symmetric) for low, high in pairs]  # fmt: skip
        scales, zero_points = zip(*found, strict=True)
        return wrap(np.array(scales, np.float32)), wrap(np.array(zero_points, np.int32))


_ACTIVATION: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": quint8}  # fmt: skip
_WEIGHT: dict[str, Any] = {"quant_min": -128, "quant_max": 127, "dtype": qint8}
_ONE: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "qscheme": per_tensor_symmetric, **_WEIGHT}  # fmt: skip
_EACH: dict[str, Any] = {"observer": MovingAveragePerChannelMinMaxObserver, "qscheme": per_channel_symmetric, **_WEIGHT}  # fmt: skip

default_fake_quant = FakeQuantize.with_args(**_ACTIVATION, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(**_ONE)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_EACH, ch_axis=0)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ACTIVATION)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_ONE)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_EACH)
