"""Kernels of recurrent.py: one pass over the gates of a step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .kernels import parallel, part, step
from .runs import share
from .scalars import functions

Array = Any


@cache
def compiled(name: str, real: Any) -> Callable[..., None]:
    """The kernel of this name for a type of number, to be called as its twin in NumPy."""
    run = parallel(next(body for body in (*_lstm(real), *_gru(real)) if body.__name__ == name))

    def call(*arrays: Array) -> None:
        run(arrays[0].size, *arrays)

    return call


# Loops begin at 0 and look at slices: an index that is a sum could be negative, for all that the
# compiler knows, and it would not use vector instructions.


@part
def _quarters(row: Array, n: int) -> Any:
    """The first four parts, of n elements each."""
    return row[:n], row[n : 2 * n], row[2 * n : 3 * n], row[3 * n :]


@cache
def _lstm(real: Any) -> tuple[Callable[..., None], ...]:
    sigmoid, tanh = functions(real)["sigmoid"], functions(real)["tanh"]
    one = real(1)

    @step
    def open_gates(gate: Array, given: Array, bias: Array) -> None:
        for j in range(len(gate)):
            gate[j] = sigmoid(gate[j] + (given[j] + bias[j]))

    @step
    def bend(gate: Array, given: Array, bias: Array) -> None:
        for j in range(len(gate)):
            gate[j] = tanh(gate[j] + (given[j] + bias[j]))

    def lstm_step(
        task: int, tasks: int, gates: Array, product: Array, bias: Array, c: Array,
        cells: Array, tanhs: Array, state: Array, before: Array, out: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = c.shape[1]
        for row in range(first, last):
            gate, given = gates[row], product[row]
            open_gates(gate[: 2 * n], given[: 2 * n], bias[: 2 * n])
            bend(gate[2 * n : 3 * n], given[2 * n : 3 * n], bias[2 * n : 3 * n])
            open_gates(gate[3 * n :], given[3 * n :], bias[3 * n :])
            i, f, g, o = _quarters(gate, n)
            cell, old, curved = c[row], cells[row], tanhs[row]
            h, previous, made = state[row], before[row], out[row]
            for j in range(n):
                old[j] = cell[j]
                previous[j] = h[j]
            for j in range(n):
                cell[j] = f[j] * cell[j] + i[j] * g[j]
            for j in range(n):
                curved[j] = tanh(cell[j])
            for j in range(n):
                h[j] = o[j] * curved[j]
            for j in range(n):
                made[j] = h[j]

    def lstm_step_backward(
        task: int, tasks: int, gates: Array, cells: Array, tanhs: Array,
        dh: Array, gy: Array, dc: Array, slopes: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = cells.shape[1]
        for row in range(first, last):
            i, f, g, o = _quarters(gates[row], n)
            di, df, dg, do = _quarters(slopes[row], n)
            old, curved, h, c, given = cells[row], tanhs[row], dh[row], dc[row], gy[row]
            for j in range(n):
                h[j] += given[j]
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

    return lstm_step, lstm_step_backward


@cache
def _gru(real: Any) -> tuple[Callable[..., None], ...]:
    sigmoid, tanh = functions(real)["sigmoid"], functions(real)["tanh"]
    one = real(1)

    @step
    def open_gates(gate: Array, given: Array, bias: Array) -> None:
        for j in range(len(gate)):
            gate[j] = sigmoid(gate[j] + (given[j] + bias[j]))

    @step
    def bend(new: Array, r: Array, inner: Array) -> None:
        for j in range(len(new)):
            new[j] = tanh(new[j] + r[j] * inner[j])

    def gru_step(
        task: int, tasks: int, gates: Array, product: Array, bias: Array,
        state: Array, before: Array, inner: Array, out: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = state.shape[1]
        for row in range(first, last):
            gate, given, h, kept, o = gates[row], product[row], state[row], inner[row], out[row]
            previous = before[row]
            for j in range(n):
                previous[j] = h[j]
            r, z, new, _ = _quarters(gate, n)
            open_gates(gate[: 2 * n], given[: 2 * n], bias[: 2 * n])
            given_new, bias_new = given[2 * n :], bias[2 * n :]
            for j in range(n):
                kept[j] = given_new[j] + bias_new[j]
            bend(new, r, kept)
            for j in range(n):
                h[j] = (h[j] - new[j]) * z[j] + new[j]
            for j in range(n):
                o[j] = h[j]

    def gru_step_backward(
        task: int, tasks: int, gates: Array, before: Array, inner: Array, gy: Array,
        dh: Array, by_input: Array, by_state: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = before.shape[1]
        for row in range(first, last):
            r, z, new, _ = _quarters(gates[row], n)
            dr, dz, dn, _ = _quarters(by_input[row], n)
            old, kept, d, given, a, b = before[row], inner[row], dh[row], gy[row], by_input[row], by_state[row]  # fmt: skip
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

    return gru_step, gru_step_backward
