"""Programs: lists of compiled functions and their arguments that one compiled loop runs.

Every function of a program has the signature `entry(block, task, tasks)`: it does one of so many tasks, with arguments
that it finds at the address `block`, eight bytes each. So a program is an array of addresses, and between
its entries there is no Python. An entry that is worth it runs on all threads, by the parallel loop that all kernels share.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import int64, void

from ....jit import compile_part
from . import kernels
from .blas import address_of_product, gemm, itemsize
from .kernels import (
    INSIDE,
    REGROUPED,
    TASK,
    address_of,
    compile_for,
    from_source,
    function_at,
    inline,
    number,
    run_at,
    scalar_function,
    share,
)
from .optim_kernels import update_of

_entry_at = function_at(TASK)
words = run_at(np.int64)
doubles = run_at(np.float64)


@cache
def runner() -> Any:
    """The loop: `run(program, count, patches, patched, addresses, threads, launch)`, all of them whole numbers.

    `program` is the address of rows (function, block, whether on all threads). Before it starts, the `patches` are
    applied, rows (place, which, offset): the word at `place` becomes `addresses[which] + offset`.
    """

    def run(
        program: int, count: int, patches: int, patched: int, addresses: int, threads: int, launch: int
    ) -> None:  # fmt: skip
        rows = words(patches, 3 * patched)
        for k in range(patched):
            start = words(addresses + 8 * rows[3 * k + 1], 1)[0]
            words(rows[3 * k], 1)[0] = start + rows[3 * k + 2]
        steps = words(program, 3 * count)
        for k in range(count):
            entry, block = steps[3 * k], steps[3 * k + 1]
            if steps[3 * k + 2] != 0 and threads > 1:
                _entry_at(launch)(entry, block, threads)
            else:
                _entry_at(entry)(block, np.int64(0), np.int64(1))

    return compile_for(run, void(*[int64] * 7))


def launcher() -> int:
    """The address of the parallel loop."""
    return kernels._launcher()


def can_multiply() -> bool:
    """Whether there is a BLAS that programs can call, and that can be told to use one thread."""
    return address_of_product(np.float32) != 0


def _compiled_entry(fn: Any, real: Any) -> int:
    return address_of(compile_for(fn, TASK, real), TASK)


# --- Products of matrices -----------------------------------------------------------------------------


@cache
def product_entry(real: Any) -> int:
    """C = A B, rows or columns of it shared among the tasks.

    Its words: m, n, k; address, length of a row and whether it is stored transposed, of A and of B; address and length
    of a row of C; what `address_of_product` gives.
    """
    return _compiled_entry(_product, real)


def _product(block: int, task: int, tasks: int) -> None:
    w = words(block, 12)
    m, n, k = w[0], w[1], w[2]
    top, bottom, left, right = 0, m, 0, n
    if m >= n:
        top, bottom = share(task, tasks, m)
    else:
        left, right = share(task, tasks, n)
    if bottom > top and right > left:
        a = w[3] + itemsize * (top if w[5] else top * w[4])
        b = w[6] + itemsize * (left * w[7] if w[8] else left)
        c = w[9] + itemsize * (top * w[10] + left)
        gemm(w[11], (bottom - top, right - left, k), (a, w[4], w[5] != 0), (b, w[7], w[8] != 0), (c, w[10]), False)  # fmt: skip


# --- Steps of optimizers ------------------------------------------------------------------------------


@cache
def update_entry(formula: Any, real: Any, columns: int, numbers: int) -> int:
    """A step of an optimizer for all parameters of a table.

    Its words: rows of the table; its address; how many sets of numbers there are; their address. The table is as in
    `optim_kernels`; a formula takes so many `numbers`.
    """
    update, numbers_of = update_of(formula, real, columns), run_at(real)
    width = 2 + columns

    def entry(block: int, task: int, tasks: int) -> None:
        w = words(block, 4)
        table = words(w[1], w[0] * width).reshape(w[0], width)
        update(task, tasks, table, numbers_of(w[3], w[2] * numbers).reshape(w[2], numbers))

    entry.__module__ = __name__
    return _compiled_entry(entry, real)


# --- Loops around scalar functions --------------------------------------------------------------------


@inline
def _plus(total: Any, x: Any) -> Any:
    return total + np.float64(x)


_summed = compile_part(_plus, REGROUPED, forceinline=True, **INSIDE)

_NAMES: dict[str, Any] = {
    "words": words, "double": doubles, "share": share, "number": number, "wide": np.float64, "plus": _summed,
    "float32": run_at(np.float32), "float64": run_at(np.float64), "bool": run_at(np.bool_),
    "int64": run_at(np.int64), "int32": run_at(np.int32), "uint8": run_at(np.uint8),
}  # fmt: skip
"""What the source of loops names, besides scalar functions."""


@cache
def loop_entry(source: str, scalars: tuple[tuple[str, Any], ...], real: Any) -> int:
    """A loop that is given as the source of a function `loop(block, task, tasks)`.

    Args:
        source: of the function
        scalars: names that it has for scalar functions
        real: the type of its numbers
    """
    names = {name: scalar_function(fn) for name, fn in scalars}
    return _compiled_entry(from_source(source, **_NAMES, **names), real)
