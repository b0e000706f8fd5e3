"""The loop around an optimizer's formula: one call for all parameters of a type.

The kernel is given a table of arrays, one row for each parameter, and splits all elements among the
cores. Products are not added in one step here, so that kernels and NumPy agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from numba.np.unsafe import ndarray

from ....jit import compile_part
from .kernels import INSIDE, parallel, part, run_at, step
from .runs import share

Array = Any
to_fixed_tuple: Any = ndarray.to_fixed_tuple

LIGHT = 64
"""How many elements take as long as one of other kernels: cores help when there are millions."""

HEADER = object.__basicsize__
"""Where in an array, as an object of Python, the address of its memory stands: NumPy's C API says so."""


def run(formula: Callable[..., Any], kind: Any, jobs: list[tuple[list[Array], Any]]) -> None:
    """Apply a formula to all parameters; their arrays are runs of memory of one type."""
    table, total = [], 0
    for arrays, _ in jobs:
        size = arrays[0].size
        total += size
        table.append([size, *map(id, arrays)])
    kernel = _kernel(formula, kind.type, len(jobs[0][0]) - 2)
    kernel(total // LIGHT, np.array(table), np.array([numbers for _, numbers in jobs], kind))


@cache
def _kernel(formula: Callable[..., Any], real: Any, memories: int) -> Any:
    """The kernel of a formula that remembers so many numbers of each element."""
    body = compile_part(formula, fastmath=(), forceinline=True, **INSIDE)
    count = len(signature(formula).parameters) - memories - 2
    sweep = step(_SWEEPS[memories](body, _run_of(real), count))

    def update(task: int, tasks: int, table: Array, numbers: Array) -> None:
        begin, end = share(task, tasks, table[:, 0].sum())
        for k in range(len(table)):
            size = table[k, 0]
            first, stop = max(begin, 0), min(end, size)
            if first < stop:
                sweep(table[k, 1:], first, stop - first, numbers[k])
            begin -= size
            end -= size

    return parallel(update)


@cache
def _run_of(real: Any) -> Any:
    """For use in kernels: part of the memory of an array, which is given as an object of Python."""
    numbers_at, address_at = run_at(real), run_at(np.int64)
    itemsize = np.dtype(real).itemsize

    @part
    def run_of(array: int, start: int, size: int) -> Any:
        return numbers_at(address_at(array + HEADER, 1)[0] + start * itemsize, size)

    return run_of


def _sweep_0(body: Any, run: Any, count: int) -> Any:
    def sweep(arrays: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g = run(arrays[0], start, size), run(arrays[1], start, size)
        for i in range(size):
            (p[i],) = body(p[i], g[i], *values)

    return sweep


def _sweep_1(body: Any, run: Any, count: int) -> Any:
    def sweep(arrays: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g, a = (
            run(arrays[0], start, size),
            run(arrays[1], start, size),
            run(arrays[2], start, size),
        )
        for i in range(size):
            p[i], a[i] = body(p[i], g[i], a[i], *values)

    return sweep


def _sweep_2(body: Any, run: Any, count: int) -> Any:
    def sweep(arrays: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g = run(arrays[0], start, size), run(arrays[1], start, size)
        a, b = run(arrays[2], start, size), run(arrays[3], start, size)
        for i in range(size):
            p[i], a[i], b[i] = body(p[i], g[i], a[i], b[i], *values)

    return sweep


def _sweep_3(body: Any, run: Any, count: int) -> Any:
    def sweep(arrays: Array, start: int, size: int, numbers: Array) -> None:
        values = to_fixed_tuple(numbers, count)
        p, g, a = (
            run(arrays[0], start, size),
            run(arrays[1], start, size),
            run(arrays[2], start, size),
        )
        b, c = run(arrays[3], start, size), run(arrays[4], start, size)
        for i in range(size):
            p[i], a[i], b[i], c[i] = body(p[i], g[i], a[i], b[i], c[i], *values)

    return sweep


_SWEEPS = (_sweep_0, _sweep_1, _sweep_2, _sweep_3)
"""The loops, by how many numbers are remembered of each element."""
