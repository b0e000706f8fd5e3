"""The older name of `torch.ao.nn.qat`."""

from typing import Any

from ..ao.nn import qat as _now


def __getattr__(name: str) -> Any:
    return getattr(_now, name)
