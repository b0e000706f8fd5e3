"""The classes that modules of quantization are told by; no module here is one, unless a program makes it so."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .. import dtypes
from ..nn.modules.module import Module
from ..tensor import Tensor


class ObserverBase(ABC, Module):
    """A module that looks at tensors and finds a scale and a zero point for them."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Look at a tensor, and give it back."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point for what was seen."""


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


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(
        f"torch.ao.quantization has no {name!r} in minitorch.torch: there are no quantized tensors or modules here. "
        "Train with rounded numbers by torch.fake_quantize_per_tensor_affine or torch.fake_quantize_per_channel_affine."
    )
