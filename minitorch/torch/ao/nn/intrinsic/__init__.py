"""Layers that are quantized as one: what `fuse_modules` makes, in float."""

from __future__ import annotations

from ....lazy_attributes import lazy_attributes
from ....nn import Sequential


class _FusedModule(Sequential):
    """Layers in order that are quantized as one."""


_NAMES = ["LinearReLU", *(f"{kind}{n}d" for kind in ("ConvBn", "ConvBnReLU", "ConvReLU") for n in (1, 2, 3))]  # fmt: skip
globals().update({n: type(n, (_FusedModule,), {"__module__": __name__, "__doc__": f"The layers of {n} in order."}) for n in _NAMES})  # fmt: skip

__getattr__ = lazy_attributes(__name__, ("qat", "quantized"))
