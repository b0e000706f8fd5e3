"""The older name of `torch.ao.nn.quantized`."""

from typing import Any

from ..ao.nn import quantized as _now


def __getattr__(name: str) -> Any:
    return getattr(_now, name)
