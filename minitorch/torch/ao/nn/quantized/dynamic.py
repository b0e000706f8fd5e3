"""Layers with quantized weights that take and give numbers: the input is quantized by its own range at each call."""

from __future__ import annotations

from typing import Any

from .... import dtypes
from ....nn import functional as F
from ....nn.modules.module import Module
from ....ops import FUNCTIONS
from ....quantized_tensor import QuantizedTensor, product, quantize_per_tensor_dynamic
from ....tensor import Tensor, wrap
from .. import quantized
from . import quantized_weight


def linear(x: Tensor, weight: QuantizedTensor, bias: Tensor | None) -> Tensor:
    """A linear function of an input that is quantized first, with one bit less than there is."""
    if x.numel() == 0:
        return x.new_zeros((*x.shape[:-1], weight.shape[0]))
    whole = quantize_per_tensor_dynamic(x, dtypes.NAMES["quint8"], True)
    return wrap(product(whole, weight, bias, F.linear, -1))


class Linear(quantized.Linear):
    """A linear layer."""

    _version = 4

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight(), self.bias())

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.weight().dtype}, qscheme={self.weight().qscheme()}"


class LSTM(Module):
    """An LSTM: the inputs of all steps are quantized together, the hidden state at each step."""

    _options = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LSTM:
        """One with the weights of another LSTM."""
        if mod.proj_size:
            raise NotImplementedError("a quantized LSTM has no projections")
        made = cls()
        for name in cls._options:
            setattr(made, name, getattr(mod, name))
        made.training, made._cells = mod.training, {}
        for layer in range(mod.num_layers):
            for end in ("", "_reverse")[: 1 + mod.bidirectional]:
                made._cells[f"l{layer}{end}"] = [
                    (_observed(mod, f"weight_{kind}_l{layer}{end}"), _detached(mod, f"bias_{kind}_l{layer}{end}"))
                    for kind in ("ih", "hh")
                ]  # fmt: skip
        return made

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        stack, zeros = FUNCTIONS["stack"], FUNCTIONS["zeros"]
        batched = input.ndim == 3
        x = input if batched else input.unsqueeze(1)
        x = x.transpose(0, 1) if self.batch_first and batched else x  # (T, B, input_size)
        shape = (len(self._cells), x.shape[1], self.hidden_size)
        h0, c0 = (zeros(shape), zeros(shape)) if hx is None else (t.reshape(shape) for t in hx)
        ends: list[Any] = []
        for layer in range(self.num_layers):
            both = [self._run(f"l{layer}{end}", x, h0, c0, ends) for end in ("", "_reverse")[: 1 + self.bidirectional]]  # fmt: skip
            x = FUNCTIONS["cat"](both, -1) if len(both) > 1 else both[0]
        h, c = (stack([each[i] for each in ends]) for i in (0, 1))
        if not batched:
            return x.squeeze(1), (h.squeeze(1), c.squeeze(1))
        return x.transpose(0, 1) if self.batch_first else x, (h, c)

    def _run(self, name: str, x: Tensor, h0: Tensor, c0: Tensor, ends: list[Any]) -> Tensor:
        """One direction of one layer: what it gives at each step."""
        (w_ih, b_ih), (w_hh, b_hh) = self._cells[name]
        h, c, given = h0[len(ends)], c0[len(ends)], linear(x, w_ih, b_ih)
        order = range(len(x))
        found: dict[int, Tensor] = {}
        for step in reversed(order) if name.endswith("reverse") else order:
            i, f, g, o = (given[step] + linear(h, w_hh, b_hh)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            found[step] = h = o.sigmoid() * c.tanh()
        ends.append((h, c))
        return FUNCTIONS["stack"]([found[step] for step in order])

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, pairs in self._cells.items():
            destination.update(zip(_keys(prefix, name), pairs, strict=True))

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in self._cells:
            self._cells[name] = [state_dict.pop(key) for key in _keys(prefix, name)]
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _get_name(self) -> str:
        return "DynamicQuantizedLSTM"

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"


def _keys(prefix: str, cell: str) -> tuple[str, str]:
    return f"{prefix}{cell}.ih", f"{prefix}{cell}.hh"


def _observed(mod: Any, name: str) -> QuantizedTensor:
    observer, weight = mod.qconfig.weight(), getattr(mod, name).detach()
    observer(weight)
    return quantized_weight(weight, observer)


def _detached(mod: Any, name: str) -> Tensor | None:
    return getattr(mod, name).detach() if mod.bias else None
