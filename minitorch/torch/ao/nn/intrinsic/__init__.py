"""Layers that are quantized as one: what `fuse_modules` makes, in float."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ....nn import Sequential


class _FusedModule(Sequential):
    """Layers in order that are quantized as one."""


_NAMES = ["LinearReLU", *(f"{kind}{n}d" for kind in ("ConvBn", "ConvBnReLU", "ConvReLU") for n in (1, 2, 3))]  # fmt: skip
globals().update({n: type(n, (_FusedModule,), {"__module__": __name__, "__doc__": f"The layers of {n} in order."}) for n in _NAMES})  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in ("qat", "quantized"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
