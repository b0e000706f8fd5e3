"""The older name of `torch.ao.quantization`."""

from typing import Any

from .ao import quantization as _now


def __getattr__(name: str) -> Any:
    return getattr(_now, name)
