"""Fused layers that train with rounded weights."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from .. import qat


class LinearReLU(qat.Linear):
    """A linear layer and ReLU."""

    relu = True


class _ConvBn(qat.Rounded):
    """A convolution whose weight is rounded with the factors of its batch norm in it, then batch norm."""

    @classmethod
    def from_float(cls, module: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """One with the parts of a fused module."""
        made = super().from_float(module)
        made.bn = module[1]
        return made

    def _computed(self: Any, input: Tensor) -> Tensor:
        factor = self.bn.weight / (self.bn.running_var + self.bn.eps).sqrt()
        rounded = self.weight_fake_quant(self.weight * factor.reshape(-1, *[1] * (self.weight.ndim - 1)))  # fmt: skip
        along = (1, -1, *[1] * (self.weight.ndim - 2))
        found = self._conv_forward(input, rounded, None) / factor.reshape(along)
        return self.bn(found if self.bias is None else found + self.bias.reshape(along))


for _n in (1, 2, 3):
    _conv = getattr(nn, f"Conv{_n}d")
    for _kind, _bases in (
        ("ConvBn", (_ConvBn, _conv)), ("ConvBnReLU", (_ConvBn, _conv)), ("ConvReLU", (qat.Rounded, _conv))
    ):  # fmt: skip
        _own = {"__module__": __name__, "__doc__": f"The layers of {_kind} with a rounded weight.", "relu": "ReLU" in _kind}  # fmt: skip
        globals()[f"{_kind}{_n}d"] = type(f"{_kind}{_n}d", _bases, _own)
