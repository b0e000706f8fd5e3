"""The loop around an optimizer's formula: one call for all parameters of a type.

The kernel is given a table with a row for each parameter (its size, which numbers it takes, the addresses of
its arrays) and splits all elements among the cores. Products are not added in one step here, so
that kernels and NumPy agree to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
from numba import int64, types
from numba.np.numpy_support import from_dtype
from numba.np.unsafe import ndarray

from ....jit import compile_kernel, compile_part
from ...formulas.arrays import in_order
from .kernels import EXACT, INSIDE, for_type, from_source, inline, kernel, run_at, share

Array = Any
to_fixed_tuple: Any = ndarray.to_fixed_tuple

LIGHT = 64
"""How many elements take as long as one of other kernels: cores help when there are millions."""


def run(
    formula: Callable[..., Any],
    kind: Any,
    columns: Sequence[list[Array]],
    numbers: Sequence[tuple[float, ...]],
) -> list[int]:
    """Apply a formula to all parameters whose arrays are contiguous blocks of one type.

    Args:
        formula: what to do with an element
        kind: the type
        columns: the parameters, their gradients, and what is remembered, a list of arrays each
        numbers: for each parameter those that the formula takes

    Returns:
        the places of parameters that are left
    """
    table = np.zeros((len(numbers), 2 + len(columns)), np.int64)
    fill, fill_new = _fillers(kind, len(columns))
    left, copies, total = [], [], 0
    for k, arrays in enumerate(zip(*columns, strict=True)):
        size = -1
        if arrays[0].dtype is kind and arrays[0].flags.carray:
            if not arrays[1].flags.carray:
                copies.append(in_order(arrays[1]))
                arrays = arrays[0], copies[-1], *arrays[2:]
            try:
                size = fill(table, k, *arrays)
            except TypeError:
                size = fill_new(table, k, *arrays)
        if size < 0:
            table[k, 0] = 0
            left.append(k)
        else:
            total += size
    different = numbers[:1]
    if numbers.count(numbers[0]) != len(numbers):
        different = list(dict.fromkeys(numbers))
        table[:, 1] = [different.index(each) for each in numbers]
    if total:
        kernel = _kernel(formula, kind.type, len(columns))
        kernel(total // LIGHT, table, np.array(different, kind))
    return left


# --- Rows of the table ----------------------------------------------------------------------


@cache
def _fillers(kind: Any, count: int) -> tuple[Any, Callable[..., int]]:
    """Two functions `fill(table, k, *arrays)` that fill a row, for `count` arrays of a type.

    They return the size of the arrays, or -1 where they differ in that. The first one refuses arrays that are
    not contiguous, aligned and writable with a TypeError, and numbers of dimensions that it has not been
    compiled for; the second one compiles it for these and returns -1 for those.
    """
    arrays = ", ".join(f"a{j}" for j in range(count))
    body = from_source(
        f"def fill(table, k, {arrays}):\n    return _fill(table[k], ({arrays}))\n", _fill=_fill
    )
    fill = compile_kernel(body, fastmath=EXACT, pipeline_class=for_type(body, np.int64))
    known = set()

    def learn(dimensions: int) -> None:
        known.add(dimensions)
        array = types.Array(from_dtype(kind), dimensions, "C")
        fill.disable_compile(False)
        fill.compile((types.Array(int64, 2, "C"), int64, *[array] * count))
        fill.disable_compile()

    def fill_new(table: Array, k: int, *arrays: Array) -> int:
        if arrays[0].ndim in known:
            return -1
        learn(arrays[0].ndim)
        try:
            return fill(table, k, *arrays)
        except TypeError:
            return -1

    learn(1)
    return fill, fill_new


@inline
def _fill(row: Array, arrays: Any) -> int:
    size = row[0] = arrays[0].size
    for j in range(len(arrays)):
        row[2 + j] = arrays[j].ctypes.data
        if arrays[j].size != size:
            return -1
    return size


# --- The loop -------------------------------------------------------------------------------


@cache
def _kernel(formula: Callable[..., Any], real: Any, count: int) -> Any:
    """The kernel of a formula over the elements of so many arrays."""
    return kernel(update_of(formula, real, count))


@cache
def update_of(formula: Callable[..., Any], real: Any, count: int) -> Any:
    """A function `update(task, tasks, table, numbers)` that does one of so many tasks."""
    numbers = len(signature(formula).parameters) - 1 - count
    arrays = [f"a{j}" for j in range(count)]
    given = [f"{a}[i]" for a in arrays]
    sweep = from_source(
        "def sweep(row, start, size, numbers):\n"
        + f"    values = to_fixed_tuple(numbers, {numbers})\n"
        + "".join(
            f"    {a} = run(row[{2 + j}] + start * itemsize, size)\n" for j, a in enumerate(arrays)
        )
        + "    for i in range(size):\n"
        + f"        {', '.join(given[:1] + given[2:])}, = body(np, {', '.join(given)}, *values)\n",
        body=compile_part(formula, fastmath=(), forceinline=True, **INSIDE),
        run=run_at(real), itemsize=np.dtype(real).itemsize, to_fixed_tuple=to_fixed_tuple,
    )  # fmt: skip

    def update(task: int, tasks: int, table: Array, numbers: Array) -> None:
        begin, end = share(task, tasks, table[:, 0].sum())
        for k in range(len(table)):
            size = table[k, 0]
            first, stop = max(begin, 0), min(end, size)
            if first < stop:
                sweep(table[k], first, stop - first, numbers[table[k, 1]])
            begin -= size
            end -= size

    return update
