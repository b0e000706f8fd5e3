"""Where a network's numbers become whole numbers, and numbers again."""

from __future__ import annotations

from typing import Any

from ...nn.modules.module import Module


class QuantStub(Module):
    """An observer until `convert` makes it a quantization."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class DeQuantStub(QuantStub):
    """Nothing, until `convert` makes it the way back to numbers."""


class QuantWrapper(Module):
    """A module between the two."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        if getattr(module, "qconfig", None):
            self.qconfig = module.qconfig
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
        self.train(module.training)

    def forward(self, x: Any) -> Any:
        return self.dequant(self.module(self.quant(x)))
