"""One layer of a recurrent network, in one direction, over all steps; and its derivative.

Rows of all steps lie below each other, those of one step together: step t has `sizes[t]` rows,
and sizes do not grow (a packed sequence; a padded batch has equal ones). The products with the
input, and those that give the gradients of weights, are taken for all steps at once. A step
itself is one product with the state and one pass over its gates.

The state has a row per sequence. Going forward, rows that a step no longer has keep their last
state; going backward, rows that it does not have yet keep their first one. Either way the state
after the last step is the final one, and the derivative walks the same steps in the other order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..backends.interface import accelerated, formula_of
from ..scalars import sigmoid
from .matmul import matmul

Array = Any


# --- What all cells share ---------------------------------------------------------------------------


def walk(sizes: Sequence[int], backward: bool) -> Iterator[tuple[slice, int]]:
    """The rows of each step, and how many they are."""
    ends = list(accumulate(sizes))
    steps = range(len(sizes))
    for t in reversed(steps) if backward else steps:
        yield slice(ends[t] - sizes[t], ends[t]), sizes[t]


def _by_device(steps: Callable[..., None], gates: Array, *given: Any) -> None:
    """All steps by what the gates' device has in their place, or as they stand here."""
    own = formula_of(gates, steps.__name__)
    if own is None or not own(gates, *given):
        steps(gates, *given)


def _from_input(x: Array, w_ih: Array, bias: Array | None = None) -> Array:
    """The part of all gates that the input gives."""
    out = matmul(x.reshape(-1, x.shape[-1]), w_ih.T)
    if bias is not None:
        out += bias
    return out


def _added(b_ih: Array | None, b_hh: Array | None, w_ih: Array) -> Array:
    """Both biases as one; zeros where there are none."""
    given = [b for b in (b_ih, b_hh) if b is not None]
    return sum(given[1:], given[0]) if given else np.zeros(len(w_ih), w_ih.dtype, like=w_ih)


def _like_input(x: Array, rows: Array) -> Array:
    """Rows of all steps in the shape of the input: (steps, batch, n) or (rows, n)."""
    return rows.reshape(*x.shape[:-1], rows.shape[-1])


def _flat(x: Array) -> Array:
    """Rows of all steps below each other, in memory's order."""
    rows = x.reshape(-1, x.shape[-1])
    return rows if rows.flags.c_contiguous else rows.copy()


def _own(state: Array) -> Array:
    """A copy of a state that steps may write into."""
    return state.copy(order="C")


def _empty(like: Array) -> Array:
    return np.empty(0, like.dtype, like=like)


# --- LSTM ---------------------------------------------------------------------------------------------


def lstm(
    x: Array, h0: Array, c0: Array, w_ih: Array, w_hh: Array,
    b_ih: Array | None, b_hh: Array | None, w_hr: Array | None,
    sizes: Sequence[int], reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """Long short-term memory.

    Returns:
        the output, the last state and cell; and for the derivative the gates, the states before
        each step, the cells before it, and tanh of those after it
    """
    gates = _from_input(x, w_ih)
    h, c = _own(h0), _own(c0)
    count, hidden = len(gates), c.shape[1]
    cells, tanhs = (np.empty((count, hidden), x.dtype, like=x) for _ in range(2))
    out, before = (np.empty((count, h.shape[1]), x.dtype, like=x) for _ in range(2))
    bias = _added(b_ih, b_hh, w_ih)
    given = gates, sizes, reverse, (w_hh, bias, w_hr), (h, c), (out, before, cells, tanhs)
    _by_device(lstm_steps, *given)
    return _like_input(x, out), h, c, gates, before, cells, tanhs


@accelerated
def lstm_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any
) -> None:
    """All steps: fill `kept`, let the gates be what they open to, and the state the last one.

    Args:
        gates: what the input gives to them, (rows, 4 * hidden)
        sizes: of the steps
        reverse: whether the last step comes first
        weights: w_hh (4 * hidden, n), bias (4 * hidden), w_hr (n, hidden) or None
        state: h (batch, n) and c (batch, hidden)
        kept: out and before (rows, n), cells and tanhs (rows, hidden)
    """
    (w_hh, bias, w_hr), (h, c), (out, before, cells, tanhs) = weights, state, kept
    for rows, n in walk(sizes, reverse):
        made = out[rows] if w_hr is None else np.empty_like(cells[rows])
        _lstm_step(gates[rows], h[:n] @ w_hh.T, bias, c[:n], cells[rows], tanhs[rows], made)
        if w_hr is not None:
            np.matmul(made, w_hr.T, out=out[rows])
        before[rows] = h[:n]
        h[:n] = out[rows]


def _lstm_step(
    gates: Array, product: Array, bias: Array, c: Array, cells: Array, tanhs: Array, h: Array
) -> None:
    """Gates from what input and state give; from them the next cell and state."""
    gates += product
    gates += bias
    i, f, g, o = np.split(gates, 4, 1)
    for gate in (i, f, o):
        gate[...] = sigmoid(gate)
    np.tanh(g, out=g)
    cells[...] = c
    c[...] = f * c + i * g
    np.tanh(c, out=tanhs)
    np.multiply(o, tanhs, out=h)


def lstm_backward(
    gy: Array, gh: Array, gc: Array, x: Array, w_ih: Array, w_hh: Array, w_hr: Any,
    gates: Array, before: Array, cells: Array, tanhs: Array,
    sizes: Sequence[int], reverse: bool, wanted: Sequence[str], over_gates: bool = False,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of the wanted arguments of `lstm`; those of the gates may be written over these."""
    gy, dh, dc = _flat(gy), _own(gh), _own(gc)
    slopes = gates if over_gates and w_hr is None else np.empty_like(gates)
    projected = np.empty_like(gy[: 0 if w_hr is None else None])
    kept, made = (gy, cells, tanhs), (slopes, projected)
    given = gates, sizes, not reverse, (w_hh, w_hr), (dh, dc), kept, made
    _by_device(lstm_steps_backward, *given)
    return _gathered(
        wanted, x, before, slopes, slopes, w_ih, h0=lambda: dh, c0=lambda: dc,
        w_hr=lambda: projected.T @ (gates[:, -cells.shape[1] :] * tanhs),
    )  # fmt: skip


@accelerated
def lstm_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    """All steps of the derivative: fill `made`, and let the state be the gradient of the first one.

    Args:
        gates: (rows, 4 * hidden)
        sizes: of the steps
        reverse: whether the last step comes first
        weights: w_hh (4 * hidden, n), w_hr (n, hidden) or None
        state: dh (batch, n) and dc (batch, hidden)
        kept: gy (rows, n), cells and tanhs (rows, hidden)
        made: slopes (rows, 4 * hidden), which may be the gates, and projected (rows, n) where there is a w_hr
    """
    (w_hh, w_hr), (dh, dc), (gy, cells, tanhs), (slopes, projected) = weights, state, kept, made
    for rows, n in walk(sizes, reverse):
        arrived = dh[:n]
        arrived += gy[rows]
        if w_hr is not None:
            projected[rows] = arrived
            arrived = np.matmul(arrived, w_hr)
        _lstm_step_backward(gates[rows], cells[rows], tanhs[rows], arrived, dc[:n], slopes[rows])
        np.matmul(slopes[rows], w_hh, out=dh[:n])


def _lstm_step_backward(
    gates: Array, cells: Array, tanhs: Array, dh: Array, dc: Array, slopes: Array
) -> None:
    """The gradients of the gates before their curves, perhaps over these; dc becomes that of the cell before."""
    i, f, g, o = np.split(gates, 4, 1)
    di, df, dg, do = np.split(slopes, 4, 1)
    dc += dh * o * (1 - tanhs * tanhs)
    np.multiply(dh * tanhs, o * (1 - o), out=do)
    by_input, before = dc * g * (i * (1 - i)), dc * f
    np.multiply(dc * i, 1 - g * g, out=dg)
    np.multiply(dc * cells, f * (1 - f), out=df)
    di[...], dc[...] = by_input, before


def _gathered(
    wanted: Sequence[str], x: Array, before: Array, by_input: Array, by_state: Array, w_ih: Array,
    **others: Any,
) -> tuple[Array, ...]:  # fmt: skip
    """The wanted gradients, of weights by one product each, from those of all gates."""
    known = {
        "input": lambda: _like_input(x, matmul(by_input, w_ih)),
        "w_ih": lambda: matmul(by_input.T, x.reshape(-1, x.shape[-1])),
        "w_hh": lambda: matmul(by_state.T, before),
        "b_ih": lambda: np.add.reduce(by_input, axis=0),
        "b_hh": lambda: np.add.reduce(by_state, axis=0),
        **others,
    }
    return tuple(known[name]() for name in wanted)


# --- GRU ----------------------------------------------------------------------------------------------


def gru(
    x: Array, h0: Array, c0: None, w_ih: Array, w_hh: Array,
    b_ih: Array | None, b_hh: Array | None, w_hr: None,
    sizes: Sequence[int], reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """Gated recurrent unit.

    Returns:
        the output, the last state, nothing; and for the derivative the gates, the states before
        each step, and what the state gave to the last gate
    """
    gates = _from_input(x, w_ih, b_ih)
    h = _own(h0)
    out, before, inner = (np.empty((len(gates), h.shape[1]), x.dtype, like=x) for _ in range(3))
    bias = np.zeros(gates.shape[1], x.dtype, like=x) if b_hh is None else _own(b_hh)
    _by_device(gru_steps, gates, sizes, reverse, (w_hh, bias), h, (out, before, inner))
    return _like_input(x, out), h, _empty(x), gates, before, inner, _empty(x)


@accelerated
def gru_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, h: Array, kept: Any
) -> None:
    """All steps: fill `kept`, let the gates be what they open to, and h the last state.

    Args:
        gates: what the input gives to them, (rows, 3 * hidden)
        sizes: of the steps
        reverse: whether the last step comes first
        weights: w_hh (3 * hidden, hidden) and its bias (3 * hidden)
        h: (batch, hidden)
        kept: out, before and inner, (rows, hidden) each
    """
    (w_hh, bias), (out, before, inner) = weights, kept
    for rows, n in walk(sizes, reverse):
        before[rows] = h[:n]
        _gru_step(gates[rows], h[:n] @ w_hh.T, bias, h[:n], inner[rows], out[rows])


def _gru_step(
    gates: Array, product: Array, bias: Array, h: Array, inner: Array, out: Array
) -> None:
    """Gates from what input and state give; from them the next state."""
    product += bias
    r, z, new = np.split(gates, 3, 1)
    pr, pz, pn = np.split(product, 3, 1)
    r[...] = sigmoid(r + pr)
    z[...] = sigmoid(z + pz)
    inner[...] = pn
    new += r * pn
    np.tanh(new, out=new)
    h -= new
    h *= z
    h += new
    out[...] = h


def gru_backward(
    gy: Array, gh: Array, gc: Any, x: Array, w_ih: Array, w_hh: Array, w_hr: None,
    gates: Array, before: Array, inner: Array, unused: Any,
    sizes: Sequence[int], reverse: bool, wanted: Sequence[str],
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of the wanted arguments of `gru`."""
    gy, dh = _flat(gy), _own(gh)
    by_input, by_state = np.empty_like(gates), np.empty_like(gates)
    kept, made = (gy, before, inner), (by_input, by_state)
    _by_device(gru_steps_backward, gates, sizes, not reverse, w_hh, dh, kept, made)
    return _gathered(wanted, x, before, by_input, by_state, w_ih, h0=lambda: dh)


@accelerated
def gru_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, w_hh: Array, dh: Array, kept: Any, made: Any
) -> None:
    """All steps of the derivative: fill `made`, and let dh be the gradient of the first state.

    Args:
        gates: (rows, 3 * hidden)
        sizes: of the steps
        reverse: whether the last step comes first
        w_hh: (3 * hidden, hidden)
        dh: (batch, hidden)
        kept: gy, before and inner, (rows, hidden) each
        made: by_input and by_state, (rows, 3 * hidden) each
    """
    (gy, before, inner), (by_input, by_state) = kept, made
    for rows, n in walk(sizes, reverse):
        dh[:n] += gy[rows]
        given = gates[rows], before[rows], inner[rows], dh[:n], by_input[rows], by_state[rows]
        _gru_step_backward(*given)
        dh[:n] += np.matmul(by_state[rows], w_hh)


def _gru_step_backward(
    gates: Array, before: Array, inner: Array, dh: Array, by_input: Array, by_state: Array
) -> None:
    """The gradients of the gates before their curves; dh becomes what passed straight through."""
    r, z, new = np.split(gates, 3, 1)
    dr, dz, dn = np.split(by_input, 3, 1)
    np.multiply(dh * (1 - z), 1 - new * new, out=dn)
    np.multiply(dh * (before - new), z * (1 - z), out=dz)
    np.multiply(dn * inner, r * (1 - r), out=dr)
    by_state[...] = by_input
    by_state[:, -r.shape[1] :] *= r
    dh *= z


# --- The plain cell -----------------------------------------------------------------------------------


def plain(
    x: Array, h0: Array, c0: None, w_ih: Array, w_hh: Array,
    b_ih: Array | None, b_hh: Array | None, w_hr: None,
    sizes: Sequence[int], reverse: bool, curve: str,
) -> tuple[Array, ...]:  # fmt: skip
    """State to state by one curve, "tanh" or "relu"."""
    out = _from_input(x, w_ih, _added(b_ih, b_hh, w_ih))
    h, before = _own(h0), np.empty_like(out)
    for rows, n in walk(sizes, reverse):
        before[rows] = h[:n]
        made = out[rows]
        made += np.matmul(h[:n], w_hh.T)
        np.tanh(made, out=made) if curve == "tanh" else np.maximum(made, 0, out=made)
        h[:n] = made
    return _like_input(x, out), h, _empty(x), out.copy(), before, _empty(x), _empty(x)


def plain_backward(
    gy: Array, gh: Array, gc: Any, x: Array, w_ih: Array, w_hh: Array, w_hr: None,
    out: Array, before: Array, unused: Any, unused_too: Any,
    sizes: Sequence[int], reverse: bool, wanted: Sequence[str], curve: str,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of the wanted arguments of `plain`."""
    gy, dh = _flat(gy), _own(gh)
    slopes = 1 - out * out if curve == "tanh" else (out > 0).astype(out.dtype)
    for rows, n in walk(sizes, not reverse):
        slopes[rows] *= gy[rows] + dh[:n]
        np.matmul(slopes[rows], w_hh, out=dh[:n])
    return _gathered(wanted, x, before, slopes, slopes, w_ih, h0=lambda: dh)
