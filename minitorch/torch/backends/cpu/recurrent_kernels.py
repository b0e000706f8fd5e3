"""Kernels of recurrent.py: all steps of a layer.

Sequences do not know each other, so each task takes some of them through all steps on its own.
Loops begin at 0 and look at slices: an index that is a sum could be negative, for all that the
compiler knows, and it would not use vector instructions.

All kernels take the gates (rows of all steps, gates * hidden); the address of the BLAS's product, or 0 where
the weights are near, and lie as products by tiles read them; `steps`, the first row and the number of rows of each step (steps, 2); and tuples of arrays, whose
shapes recurrent.py names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....threads import numpy_on_one_thread
from ...formulas.recurrent import walk
from ...scalars import sigmoid
from .blas import address_of_product, gemm, itemsize
from .kernels import PRODUCTS, from_source, inline, kernel, numbers_at, share
from .primitives import tanh
from .runs import product
from .vectors import BYTES, VERBS, lanes

Array = Any

FEW = 2
"""Up to so many rows a product is done without the BLAS, which would copy the whole matrix first."""


NEAR = 1 << 16
"""Weights of up to so many elements stay in a core's own cache from step to step."""

ROWS, WIDE = 4, BYTES // 16
"""A tile of a product has so many rows, and so many vectors in each: its sums stay in registers."""


def _run(
    kernel: Any, gates: Array, sizes: Sequence[int], reverse: bool, weights: Sequence[Array], *arrays: Sequence[Array]
) -> Any:  # fmt: skip
    """Run a kernel on its four tuples of arrays, if its weights are near or there is a BLAS that kernels can call."""
    blas = 0 if weights[0].size <= NEAR else address_of_product(gates.dtype.type)
    if not blas and weights[0].size > NEAR:
        return NotImplemented
    arrays = (weights, *arrays)
    steps = np.array([(rows.start, n) for rows, n in walk(sizes, reverse)]).reshape(-1, 2)
    work = gates.size * gates.shape[1] // (4 * PRODUCTS)  # a gate takes so many products
    with numpy_on_one_thread():
        kernel(
            work, gates, blas, steps, *(tuple(map(np.ascontiguousarray, some)) for some in arrays)
        )
    return None


def _laid_out(w_hh: Array, bias: Array) -> tuple[Array, Array]:
    """Weights and bias of forward steps, whose products are with the transposed weights."""
    return w_hh.T if w_hh.size <= NEAR else w_hh, bias


def _space(h: Array, gates: Array) -> tuple[Array, ...]:
    """Memory for what the state gives to the gates."""
    return (np.empty((len(h), gates.shape[1]), h.dtype),)


def lstm_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any
) -> Any:
    """All steps, as in recurrent.py, where states are not projected."""
    *given, w_hr = weights
    if w_hr is not None:
        return NotImplemented
    space = _space(state[0], gates)
    return _run(_lstm, gates, sizes, reverse, _laid_out(*given), state, kept, space)


def lstm_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, state: Any, kept: Any, made: Any
) -> Any:  # fmt: skip
    """All steps of the derivative, as in recurrent.py, where states are not projected."""
    w_hh, w_hr = weights
    if w_hr is not None:
        return NotImplemented
    return _run(_lstm_backward, gates, sizes, reverse, (w_hh,), state, kept, made[:1])


def gru_steps(
    gates: Array, sizes: Sequence[int], reverse: bool, weights: Any, h: Array, kept: Any
) -> Any:
    """All steps, as in recurrent.py."""
    return _run(_gru, gates, sizes, reverse, _laid_out(*weights), (h,), kept, _space(h, gates))


def gru_steps_backward(
    gates: Array, sizes: Sequence[int], reverse: bool, w_hh: Array, dh: Array, kept: Any, made: Any
) -> Any:
    """All steps of the derivative, as in recurrent.py."""
    state = dh, np.empty_like(dh)
    return _run(_gru_backward, gates, sizes, reverse, (w_hh,), state, kept, made)


def _over_steps(advance: Callable[..., None]) -> Any:
    """Make a kernel of a function that takes some sequences through one step.

    The function is given the gates, the BLAS, the first of its rows among those of all steps, its first sequence, how many
    it has, and the tuples of weights, states, what is kept, and what is made.
    """

    def steps(
        task: int, tasks: int, gates: Array, blas: int, steps: Array, weights: Any, state: Any, kept: Any, made: Any
    ) -> None:  # fmt: skip
        """See the module for `gates`, `blas` and `steps`, and the functions above for the tuples."""
        first, last = share(task, tasks, len(state[0]))
        for t in range(len(steps)):
            own = min(last, steps[t, 1]) - first
            if own > 0:
                advance(gates, blas, steps[t, 0] + first, first, own, weights, state, kept, made)

    return kernel(steps)


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


def _multiplying() -> Any:
    """A function that multiplies ROWS rows of x, from x[a] on, by w (k, n) into out[c:], in tiles of WIDE vectors.

    It is written out with a variable for each sum: those stay in registers. The last tile may overlap the one before.
    """
    tile = [(r, v) for r in range(ROWS) for v in range(WIDE)]
    lines = [
        "def multiply(x, a, k, w, n, out, c):",
        " m = lanes(x)",
        f" for t in range(0, n, {WIDE} * m):",
        f"  t = min(t, n - {WIDE} * m)",
        *(f"  sum_{r}_{v} = zero(x)" for r, v in tile),
        "  for i in range(k):",
        *(f"   w_{v} = load(w, i * n + t + {v} * m)" for v in range(WIDE)),
        *(f"   x_{r} = spread(x, a + {r} * k + i)" for r in range(ROWS)),
        *(f"   sum_{r}_{v} = multiply_add(x_{r}, w_{v}, sum_{r}_{v})" for r, v in tile),
        *(f"  store(out, c + {r} * n + t + {v} * m, sum_{r}_{v})" for r, v in tile),
    ]
    return from_source("\n".join(lines), **VERBS)


multiply_tiles = _multiplying()


def _multiply_rows(
    blas: int, x: Array, first: int, rows: int, w: Array, transposed: bool, out: Array, to: int
) -> None:
    """Rows of out (., n), from `to` on, become those of x (., k), from `first` on, times w (k, n).

    Where there is a BLAS, w may be (n, k), transposed.
    """
    n, k = out.shape[1], x.shape[1]
    if not blas and rows >= ROWS and n >= WIDE * lanes(x):
        for r in range(0, rows, ROWS):
            r = min(r, rows - ROWS)
            multiply_tiles(x, (first + r) * k, k, w, n, out, (to + r) * n)
        return
    if blas and rows > FEW:
        a, c = x.ctypes.data + first * k * itemsize, out.ctypes.data + to * n * itemsize
        b = w.ctypes.data, w.shape[1], transposed
        gemm(blas, (rows, n, k), (a, k, False), b, (c, n), False)
        return
    for r in range(rows):
        row, o = x[first + r], out[to + r]
        if blas and transposed:
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


@_over_steps
def _lstm(
    gates: Array, blas: int, start: int, first: int, own: int, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    (w_hh, bias), (h, c), (out, before, cells, tanhs), (given,) = weights, state, kept, made
    _multiply_rows(blas, h, first, own, w_hh, True, given, first)
    for k in range(own):
        r, at = first + k, start + k
        _copy(h[r], before[at])
        _lstm_row(gates[at], given[r], bias, c[r], cells[at], tanhs[at], out[at])
        _copy(out[at], h[r])


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


@_over_steps
def _lstm_backward(
    gates: Array, blas: int, start: int, first: int, own: int, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    (w_hh,), (dh, dc), (gy, cells, tanhs), (slopes,) = weights, state, kept, made
    slope = np.empty_like(gates[0])  # slopes may be the gates
    for k in range(own):
        r, at = first + k, start + k
        _add(gy[at], dh[r])
        _lstm_row_backward(gates[at], cells[at], tanhs[at], dh[r], dc[r], slope)
        _copy(slope, slopes[at])
    _multiply_rows(blas, slopes, start, own, w_hh, False, dh, first)


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


@_over_steps
def _gru(
    gates: Array, blas: int, start: int, first: int, own: int, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    (w_hh, bias), (h,), (out, before, inner), (given,) = weights, state, kept, made
    _multiply_rows(blas, h, first, own, w_hh, True, given, first)
    for k in range(own):
        r, at = first + k, start + k
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


@_over_steps
def _gru_backward(
    gates: Array, blas: int, start: int, first: int, own: int, weights: Any, state: Any, kept: Any, made: Any
) -> None:  # fmt: skip
    (w_hh,), (dh, more), (gy, before, inner), (by_input, by_state) = weights, state, kept, made
    for k in range(own):
        r, at = first + k, start + k
        _gru_row_backward(
            gates[at], before[at], inner[at], gy[at], dh[r], by_input[at], by_state[at]
        )
    _multiply_rows(blas, by_state, start, own, w_hh, False, more, first)
    for r in range(first, first + own):
        _add(more[r], dh[r])
