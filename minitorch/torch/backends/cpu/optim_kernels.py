"""The loop around an optimizer's formula: one call for all parameters of a type.

The kernel is given a table of addresses, one row for each parameter, and splits all elements
evenly among the cores. Products are not added in one step here, so that kernels and NumPy agree
to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple

from .kernels import INSIDE, parallel, run_at, step
from .runs import share

Array = Any


def run(formula: Callable[..., Any], kind: Any, jobs: list[tuple[list[Array], Any]]) -> None:
    """Apply a formula to all parameters; their arrays are runs of memory of one type."""
    table = np.array(
        [
            [a.__array_interface__["data"][0] for a in arrays] + [arrays[0].size]
            for arrays, _ in jobs
        ]
    )
    numbers = np.array([numbers for _, numbers in jobs], kind)
    kernel = _kernel(formula, kind.type, len(jobs[0][0]) - 2)
    kernel(int(table[:, -1].sum()), table, numbers)


@cache
def _kernel(formula: Callable[..., Any], real: Any, memories: int) -> Any:
    """The kernel of a formula that remembers so many numbers of each element."""
    body = njit(fastmath=False, forceinline=True, **INSIDE)(formula)
    itemsize = np.dtype(real).itemsize
    count = len(signature(formula).parameters) - memories - 2
    sweep = step(_SWEEPS[memories](body, run_at(real), count))

    def update(task: int, tasks: int, table: Array, numbers: Array) -> None:
        last = table.shape[1] - 1
        total = 0
        for k in range(len(table)):
            total += table[k, last]
        begin, end = share(task, tasks, total)
        for k in range(len(table)):
            size = table[k, last]
            first, stop = max(begin, 0), min(end, size)
            if first < stop:
                sweep(table[k], first * itemsize, stop - first, numbers[k])
            begin -= size
            end -= size

    return parallel(update)


def _sweep_0(body: Any, at: Any, count: int) -> Any:
    def sweep(places: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g = at(places[0] + start, size), at(places[1] + start, size)
        for i in range(size):
            (p[i],) = body(p[i], g[i], *values)

    return sweep


def _sweep_1(body: Any, at: Any, count: int) -> Any:
    def sweep(places: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g, a = (
            at(places[0] + start, size),
            at(places[1] + start, size),
            at(places[2] + start, size),
        )
        for i in range(size):
            p[i], a[i] = body(p[i], g[i], a[i], *values)

    return sweep


def _sweep_2(body: Any, at: Any, count: int) -> Any:
    def sweep(places: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g = at(places[0] + start, size), at(places[1] + start, size)
        a, b = at(places[2] + start, size), at(places[3] + start, size)
        for i in range(size):
            p[i], a[i], b[i] = body(p[i], g[i], a[i], b[i], *values)

    return sweep


def _sweep_3(body: Any, at: Any, count: int) -> Any:
    def sweep(places: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g, a = (
            at(places[0] + start, size),
            at(places[1] + start, size),
            at(places[2] + start, size),
        )
        b, c = at(places[3] + start, size), at(places[4] + start, size)
        for i in range(size):
            p[i], a[i], b[i], c[i] = body(p[i], g[i], a[i], b[i], c[i], *values)

    return sweep


_SWEEPS = (_sweep_0, _sweep_1, _sweep_2, _sweep_3)
"""The loops, by how many numbers are remembered of each element."""
