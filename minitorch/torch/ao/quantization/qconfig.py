"""Which observers a module gets, for its results and for its weight."""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import dtypes
from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
)
from .observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PlaceholderObserver,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

_BACKENDS = ("fbgemm", "x86", "qnnpack", "onednn")


class QConfig(NamedTuple):
    """What makes an observer for results, and one for weights."""

    activation: Any
    weight: Any


default_qconfig = QConfig(default_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)  # fmt: skip
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_weight_only_qconfig = QConfig(NoopObserver, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, NoopObserver)
float16_dynamic_qconfig = QConfig(PlaceholderObserver.with_args(dtype=dtypes.float32, is_dynamic=True), PlaceholderObserver.with_args(dtype=dtypes.float16))  # fmt: skip


def _check(backend: str, version: int, known: tuple[int, ...]) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {list(_BACKENDS)}")  # fmt: skip
    if version not in known:
        raise AssertionError(f"Version number: {version} is not supported. Version number must be one of {known}")  # fmt: skip


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The observers for quantization after training: one bit less on x86, whose products could overflow."""
    _check(backend, version, (0,))
    activation = HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86"))
    by_channel = backend != "qnnpack"
    return QConfig(activation, default_per_channel_weight_observer if by_channel else default_weight_observer)  # fmt: skip


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The fake quantization for training."""
    _check(backend, version, (0, 1))
    cls: Any = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    weights = (
        (default_fused_wt_fake_quant, default_fused_per_channel_wt_fake_quant)
        if version
        else (default_weight_fake_quant, default_per_channel_weight_fake_quant)
    )
    activation = cls.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=backend in ("fbgemm", "x86")
    )  # fmt: skip
    return QConfig(activation, weights[backend != "qnnpack"])
