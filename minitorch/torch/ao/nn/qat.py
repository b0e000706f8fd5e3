"""Layers that train with rounded weights."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...nn import functional as F
from ...tensor import Tensor


class Rounded:
    """A layer whose weight is rounded by what its `qconfig` says; in fused ones, ReLU follows."""

    relu = False

    @classmethod
    def from_float(cls: Any, module: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """One with the weights and options of another layer, or of the first of a fused module."""
        layer = module[0] if isinstance(module, nn.Sequential) else module
        made = cls.__new__(cls)
        made.__dict__.update(layer.__dict__)
        for table in ("_parameters", "_buffers", "_modules"):
            made.__dict__[table] = dict(layer.__dict__[table])
        made.qconfig, made.training = module.qconfig, module.training
        made.weight_fake_quant = module.qconfig.weight()
        return made

    def forward(self: Any, input: Tensor) -> Tensor:
        result = self._computed(input)
        return F.relu(result) if self.relu else result

    def _computed(self: Any, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Linear(Rounded, nn.Linear):
    """A linear layer with a rounded weight."""

    def _computed(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)


class Conv1d(Rounded, nn.Conv1d):
    """A convolution with a rounded weight."""


class Conv2d(Rounded, nn.Conv2d):
    """A convolution with a rounded weight."""


class Conv3d(Rounded, nn.Conv3d):
    """A convolution with a rounded weight."""
