"""Recurrent networks: LSTM, GRU and Elman RNN.

One record is one layer in one direction. `lstm`, `gru`, `rnn_tanh` and `rnn_relu` stack layers, as
Torch's functions of these names do; the cells are layers of one step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.graph import layout_at
from ..formulas import recurrent as cpu
from ..interpreters import composite, is_interpreted
from ..tensor import Tensor
from .double_backward import second_gradients
from .dropout import dropout as drop
from .joining import cat, stack
from .linear import linear
from .precision import in_single, kind_name
from .record import Op, bind
from .surface import FUNCTIONS, function

ARGUMENTS = ("input", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh", "w_hr")
"""The arguments of a layer; h0 and c0 are the first state and cell, w_hr projects the state."""

GATES = {"lstm_layer": 4, "gru_layer": 3}
"""How many gates a cell has, if more than one."""

SAVED = ("gates", "before", "cells", "tanhs")
"""What a layer returns after output, last state and last cell, for its backward."""


# --- Records --------------------------------------------------------------------------------------


def layer(
    name: str,
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    step: Callable[..., Any],
    **fixed: Any,
) -> Op:
    """Declare a layer in one direction, and its backward.

    Args:
        name: of the record
        forward: from the arguments, `sizes` (batch size of each step) and `reverse` to output, last state,
            last cell and SAVED
        backward: from gradients of the first three, arguments, SAVED and `needs` (which gradients are needed)
        step: one step on tensors; defines forward, and is differentiated for double backward
        **fixed: parameters of forward and backward
    """

    def gradients(
        g: Any, needs: Any, input: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any,
        w_hr: Any, gates: Any, before: Any, cells: Any, tanhs: Any, sizes: Any, reverse: bool,
    ) -> Any:  # fmt: skip
        wanted = tuple(n for n, need in zip(ARGUMENTS, needs, strict=True) if need)
        params = {"sizes": sizes, "reverse": reverse, "wanted": wanted}
        given = (*g, input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, gates, before, cells, tanhs)
        found = dict(zip(wanted, bind(back, given, params), strict=True))
        return [found.get(n) for n in ARGUMENTS]

    def compute_backward(
        gy: Any, gh: Any, gc: Any, input: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any,
        b_hh: Any, w_hr: Any, gates: Any, before: Any, cells: Any, tanhs: Any, **params: Any,
    ) -> Any:  # fmt: skip
        kept = gates, before, cells, tanhs
        return backward(gy, gh, gc, input, w_ih, w_hh, w_hr, *kept, **params, **fixed)

    def again(
        g: Any, gy: Any, gh: Any, gc: Any, input: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any,
        b_ih: Any, b_hh: Any, w_hr: Any, sizes: Any, reverse: bool, wanted: Any,
    ) -> Any:  # fmt: skip
        def compose(*arguments: Any) -> list[Tensor]:
            return [out for out in unrolled(step, sizes, reverse, *arguments) if out is not None]

        given = (input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr)
        places = [ARGUMENTS.index(name) for name in wanted]
        found = second_gradients(compose, (gy, gh, gc), given, places, g)
        return found + [None] * len(SAVED)

    back = Op(
        f"{name}_backward", ("gy", "gh", "gc", *ARGUMENTS, *SAVED), in_single(compute_backward), again,
        doc="The gradients of one layer in one direction.",
    )  # fmt: skip
    return Op(
        name, ARGUMENTS, in_single(lambda *args, **params: forward(*args, **params, **fixed)), gradients,
        differentiable=3, outputs=("out", "hn", "cn", *SAVED), shown_as=_shown_as, doc="One layer in one direction.",
    )  # fmt: skip


def _shown_as(node: Any) -> Any:
    """The node that programs see: Torch uses a library for an LSTM without projection, and stacks the steps otherwise."""
    kinds = {layout[1] for edge in node.edges if edge and (layout := layout_at(edge))}
    is_lstm = node.plan.op.name == "lstm_layer"
    in_library = is_lstm and kinds == {np.dtype("f4")} and node.edges[-1] is None
    return "MkldnnRnnLayerBackward0" if in_library else "StackBackward0", node.edges


def unrolled(
    step: Callable[..., Any],
    sizes: Sequence[int],
    reverse: bool,
    input: Any,
    h: Any,
    c: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """A layer as a composition of operations: output, last state, last cell."""
    pieces = list(input.reshape(-1, input.shape[-1]).split(list(sizes)))
    outs: list[Any] = [None] * len(pieces)
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        n = sizes[t]
        given = linear(pieces[t], w_ih, b_ih)
        made, cell = step(given, h[:n], None if c is None else c[:n], w_hh, b_hh, w_hr)
        outs[t], h = made, _replaced(h, made)
        c = None if c is None else _replaced(c, cell)
    out = cat(outs)
    return out.reshape(*input.shape[:-1], out.shape[-1]), h, c


def _replaced(state: Tensor, first: Tensor) -> Tensor:
    """A state with its first rows replaced."""
    if len(first) == len(state):
        return first
    return cat([first, state[len(first) :]])


def _lstm_step(given: Tensor, h: Tensor, c: Any, w_hh: Any, b_hh: Any, w_hr: Any) -> Any:
    i, f, g, o = (given + linear(h, w_hh, b_hh)).chunk(4, 1)
    cell = f.sigmoid() * c + i.sigmoid() * g.tanh()
    made = o.sigmoid() * cell.tanh()
    return made if w_hr is None else linear(made, w_hr), cell


def _gru_step(given: Tensor, h: Tensor, c: None, w_hh: Any, b_hh: Any, w_hr: None) -> Any:
    (ri, zi, ni), (rh, zh, nh) = given.chunk(3, 1), linear(h, w_hh, b_hh).chunk(3, 1)
    z, new = (zi + zh).sigmoid(), (ni + (ri + rh).sigmoid() * nh).tanh()
    return (h - new) * z + new, None


def _plain_step(curve: str) -> Callable[..., Any]:
    def step(given: Tensor, h: Tensor, c: None, w_hh: Any, b_hh: Any, w_hr: None) -> Any:
        return FUNCTIONS[curve](given + linear(h, w_hh, b_hh)), None

    return step


LSTM = layer("lstm_layer", cpu.lstm, cpu.lstm_backward, _lstm_step)
GRU = layer("gru_layer", cpu.gru, cpu.gru_backward, _gru_step)
PLAIN = {
    curve: layer(f"rnn_{curve}_layer", cpu.plain, cpu.plain_backward, _plain_step(curve), curve=curve)
    for curve in ("tanh", "relu")
}  # fmt: skip


# --- Stacks of layers -------------------------------------------------------------------------------


def _stacked(
    op: Op, input: Tensor, sizes: Sequence[int], states: Sequence[Tensor], params: Sequence[Tensor],
    has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> list[Tensor]:  # fmt: skip
    """Stacked layers: the output of the last, and the last states of all."""
    directions = 2 if bidirectional else 1
    if (
        num_layers < 1
        or len(params) < (4 if has_biases else 2) * num_layers * directions
        or len(params) % (num_layers * directions)
    ):
        raise RuntimeError(
            f"got an incorrect number of RNN parameters: {len(params)} for {num_layers} layers"
        )
    each = len(params) // (num_layers * directions)
    _check_types(input, states, params)
    for state in states:
        if state.ndim != 3 or len(state) < num_layers * directions:
            raise RuntimeError(
                f"{op.name}: {num_layers * directions} states (batch, hidden) are needed, got {list(state.shape)}"
            )
    firsts = [state.unbind(0) for state in states]
    finals: list[list[Tensor]] = [[] for _ in states]
    for k in range(num_layers):
        outs = []
        for d in range(directions):
            at = k * directions + d
            weights = _weights(params[at * each : (at + 1) * each], has_biases)
            h0, c0 = firsts[0][at], firsts[1][at] if len(states) == 2 else None
            _check_layer(op, sizes, input, h0, c0, *weights)
            made = bind(op, (input, h0, c0, *weights), {"sizes": sizes, "reverse": d == 1})
            outs.append(made[0])
            for final, state in zip(finals, made[1:], strict=False):
                final.append(state)
        input = outs[0] if directions == 1 else cat(outs, -1)
        if dropout and train and k < num_layers - 1:
            input = drop(input, dropout, True)
    return [input, *map(stack, finals)]


def _weights(params: Sequence[Tensor], has_biases: bool) -> tuple[Tensor | None, ...]:
    """w_ih, w_hh, b_ih, b_hh and w_hr of one layer, None for what it does not have."""
    weights, biases = params[:2], params[2:4] if has_biases else (None, None)
    rest = params[4:] if has_biases else params[2:]
    return (*weights, *biases, rest[0] if rest else None)


def _check_types(input: Tensor, states: Sequence[Tensor], params: Sequence[Tensor]) -> None:
    for what, tensors in (("hidden", states), ("parameter", params)):
        for x in tensors:
            if x._array.dtype != input._array.dtype:
                raise ValueError(
                    f"Input and {what} tensors are not the same dtype, found input tensor with "
                    f"{kind_name(input._array)} and {what} tensor with {kind_name(x._array)}"
                )


def _check_layer(
    op: Op, sizes: Sequence[int], x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, w_hr: Any
) -> None:  # fmt: skip
    """RuntimeError, with the shapes, unless input, states and weights of a layer match."""
    gates, batch = (*w_hh._array.shape, 0)[0], sizes[0]
    parts, kind = GATES.get(op.name, 1), x.dtype
    if gates % parts:
        raise RuntimeError(f"{op.name}: {gates} rows of w_hh are not in {parts} equal parts")
    if kind.kind == dtypes.BOOL:
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    if parts > 1 and kind.kind == dtypes.INTEGRAL:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {kind}")
    hidden = gates // parts
    state = hidden if w_hr is None else (*w_hr._array.shape, 0)[0]
    expected = {
        "h0": (h0, (batch, state)), "c0": (c0, (batch, hidden)), "w_ih": (w_ih, (gates, x._array.shape[-1])),
        "w_hh": (w_hh, (gates, state)), "b_ih": (b_ih, (gates,)), "b_hh": (b_hh, (gates,)),
        "w_hr": (w_hr, (state, hidden)),
    }  # fmt: skip
    for name, (tensor, shape) in expected.items():
        if tensor is not None and tensor._array.shape != shape:
            raise RuntimeError(
                f"{op.name}: {name} has shape {list(tensor.shape)}, but {list(shape)} fits with an input of "
                f"{list(x.shape)} and a state of {list(h0.shape)}"
            )
    if sum(sizes) * x._array.shape[-1] != x._array.size or any(b > a for a, b in pairwise(sizes)):
        raise RuntimeError(
            f"{op.name}: batch sizes {list(sizes)} do not fit with an input of {list(x.shape)}"
        )


def _check_dimensions(op: Op, input: Tensor, dims: int) -> None:
    if input.ndim != dims:
        raise RuntimeError(
            f"{op.name}: expected an input of {dims} dimensions, got {list(input.shape)}"
        )


def _network(op: Op, input: Tensor, second: Any, third: Any, rest: tuple[Any, ...]) -> list[Tensor]:
    """A network on padded sequences (states, parameters, ...) or packed ones (sizes, states, ...)."""
    one_state = op is not LSTM
    packed = isinstance(third, Tensor) if one_state else isinstance(second, Tensor)
    given = third if packed else second
    states = [given] if one_state else list(given)
    if len(states) != (1 if one_state else 2):
        raise RuntimeError("lstm expects two hidden states")
    if packed:
        _check_dimensions(op, input, 2)
        params, *options = rest
        return _stacked(op, input, second.tolist(), states, params, *options)
    *options, batch_first = rest
    steps = input.transpose(0, 1) if batch_first else input
    if op in PLAIN.values() and input.ndim == given.ndim == 2:  # a sequence without a batch
        found = _network(op, steps.unsqueeze(1), given.unsqueeze(1), third, (*options, False))
        out, *finals = [x.squeeze(1) for x in found]
        return [out.transpose(0, 1) if batch_first else out, *finals]
    _check_dimensions(op, input, 3)
    length, batch = steps._array.shape[:2]
    if not length:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    out, *finals = _stacked(op, steps, [batch] * length, states, third, *options)
    return [out.transpose(0, 1) if batch_first else out, *finals]


def _declare(name: str, op: Op) -> None:
    def call(input: Tensor, second: Any, third: Any, *rest: Any) -> tuple[Tensor, ...]:
        return tuple(_network(op, input, second, third, rest))

    call.__name__ = name
    call.__doc__ = """Layers of a recurrent network.

    Called as (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or
    for packed sequences (data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional). Returns the output and the last states.
    """
    function(composite(call))


_declare("lstm", LSTM)
_declare("gru", GRU)
_declare("rnn_tanh", PLAIN["tanh"])
_declare("rnn_relu", PLAIN["relu"])


# --- Cells: layers of one step ------------------------------------------------------------------------


def _one_step(
    op: Op, input: Tensor, hx: Tensor, c: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any
) -> Any:
    _check_dimensions(op, input, 2)
    sizes, weights = [len(input)], (w_ih, w_hh, b_ih, b_hh, None)
    kinds = {x.dtype for x in (input, hx, c, *weights) if x is not None}
    if len(kinds) > 1 and not is_interpreted():  # autocast, if it is enabled, casts the products
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {' != '.join(map(str, kinds))}"
        )
    _check_layer(op, sizes, input, hx, c, *weights)
    if op is PLAIN["tanh"] and input.dtype.kind == dtypes.INTEGRAL:
        return unrolled(_plain_step("tanh"), sizes, False, input, hx, c, *weights)
    return bind(op, (input, hx, c, *weights), {"sizes": sizes, "reverse": False})


@function
def lstm_cell(
    input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None
) -> tuple[Tensor, Tensor]:
    """The next state and cell of an LSTM."""
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    made = _one_step(LSTM, input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)
    return made[1], made[2]


def _declare_cell(name: str, op: Op) -> None:
    def call(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None
    ) -> Tensor:
        return _one_step(op, input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]

    call.__name__, call.__doc__ = name, "The next state, computed by one step of a cell."
    function(call)


_declare_cell("gru_cell", GRU)
_declare_cell("rnn_tanh_cell", PLAIN["tanh"])
_declare_cell("rnn_relu_cell", PLAIN["relu"])
