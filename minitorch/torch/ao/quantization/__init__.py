"""Eager quantization, after training (`prepare`, `convert`), in training (`prepare_qat`) and of weights only (`quantize_dynamic`).

The whole numbers are those of PyTorch's x86 kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fake_quantize import FakeQuantize as FakeQuantize
from .fake_quantize import FakeQuantizeBase as FakeQuantizeBase
from .fake_quantize import FusedMovingAvgObsFakeQuantize as FusedMovingAvgObsFakeQuantize
from .fake_quantize import default_fake_quant as default_fake_quant
from .fake_quantize import (
    default_per_channel_weight_fake_quant as default_per_channel_weight_fake_quant,
)
from .fake_quantize import default_weight_fake_quant as default_weight_fake_quant
from .fuse_modules import fuse_modules as fuse_modules
from .fuse_modules import fuse_modules_qat as fuse_modules_qat
from .observer import HistogramObserver as HistogramObserver
from .observer import MinMaxObserver as MinMaxObserver
from .observer import MovingAverageMinMaxObserver as MovingAverageMinMaxObserver
from .observer import (
    MovingAveragePerChannelMinMaxObserver as MovingAveragePerChannelMinMaxObserver,
)
from .observer import NoopObserver as NoopObserver
from .observer import ObserverBase as ObserverBase
from .observer import PerChannelMinMaxObserver as PerChannelMinMaxObserver
from .observer import PlaceholderObserver as PlaceholderObserver
from .observer import UniformQuantizationObserverBase as UniformQuantizationObserverBase
from .observer import default_dynamic_quant_observer as default_dynamic_quant_observer
from .observer import default_histogram_observer as default_histogram_observer
from .observer import default_observer as default_observer
from .observer import default_per_channel_weight_observer as default_per_channel_weight_observer
from .observer import default_placeholder_observer as default_placeholder_observer
from .observer import default_weight_observer as default_weight_observer
from .qconfig import QConfig as QConfig
from .qconfig import default_dynamic_qconfig as default_dynamic_qconfig
from .qconfig import default_per_channel_qconfig as default_per_channel_qconfig
from .qconfig import default_qat_qconfig as default_qat_qconfig
from .qconfig import default_qconfig as default_qconfig
from .qconfig import get_default_qat_qconfig as get_default_qat_qconfig
from .qconfig import get_default_qconfig as get_default_qconfig
from .qconfig import per_channel_dynamic_qconfig as per_channel_dynamic_qconfig
from .quantize import add_quant_dequant as add_quant_dequant
from .quantize import convert as convert
from .quantize import (
    get_default_dynamic_quant_module_mappings as get_default_dynamic_quant_module_mappings,
)
from .quantize import get_default_qat_module_mappings as get_default_qat_module_mappings
from .quantize import (
    get_default_static_quant_module_mappings as get_default_static_quant_module_mappings,
)
from .quantize import prepare as prepare
from .quantize import prepare_qat as prepare_qat
from .quantize import propagate_qconfig_ as propagate_qconfig_
from .quantize import quantize as quantize
from .quantize import quantize_dynamic as quantize_dynamic
from .quantize import quantize_qat as quantize_qat
from .quantize import swap_module as swap_module
from .stubs import DeQuantStub as DeQuantStub
from .stubs import QuantStub as QuantStub
from .stubs import QuantWrapper as QuantWrapper


def _for_apply(name: str) -> Callable[[Any], None]:
    """A function for `model.apply`: it calls a method of each module that rounds."""

    def call(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    call.__name__ = call.__qualname__ = name
    call.__doc__ = getattr(FakeQuantizeBase, name).__doc__
    return call


disable_fake_quant = _for_apply("disable_fake_quant")
enable_fake_quant = _for_apply("enable_fake_quant")
disable_observer = _for_apply("disable_observer")
enable_observer = _for_apply("enable_observer")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    raise AttributeError(
        f"torch.ao.quantization has no {name!r} in minitorch.torch: quantization is eager, of linear layers, convolutions and LSTMs"
    )
