"""Kernels of recurrent.py: all steps of a layer.

Sequences do not know each other, so each task takes some of them through all steps on its own.
Loops begin at 0 and look at slices: an index that is a sum could be negative, for all that the
compiler knows, and it would not use vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .blas import SMALL, address_of_product, product
from .kernels import PRODUCTS, parallel, part, run_at, step
from .runs import folds, share
from .scalars import functions

Array = Any

FEW = 2
"""Up to so many rows a product is done without the BLAS, which would copy the whole matrix first."""


def can_run(real: Any) -> bool:
    """Whether there is a BLAS that kernels can call."""
    return address_of_product(real) != 0


def run(name: str, steps: Array, gates: Array, *arrays: Array) -> None:
    """Run a kernel over steps, an array of (first row, rows)."""
    real = gates.dtype.type
    usable = [np.ascontiguousarray(x) for x in arrays]
    work = gates.size * gates.shape[1] // (4 * PRODUCTS)  # a gate takes so many products
    _compiled(name, real)(work, address_of_product(real), steps, gates, *usable)


@cache
def _compiled(name: str, real: Any) -> Callable[..., None]:
    bodies = (*_lstm(real), *_gru(real))
    return parallel(next(body for body in bodies if body.__name__ == name))


@part
def _quarters(row: Array, n: int) -> Any:
    """The first four parts, of n elements each."""
    return row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]


@cache
def _products(real: Any) -> tuple[Any, Any]:
    """Products of rows with a matrix, and with its transpose, in pieces that stay on this core."""
    multiply, size = product(real), np.dtype(real).itemsize
    run, dot = run_at(real), folds(real).product

    @step
    def by_transposed(
        blas: int, x: Array, first: int, rows: int, w: Array, out: Array, to: int
    ) -> None:
        """Rows of out, from `to` on, become those of x, from `first` on, times wᵀ."""
        n, k = w.shape
        a = x.ctypes.data + first * k * size
        if rows <= FEW:
            for r in range(rows):
                row, o = run(a + r * k * size, k), out[to + r]
                for j in range(n):
                    o[j] = dot(row, run(w.ctypes.data + j * k * size, k))
            return
        piece = max(SMALL // (rows * k), 8)
        for j in range(0, n, piece):
            count = min(piece, n - j)
            b, c = w.ctypes.data + j * k * size, out.ctypes.data + (to * n + j) * size
            multiply(blas, rows, count, k, a, k, b, k, c, n, False, True)

    @step
    def add_rows(factors: Array, w: Array, out: Array) -> None:
        """Let out be the sum of the rows of w times factors, four at a time."""
        k, n = w.shape
        for j in range(n):
            out[j] = real(0)
        for i in range(0, k - 3, 4):
            a, b, c, d = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
            at = w.ctypes.data + i * n * size
            p, q = run(at, n), run(at + n * size, n)
            r, s = run(at + 2 * n * size, n), run(at + 3 * n * size, n)
            for j in range(n):
                out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
        for i in range(k // 4 * 4, k):
            p, a = run(w.ctypes.data + i * n * size, n), factors[i]
            for j in range(n):
                out[j] += a * p[j]

    @step
    def by_matrix(
        blas: int, x: Array, first: int, rows: int, w: Array, out: Array, to: int
    ) -> None:
        """Rows of out, from `to` on, become those of x, from `first` on, times w."""
        k, n = w.shape
        a = x.ctypes.data + first * k * size
        if rows <= FEW:
            for r in range(rows):
                add_rows(run(a + r * k * size, k), w, out[to + r])
            return
        piece = max(SMALL // (rows * k), 8)
        for j in range(0, n, piece):
            count = min(piece, n - j)
            b, c = w.ctypes.data + j * size, out.ctypes.data + (to * n + j) * size
            multiply(blas, rows, count, k, a, k, b, n, c, n, False, False)

    return by_transposed, by_matrix


@cache
def _lstm(real: Any) -> tuple[Callable[..., None], ...]:
    sigmoid, tanh = functions(real)["sigmoid"], functions(real)["tanh"]
    by_transposed, by_matrix = _products(real)
    one = real(1)

    @step
    def open_gates(gate: Array, given: Array, bias: Array) -> None:
        for j in range(len(gate)):
            gate[j] = sigmoid(gate[j] + (given[j] + bias[j]))

    @step
    def bend(gate: Array, given: Array, bias: Array) -> None:
        for j in range(len(gate)):
            gate[j] = tanh(gate[j] + (given[j] + bias[j]))

    @step
    def advance(
        gate: Array, given: Array, bias: Array, c: Array, old: Array, curved: Array, h: Array
    ) -> None:
        """One row: gates from what input and state give; from them the next cell and state."""
        n = len(c)
        open_gates(gate[: 2 * n], given[: 2 * n], bias[: 2 * n])
        bend(gate[2 * n : 3 * n], given[2 * n : 3 * n], bias[2 * n : 3 * n])
        open_gates(gate[3 * n :], given[3 * n :], bias[3 * n :])
        i, f, g, o = _quarters(gate, n)
        for j in range(n):
            old[j] = c[j]
        for j in range(n):
            c[j] = f[j] * c[j] + i[j] * g[j]
        for j in range(n):
            curved[j] = tanh(c[j])
        for j in range(n):
            h[j] = o[j] * curved[j]

    def lstm(
        task: int, tasks: int, blas: int, steps: Array, gates: Array, w_hh: Array, bias: Array,
        w_hr: Array, h: Array, c: Array, out: Array, before: Array, cells: Array, tanhs: Array,
        product: Array, full: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(h))
        projects, wide = w_hr.shape[0] > 0, h.shape[1]
        for t in range(len(steps)):
            start, own = steps[t, 0], min(last, steps[t, 1]) - first
            if own <= 0:
                continue
            by_transposed(blas, h, first, own, w_hh, product, first)
            for r in range(first, first + own):
                at = start + r
                previous, state = before[at], h[r]
                for j in range(wide):
                    previous[j] = state[j]
                made = full[r] if projects else out[at]
                advance(gates[at], product[r], bias, c[r], cells[at], tanhs[at], made)
            if projects:
                by_transposed(blas, full, first, own, w_hr, out, start + first)
            for r in range(first, first + own):
                state, made = h[r], out[start + r]
                for j in range(wide):
                    state[j] = made[j]

    @step
    def retreat(gate: Array, old: Array, curved: Array, h: Array, c: Array, slope: Array) -> None:
        """One row: gradients of the gates before their curves; c's becomes that of the cell before."""
        n = len(c)
        i, f, g, o = _quarters(gate, n)
        di, df, dg, do = _quarters(slope, n)
        for j in range(n):
            c[j] += h[j] * o[j] * (one - curved[j] * curved[j])
        for j in range(n):
            do[j] = h[j] * curved[j] * o[j] * (one - o[j])
        for j in range(n):
            di[j] = c[j] * g[j] * i[j] * (one - i[j])
        for j in range(n):
            dg[j] = c[j] * i[j] * (one - g[j] * g[j])
        for j in range(n):
            df[j] = c[j] * old[j] * f[j] * (one - f[j])
        for j in range(n):
            c[j] *= f[j]

    def lstm_backward(
        task: int, tasks: int, blas: int, steps: Array, gates: Array, w_hh: Array, w_hr: Array,
        gy: Array, dh: Array, dc: Array, cells: Array, tanhs: Array, slopes: Array,
        projected: Array, full: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(dh))
        projects, wide = w_hr.shape[0] > 0, dh.shape[1]
        for t in range(len(steps)):
            start, own = steps[t, 0], min(last, steps[t, 1]) - first
            if own <= 0:
                continue
            for r in range(first, first + own):
                arrived, given = dh[r], gy[start + r]
                for j in range(wide):
                    arrived[j] += given[j]
                if projects:
                    kept = projected[start + r]
                    for j in range(wide):
                        kept[j] = arrived[j]
            if projects:
                by_matrix(blas, dh, first, own, w_hr, full, first)
            for r in range(first, first + own):
                at = start + r
                arrived = full[r] if projects else dh[r]
                retreat(gates[at], cells[at], tanhs[at], arrived, dc[r], slopes[at])
            by_matrix(blas, slopes, start + first, own, w_hh, dh, first)

    return lstm, lstm_backward


@cache
def _gru(real: Any) -> tuple[Callable[..., None], ...]:
    sigmoid, tanh = functions(real)["sigmoid"], functions(real)["tanh"]
    by_transposed, by_matrix = _products(real)
    one = real(1)

    @step
    def open_gates(gate: Array, given: Array, bias: Array) -> None:
        for j in range(len(gate)):
            gate[j] = sigmoid(gate[j] + (given[j] + bias[j]))

    @step
    def bend(new: Array, r: Array, inner: Array) -> None:
        for j in range(len(new)):
            new[j] = tanh(new[j] + r[j] * inner[j])

    @step
    def advance(
        gate: Array, given: Array, bias: Array, h: Array, kept: Array, old: Array, out: Array
    ) -> None:
        """One row: gates from what input and state give; from them the next state."""
        n = len(h)
        r, z, new, _ = _quarters(gate, n)
        open_gates(gate[: 2 * n], given[: 2 * n], bias[: 2 * n])
        given_new, bias_new = given[2 * n :], bias[2 * n :]
        for j in range(n):
            kept[j] = given_new[j] + bias_new[j]
        bend(new, r, kept)
        for j in range(n):
            old[j] = h[j]
        for j in range(n):
            h[j] = (h[j] - new[j]) * z[j] + new[j]
        for j in range(n):
            out[j] = h[j]

    def gru(
        task: int, tasks: int, blas: int, steps: Array, gates: Array, w_hh: Array, bias: Array,
        h: Array, out: Array, before: Array, inner: Array, product: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(h))
        for t in range(len(steps)):
            start, own = steps[t, 0], min(last, steps[t, 1]) - first
            if own <= 0:
                continue
            by_transposed(blas, h, first, own, w_hh, product, first)
            for r in range(first, first + own):
                at = start + r
                advance(gates[at], product[r], bias, h[r], inner[at], before[at], out[at])

    @step
    def retreat(
        gate: Array, old: Array, kept: Array, given: Array, d: Array, a: Array, b: Array
    ) -> None:
        """One row: gradients of the gates before their curves; d becomes what passed straight through."""
        n = len(d)
        r, z, new, _ = _quarters(gate, n)
        dr, dz, dn, _ = _quarters(a, n)
        for j in range(n):
            d[j] += given[j]
        for j in range(n):
            dn[j] = d[j] * (one - z[j]) * (one - new[j] * new[j])
        for j in range(n):
            dz[j] = d[j] * (old[j] - new[j]) * z[j] * (one - z[j])
        for j in range(n):
            dr[j] = dn[j] * kept[j] * r[j] * (one - r[j])
        for j in range(n):
            d[j] *= z[j]
        for j in range(2 * n):
            b[j] = a[j]
        by_new = b[2 * n :]
        for j in range(n):
            by_new[j] = dn[j] * r[j]

    def gru_backward(
        task: int, tasks: int, blas: int, steps: Array, gates: Array, w_hh: Array,
        gy: Array, dh: Array, before: Array, inner: Array, by_input: Array, by_state: Array,
        product: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(dh))
        wide = dh.shape[1]
        for t in range(len(steps)):
            start, own = steps[t, 0], min(last, steps[t, 1]) - first
            if own <= 0:
                continue
            for r in range(first, first + own):
                at = start + r
                retreat(gates[at], before[at], inner[at], gy[at], dh[r], by_input[at], by_state[at])
            by_matrix(blas, by_state, start + first, own, w_hh, product, first)
            for r in range(first, first + own):
                d, more = dh[r], product[r]
                for j in range(wide):
                    d[j] += more[j]

    return gru, gru_backward
