"""Kernels of matmul.py: tasks that each ask the BLAS for a part of a product."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .blas import NAMES, address_of_product, product
from .kernels import parallel, run_at
from .runs import share

Array = Any


def usable(real: Any) -> bool:
    """Whether products can be shared out here."""
    return bool(address_of_product(real) and _set_threads())


@cache
def _set_threads() -> Any:
    """How NumPy's BLAS is told, and asked, on how many threads it runs; None if it cannot be."""
    library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    for name in NAMES:
        name = name.replace("cblas_{}", "openblas_{}_num_threads")
        try:
            return getattr(library, name.format("set")), getattr(library, name.format("get"))
        except AttributeError:
            continue
    return None


WEIGHT = 40
"""How many multiplications are worth as much as what other kernels do for an element."""


def multiply(a: Array, b: Array, out: Array, bias: Array | None = None) -> None:
    """out[i] = a[i] b[i], plus the bias in each row; a stack of one matrix is the same for all i."""
    real = out.dtype.type
    count, m, n = out.shape
    k = a.shape[2]
    places = *_place(a, count), *_place(b, count), _address(out)
    start = 0 if bias is None else _address(bias)
    set_threads, get_threads = _set_threads()
    before = get_threads()
    if before > 1:
        set_threads(1)
    try:
        work = out.size * k // WEIGHT
        _multiply(real)(work, address_of_product(real), count, m, n, k, *places, start)
    finally:
        if before > 1:
            set_threads(before)


def _place(x: Array, count: int) -> tuple[int, int, int, int]:
    """Where a stack begins, the step from one matrix to the next, the length of a row, whether turned."""
    size = x.itemsize
    step, rows, columns = x.strides
    turned = columns != size
    width = columns // size if turned else rows // size
    width = max(width, x.shape[1 if turned else 2])  # strides of single rows may be anything
    return _address(x), step if len(x) == count else 0, width, int(turned)


def _address(x: Array) -> int:
    return x.__array_interface__["data"][0]


@cache
def _multiply(real: Any) -> Callable[..., None]:
    gemm, run, size = product(real), run_at(real), np.dtype(real).itemsize

    def multiply(
        task: int, tasks: int, blas: int, count: int, m: int, n: int, k: int,
        a: int, a_step: int, a_width: int, a_turned: int,
        b: int, b_step: int, b_width: int, b_turned: int, c: int, bias: int,
    ) -> None:  # fmt: skip
        whole = count >= tasks  # tasks share the matrices; else the rows or columns of each
        first, last = share(task, tasks, count) if whole else (0, count)
        top, bottom, left, right = 0, m, 0, n
        if not whole and m >= n:
            top, bottom = share(task, tasks, m)
        elif not whole:
            left, right = share(task, tasks, n)
        if bottom <= top or right <= left:
            return
        from_a = a + size * (top if a_turned else top * a_width)
        from_b = b + size * (left * b_width if b_turned else left)
        for i in range(first, last):
            from_c = c + size * ((i * m + top) * n + left)
            if bias:
                start = run(bias + size * left, right - left)
                for r in range(bottom - top):
                    row = run(from_c + size * r * n, right - left)
                    for j in range(len(row)):
                        row[j] = start[j]
            gemm(
                blas, bottom - top, right - left, k, from_a + i * a_step, a_width,
                from_b + i * b_step, b_width, from_c, n, a_turned != 0, b_turned != 0, bias != 0,
            )  # fmt: skip

    return parallel(multiply)
