"""Kernels of recurrent.py: all steps of a layer.

Sequences do not know each other, so each task takes some of them through all steps on its own.
Loops begin at 0 and look at slices: an index that is a sum could be negative, for all that the
compiler knows, and it would not use vector instructions.

All kernels take the gates (rows of all steps, gates * hidden); the address of the BLAS's product;
`steps`, the first row and the number of rows of each step (steps, 2); and tuples of arrays, whose
shapes recurrent.py names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...formulas.recurrent import walk
from ...scalars import sigmoid
from .blas import address_of_product, itemsize, multiply
from .kernels import PRODUCTS, inline, kernel, numbers_at, share
from .primitives import tanh
from .runs import product

Array = Any

FEW = 2
"""Up to so many rows a product is done without the BLAS, which would copy the whole matrix first."""


def _run(kernel: Any, gates: Array, sizes: Sequence[int], reverse: bool, *arrays: Any) -> Any:
    """Run a kernel, if there is a BLAS that kernels can call."""
    blas = address_of_product(gates.dtype.type)
    if not blas:
        return NotImplemented
    steps = np.array([(rows.start, n) for rows, n in walk(sizes, reverse)]).reshape(-1, 2)
    work = gates.size * gates.shape[1] // (4 * PRODUCTS)  # a gate takes so many products
    kernel(work, gates, blas, steps, *(tuple(map(np.ascontiguousarray, some)) for some in arrays))
    return None


def lstm_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any
) -> Any:
    """All steps, as in recurrent.py."""
    w_hh, bias, w_hr = weights
    h, c = state
    given, full = np.empty((len(h), gates.shape[1]), h.dtype), np.empty_like(c)
    projection = np.empty((0, c.shape[1]), h.dtype) if w_hr is None else w_hr
    return _run(_lstm, gates, sizes, reverse, (w_hh, bias, projection), state, kept, (given, full))


def lstm_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any, made: Any
) -> Any:  # fmt: skip
    """All steps of the derivative, as in recurrent.py."""
    w_hh, w_hr = weights
    projection = np.empty((0, state[1].shape[1]), gates.dtype) if w_hr is None else w_hr
    made = (*made, np.empty_like(state[1]))
    return _run(_lstm_backward, gates, sizes, reverse, (w_hh, projection), state, kept, made)


def gru_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, h: Array, kept: Any
) -> Any:
    """All steps, as in recurrent.py."""
    given = np.empty((len(h), gates.shape[1]), h.dtype)
    return _run(_gru, gates, sizes, reverse, weights, (h, given), kept)


def gru_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, w_hh: Array, dh: Array, kept: Any, made: Any
) -> Any:
    """All steps of the derivative, as in recurrent.py."""
    state = dh, np.empty_like(dh)
    return _run(_gru_backward, gates, sizes, reverse, (w_hh,), state, kept, made)


# --- Rows ---------------------------------------------------------------------------------------------


@inline
def _copy(x: Array, out: Array) -> None:
    for j in range(len(out)):
        out[j] = x[j]


@inline
def _add(x: Array, out: Array) -> None:
    for j in range(len(out)):
        out[j] += x[j]


@inline
def _quarters(row: Array, n: int) -> Any:
    """The first four parts, of n elements each."""
    return row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]


def _open_gates(gate: Array, given: Array, bias: Array) -> None:
    for j in range(len(gate)):
        gate[j] = sigmoid(gate[j] + (given[j] + bias[j]))


def _curve_gate(gate: Array, given: Array, bias: Array) -> None:
    for j in range(len(gate)):
        gate[j] = tanh(gate[j] + (given[j] + bias[j]))


@inline
def _own(steps: Array, t: int, first: int, last: int) -> Any:
    """The first row of a step, and how many of a task's sequences it has."""
    return steps[t, 0], min(last, steps[t, 1]) - first


def _multiply_rows(
    blas: int, x: Array, first: int, rows: int, w: Array, transposed: bool, out: Array, to: int
) -> None:
    """Rows of out (., n), from `to` on, become those of x (., k), from `first` on, times w (k, n), or (n, k) transposed."""
    n, k = out.shape[1], x.shape[1]
    if rows > FEW:
        a, c = x.ctypes.data + first * k * itemsize, out.ctypes.data + to * n * itemsize
        multiply(blas, (rows, n, k), (a, k, False), (w.ctypes.data, w.shape[1], transposed), (c, n))
        return
    for r in range(rows):
        row, o = x[first + r], out[to + r]
        if transposed:
            for j in range(n):
                o[j] = product(row, w[j])
        else:
            _add_rows(row, w, o)


def _add_rows(factors: Array, w: Array, out: Array) -> None:
    """Let out be the sum of the rows of w times factors, four at a time."""
    k, n = w.shape
    for j in range(n):
        out[j] = 0.0
    for i in range(0, k - 3, 4):
        a, b, c, d = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        at = w.ctypes.data + i * n * itemsize
        p, q = numbers_at(at, n), numbers_at(at + n * itemsize, n)
        r, s = numbers_at(at + 2 * n * itemsize, n), numbers_at(at + 3 * n * itemsize, n)
        for j in range(n):
            out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for i in range(k // 4 * 4, k):
        p, a = w[i], factors[i]
        for j in range(n):
            out[j] += a * p[j]


# --- LSTM ---------------------------------------------------------------------------------------------


def _lstm_row(
    gate: Array, given: Array, bias: Array, c: Array, old: Array, curved: Array, h: Array
) -> None:
    """Gates (4n) from what input and state give (4n); from them the next cell and state (n each)."""
    n = len(c)
    _open_gates(gate[: 2 * n], given[: 2 * n], bias[: 2 * n])
    _curve_gate(gate[2 * n : 3 * n], given[2 * n : 3 * n], bias[2 * n : 3 * n])
    _open_gates(gate[3 * n :], given[3 * n :], bias[3 * n :])
    i, f, g, o = _quarters(gate, n)
    _copy(c, old)
    for j in range(n):
        c[j] = f[j] * c[j] + i[j] * g[j]
    for j in range(n):
        curved[j] = tanh(c[j])
    for j in range(n):
        h[j] = o[j] * curved[j]


@kernel
def _lstm(
    task: int, tasks: int, gates: Array, blas: int, steps: Array, weights: Any, state: Any, kept: Any, space: Any
) -> None:  # fmt: skip
    """See the module for `gates`, `blas` and `steps`, and `lstm_steps` for the tuples."""
    w_hh, bias, w_hr = weights
    h, c = state
    out, before, cells, tanhs = kept
    given, full = space
    first, last = share(task, tasks, len(h))
    projects = w_hr.shape[0] > 0
    for t in range(len(steps)):
        start, own = _own(steps, t, first, last)
        if own <= 0:
            continue
        _multiply_rows(blas, h, first, own, w_hh, True, given, first)
        for r in range(first, first + own):
            at = start + r
            _copy(h[r], before[at])
            made = full[r] if projects else out[at]
            _lstm_row(gates[at], given[r], bias, c[r], cells[at], tanhs[at], made)
        if projects:
            _multiply_rows(blas, full, first, own, w_hr, True, out, start + first)
        for r in range(first, first + own):
            _copy(out[start + r], h[r])


def _lstm_row_backward(
    gate: Array, old: Array, curved: Array, h: Array, c: Array, slope: Array
) -> None:
    """Gradients of the gates before their curves (4n); c's becomes that of the cell before."""
    n = len(c)
    i, f, g, o = _quarters(gate, n)
    di, df, dg, do = _quarters(slope, n)
    for j in range(n):
        c[j] += h[j] * o[j] * (1.0 - curved[j] * curved[j])
    for j in range(n):
        do[j] = h[j] * curved[j] * o[j] * (1.0 - o[j])
    for j in range(n):
        di[j] = c[j] * g[j] * i[j] * (1.0 - i[j])
    for j in range(n):
        dg[j] = c[j] * i[j] * (1.0 - g[j] * g[j])
    for j in range(n):
        df[j] = c[j] * old[j] * f[j] * (1.0 - f[j])
    for j in range(n):
        c[j] *= f[j]


@kernel
def _lstm_backward(
    task: int, tasks: int, gates: Array, blas: int, steps: Array, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    """See the module for `gates`, `blas` and `steps`, and `lstm_steps_backward` for the tuples."""
    w_hh, w_hr = weights
    dh, dc = state
    gy, cells, tanhs = kept
    slopes, projected, full = made
    first, last = share(task, tasks, len(dh))
    projects = w_hr.shape[0] > 0
    for t in range(len(steps)):
        start, own = _own(steps, t, first, last)
        if own <= 0:
            continue
        for r in range(first, first + own):
            _add(gy[start + r], dh[r])
            if projects:
                _copy(dh[r], projected[start + r])
        if projects:
            _multiply_rows(blas, dh, first, own, w_hr, False, full, first)
        for r in range(first, first + own):
            at = start + r
            arrived = full[r] if projects else dh[r]
            _lstm_row_backward(gates[at], cells[at], tanhs[at], arrived, dc[r], slopes[at])
        _multiply_rows(blas, slopes, start + first, own, w_hh, False, dh, first)


# --- GRU ----------------------------------------------------------------------------------------------


def _curve_new(new: Array, r: Array, inner: Array) -> None:
    for j in range(len(new)):
        new[j] = tanh(new[j] + r[j] * inner[j])


def _gru_row(
    gate: Array, given: Array, bias: Array, h: Array, kept: Array, old: Array, out: Array
) -> None:
    """Gates (3n) from what input and state give (3n); from them the next state (n)."""
    n = len(h)
    r, z, new, _ = _quarters(gate, n)
    _open_gates(gate[: 2 * n], given[: 2 * n], bias[: 2 * n])
    given_new, bias_new = given[2 * n :], bias[2 * n :]
    for j in range(n):
        kept[j] = given_new[j] + bias_new[j]
    _curve_new(new, r, kept)
    _copy(h, old)
    for j in range(n):
        h[j] = (h[j] - new[j]) * z[j] + new[j]
    _copy(h, out)


@kernel
def _gru(
    task: int, tasks: int, gates: Array, blas: int, steps: Array, weights: Any, state: Any, kept: Any
) -> None:  # fmt: skip
    """See the module for `gates`, `blas` and `steps`, and `gru_steps` for the tuples."""
    w_hh, bias = weights
    h, given = state
    out, before, inner = kept
    first, last = share(task, tasks, len(h))
    for t in range(len(steps)):
        start, own = _own(steps, t, first, last)
        if own <= 0:
            continue
        _multiply_rows(blas, h, first, own, w_hh, True, given, first)
        for r in range(first, first + own):
            at = start + r
            _gru_row(gates[at], given[r], bias, h[r], inner[at], before[at], out[at])


def _gru_row_backward(
    gate: Array, old: Array, kept: Array, given: Array, d: Array, a: Array, b: Array
) -> None:
    """Gradients of the gates before their curves (3n each); d becomes what passed straight through."""
    n = len(d)
    r, z, new, _ = _quarters(gate, n)
    dr, dz, dn, _ = _quarters(a, n)
    _add(given, d)
    for j in range(n):
        dn[j] = d[j] * (1.0 - z[j]) * (1.0 - new[j] * new[j])
    for j in range(n):
        dz[j] = d[j] * (old[j] - new[j]) * z[j] * (1.0 - z[j])
    for j in range(n):
        dr[j] = dn[j] * kept[j] * r[j] * (1.0 - r[j])
    for j in range(n):
        d[j] *= z[j]
    _copy(a[: 2 * n], b[: 2 * n])
    by_new = b[2 * n :]
    for j in range(n):
        by_new[j] = dn[j] * r[j]


@kernel
def _gru_backward(
    task: int, tasks: int, gates: Array, blas: int, steps: Array, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    """See the module for `gates`, `blas` and `steps`, and `gru_steps_backward` for the tuples."""
    (w_hh,) = weights
    dh, more = state
    gy, before, inner = kept
    by_input, by_state = made
    first, last = share(task, tasks, len(dh))
    for t in range(len(steps)):
        start, own = _own(steps, t, first, last)
        if own <= 0:
            continue
        for r in range(first, first + own):
            at = start + r
            _gru_row_backward(gates[at], before[at], inner[at], gy[at], dh[r], by_input[at], by_state[at])  # fmt: skip
        _multiply_rows(blas, by_state, start + first, own, w_hh, False, more, first)
        for r in range(first, first + own):
            _add(more[r], dh[r])
