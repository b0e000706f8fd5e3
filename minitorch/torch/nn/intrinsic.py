"""The older name of `torch.ao.nn.intrinsic`."""

from typing import Any

from ..ao.nn import intrinsic as _now


def __getattr__(name: str) -> Any:
    return getattr(_now, name)
