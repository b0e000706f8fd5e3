"""Recurrent networks, and their cells."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any, ClassVar

from ...amp.autocast_mode import is_any_autocast_enabled
from ...ops.surface import FUNCTIONS
from ...tensor import Tensor
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .layer import add_parameters
from .module import Module

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
"""The number of gates of each mode."""


def _draw_all(module: Any) -> None:
    """Draw all parameters uniformly from +-1 / sqrt(hidden_size)."""
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """The base class of RNN, LSTM and GRU: parameters, checks, and the call."""

    __constants__: ClassVar = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_kind("bias", bias, bool)
        _check_kind("batch_first", batch_first, bool)
        _check_sizes(input_size, hidden_size, num_layers, proj_size)
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes = self._shapes(layer, suffix)
                add_parameters(self, device, dtype, **shapes)
                self._all_weights.append(list(shapes))
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _shapes(self, layer: int, suffix: str) -> dict[str, tuple[int, ...]]:
        """The names and shapes of the parameters of a layer in one direction, in order."""
        gates, state = GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        given = self.input_size if layer == 0 else state * (1 + self.bidirectional)
        shapes = {"weight_ih": (gates, given), "weight_hh": (gates, state)}
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from +-1 / sqrt(hidden_size)."""
        _draw_all(self)

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, layer by layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Accepted without effect: parameters need not be contiguous in one block of memory."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = {name: value for name, value in state.items() if name != "_flat_weights"}
        super().__setstate__(own)
        self.__dict__.setdefault("proj_size", 0)

    # --- The call --------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The output of the last layer at all steps, and the last states of all layers."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.ndim not in (2, 3):
            what = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D{what} instead"
            )
        if input.ndim == 3:
            states = self._checked_states(input, hx, None)
            options = (*self._options(), self.batch_first)
            out, *last = self._function()(input, self._packed_up(states), *options)
            return out, self._packed_up(last)
        at = 0 if self.batch_first else 1
        given = None if hx is None else [state.unsqueeze(1) for state in self._unbatched(hx)]
        one = None if given is None else self._packed_up(given)
        out, last = RNNBase.forward(self, input.unsqueeze(at), one)
        return out.squeeze(at), self._packed_up([s.squeeze(1) for s in self._as_list(last)])

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        data, sizes, order, back = input
        states = self._checked_states(data, hx, sizes)
        if order is not None and hx is not None:
            states = [state.index_select(1, order) for state in states]
        out, *last = self._function()(data, sizes, self._packed_up(states), *self._options())
        if back is not None:
            last = [state.index_select(1, back) for state in last]
        return PackedSequence(out, sizes, order, back), self._packed_up(last)

    def _function(self) -> Any:
        return FUNCTIONS[self.mode.lower()]

    def _options(self) -> tuple[Any, ...]:
        return (
            self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        )  # fmt: skip

    # --- States: one for RNN and GRU, a pair for LSTM -----------------------------------------------

    def _as_list(self, hx: Any) -> list[Tensor]:
        return list(hx) if self.mode == "LSTM" else [hx]

    def _packed_up(self, states: list[Tensor]) -> Any:
        return tuple(states) if self.mode == "LSTM" else states[0]

    def _unbatched(self, hx: Any) -> list[Tensor]:
        states = self._as_list(hx)
        self._check_ranks(states, 2, "unbatched")
        return states

    def _check_ranks(self, states: list[Tensor], rank: int, what: str) -> None:
        if all(state.ndim == rank for state in states):
            return
        if self.mode == "LSTM":
            have = ", ".join(f"{state.ndim}-D" for state in states)
            raise RuntimeError(
                f"For {what} {rank}-D input, hx and cx should also be {rank}-D but got ({have}) tensors"
            )
        raise RuntimeError(
            f"For {what} {rank}-D input, hx should also be {rank}-D but got {states[0].ndim}-D tensor"
        )

    def _checked_states(self, input: Tensor, hx: Any, batch_sizes: Tensor | None) -> list[Tensor]:
        """The initial states, zeros by default; an error if their shapes are wrong."""
        self.check_input(input, batch_sizes)
        state = self.get_expected_hidden_size(input, batch_sizes)
        shapes = [state, (*state[:2], self.hidden_size)] if self.mode == "LSTM" else [state]
        if hx is None:
            return [input.new_zeros(shape) for shape in shapes]
        states = self._as_list(hx)
        if batch_sizes is None:
            self._check_ranks(states, 3, "batched")
        for k, (given, shape) in enumerate(zip(states, shapes, strict=True)):
            which = f"hidden[{k}]" if self.mode == "LSTM" else "hidden"
            self.check_hidden_size(given, shape, f"Expected {which} size {{}}, got {{}}")
        return states

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """An error for an input of the wrong dtype, rank or size."""
        kind = getattr(self, self._flat_weights_names[0]).dtype
        if input.dtype is not kind and not is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). "
                f"Convert input: input.to({kind}), or convert model: model.to({input.dtype})"
            )
        rank = 3 if batch_sizes is None else 2
        if input.ndim != rank:
            raise RuntimeError(f"input must have {rank} dimensions, got {input.ndim}")
        if self.input_size != input._array.shape[-1]:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input._array.shape[-1]}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of a state."""
        shape = input._array.shape
        batch = shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:  # fmt: skip
        """An error for a state of the wrong shape."""
        if hx._array.shape != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def extra_repr(self) -> str:
        shown = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}  # fmt: skip
        other = [f"{name}={getattr(self, name)}" for name, usual in shown.items()
                 if getattr(self, name) != usual]  # fmt: skip
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *other])


def _check_dropout(dropout: Any, num_layers: int) -> None:
    if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]  # fmt: skip
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )


def _check_kind(name: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")


def _check_sizes(input_size: Any, hidden_size: Any, num_layers: int, proj_size: int) -> None:
    for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
        _check_kind(name, size, int)
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def _refuse_projection(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """Layers of h' = tanh(W x + V h + b), or relu of it.

    Called as RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True,
    batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory.

    Called as LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0, device=None, dtype=None).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Layers of gated recurrent units.

    Called as GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


# --- Cells ------------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """One step of a recurrent network."""

    __constants__: ClassVar = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        one = (gates,) if bias else None
        shapes = {"weight_ih": (gates, input_size), "weight_hh": (gates, hidden_size)}
        add_parameters(self, device, dtype, **shapes, bias_ih=one, bias_hh=one)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from +-1 / sqrt(hidden_size)."""
        _draw_all(self)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += "" if self.bias is True else f", bias={self.bias}"
        curve = self.__dict__.get("nonlinearity", "tanh")
        return text if curve == "tanh" else f"{text}, nonlinearity={curve}"

    def _step(
        self, name: str, input: Tensor, states: list[Tensor] | None, labels: list[str]
    ) -> Any:
        """Call a cell's function on a batch; a single vector is a batch of one."""
        self._check_rank(input, "input")
        for state, label in zip(states or (), labels, strict=False):
            self._check_rank(state, label)
        single = input.ndim == 1
        x = input.unsqueeze(0) if single else input
        if states is None:
            states = [x.new_zeros((len(x), self.hidden_size)) for _ in labels]
        elif single:
            states = [state.unsqueeze(0) for state in states]
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        made = FUNCTIONS[name](x, states if len(labels) == 2 else states[0], *weights)
        if not single:
            return made
        return tuple(m.squeeze(0) for m in made) if len(labels) == 2 else made.squeeze(0)

    def _check_rank(self, x: Tensor, label: str) -> None:
        if x.ndim not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected {label} to be 1D or 2D, got {x.ndim}D instead"
            )


class RNNCell(RNNCellBase):
    """h' = tanh(W x + V h + b), or relu of it."""

    __constants__: ClassVar = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        name = f"rnn_{self.nonlinearity}_cell"
        return self._step(name, input, None if hx is None else [hx], ["hidden"])


class LSTMCell(RNNCellBase):
    """One step of long short-term memory: from a state and a cell to the next ones."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        labels = ["hx[0]", "hx[1]"]
        return self._step("lstm_cell", input, None if hx is None else list(hx), labels)


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("gru_cell", input, None if hx is None else [hx], ["hidden"])
