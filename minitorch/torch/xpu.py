"""Torch's questions about Intel's GPUs: tensors do not live there."""

from __future__ import annotations

from typing import Any

from .legacy import TYPES


def is_available() -> bool:
    """Whether tensors can live on such a GPU."""
    return False


def device_count() -> int:
    """How many such GPUs there are."""
    return 0


def is_initialized() -> bool:
    """Whether such GPUs are in use."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether such a GPU computes in bfloat16."""
    return False


def empty_cache() -> None:
    """Nothing is kept."""


def manual_seed(seed: int) -> None:
    """There is no generator to seed, as where `torch.cuda` finds no GPU."""


manual_seed_all = manual_seed


def __getattr__(name: str) -> Any:
    """`xpu.FloatTensor` and its like: no tensor is one."""
    if name in TYPES:
        return type(name, (), {"__module__": "torch.xpu", "__doc__": "No tensor is one."})
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
