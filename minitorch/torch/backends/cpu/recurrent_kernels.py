"""Kernels of recurrent.py: one pass over the gates of a step."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .kernels import parallel
from .runs import share
from .scalars import functions

Array = Any


@cache
def compiled(name: str, real: Any) -> Callable[..., None]:
    """The kernel of this name for a type of number, to be called as its twin in NumPy."""
    run = parallel(next(body for body in (*_lstm(real), *_gru(real)) if body.__name__ == name))

    def step(*arrays: Array) -> None:
        run(arrays[0].size, *arrays)

    return step


@cache
def _lstm(real: Any) -> tuple[Callable[..., None], ...]:
    sigmoid, tanh = functions(real)["sigmoid"], functions(real)["tanh"]
    one = real(1)

    def lstm_step(
        task: int, tasks: int, gates: Array, product: Array, c: Array,
        cells: Array, tanhs: Array, out: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = c.shape[1]
        for row in range(first, last):
            gate, given = gates[row], product[row]
            for j in range(2 * n):
                gate[j] = sigmoid(gate[j] + given[j])
            for j in range(2 * n, 3 * n):
                gate[j] = tanh(gate[j] + given[j])
            for j in range(3 * n, 4 * n):
                gate[j] = sigmoid(gate[j] + given[j])
            cell, old, curved, h = c[row], cells[row], tanhs[row], out[row]
            for j in range(n):
                old[j] = cell[j]
                cell[j] = gate[n + j] * cell[j] + gate[j] * gate[2 * n + j]
            for j in range(n):
                curved[j] = tanh(cell[j])
                h[j] = gate[3 * n + j] * curved[j]

    def lstm_step_backward(
        task: int, tasks: int, gates: Array, cells: Array, tanhs: Array,
        dh: Array, dc: Array, slopes: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = cells.shape[1]
        for row in range(first, last):
            gate, old, curved = gates[row], cells[row], tanhs[row]
            h, c, slope = dh[row], dc[row], slopes[row]
            for j in range(n):
                o, t = gate[3 * n + j], curved[j]
                c[j] += h[j] * o * (one - t * t)
                slope[3 * n + j] = h[j] * t * o * (one - o)
            for j in range(n):
                i, g = gate[j], gate[2 * n + j]
                slope[j] = c[j] * g * i * (one - i)
                slope[2 * n + j] = c[j] * i * (one - g * g)
            for j in range(n):
                f = gate[n + j]
                slope[n + j] = c[j] * old[j] * f * (one - f)
                c[j] *= f

    return lstm_step, lstm_step_backward


@cache
def _gru(real: Any) -> tuple[Callable[..., None], ...]:
    sigmoid, tanh = functions(real)["sigmoid"], functions(real)["tanh"]
    one = real(1)

    def gru_step(
        task: int, tasks: int, gates: Array, product: Array, bias: Array,
        state: Array, inner: Array, out: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = state.shape[1]
        for row in range(first, last):
            gate, given = gates[row], product[row]
            for j in range(2 * n):
                gate[j] = sigmoid(gate[j] + (given[j] + bias[j]))
            h, kept, o = state[row], inner[row], out[row]
            for j in range(n):
                kept[j] = given[2 * n + j] + bias[2 * n + j]
                gate[2 * n + j] = tanh(gate[2 * n + j] + gate[j] * kept[j])
            for j in range(n):
                new = gate[2 * n + j]
                h[j] = (h[j] - new) * gate[n + j] + new
                o[j] = h[j]

    def gru_step_backward(
        task: int, tasks: int, gates: Array, before: Array, inner: Array, gy: Array,
        dh: Array, by_input: Array, by_state: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(gates))
        n = before.shape[1]
        for row in range(first, last):
            gate, old, kept = gates[row], before[row], inner[row]
            d, given, a, b = dh[row], gy[row], by_input[row], by_state[row]
            for j in range(n):
                z, new = gate[n + j], gate[2 * n + j]
                d[j] += given[j]
                a[2 * n + j] = d[j] * (one - z) * (one - new * new)
                a[n + j] = d[j] * (old[j] - new) * z * (one - z)
                d[j] *= z
            for j in range(n):
                r = gate[j]
                a[j] = a[2 * n + j] * kept[j] * r * (one - r)
                b[2 * n + j] = a[2 * n + j] * r
            for j in range(2 * n):
                b[j] = a[j]

    return gru_step, gru_step_backward
