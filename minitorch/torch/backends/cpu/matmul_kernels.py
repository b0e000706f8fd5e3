"""Kernels of matmul.py: tasks that each ask the BLAS for a part of a product."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from . import kernels
from .blas import NAMES, address_of_product, product
from .kernels import parallel
from .runs import share

Array = Any


def usable(real: Any) -> bool:
    """Whether products can be shared out here."""
    return kernels.tasks_for(kernels.PARALLEL) > 1 and bool(
        address_of_product(real) and _set_threads()
    )


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


def multiply(a: Array, b: Array, out: Array) -> None:
    """out[i] = a[i] b[i]; a stack of one matrix is the same for all i."""
    real = out.dtype.type
    size = out.itemsize
    count, m, n = out.shape
    k = a.shape[2]
    a_turned, b_turned = a.strides[2] != size, b.strides[2] != size
    set_threads, get_threads = _set_threads()
    before = get_threads()
    set_threads(1)
    try:
        _multiply(real)(
            out.size * k, address_of_product(real), np.array((count, m, n, k)),
            _place(a, a_turned, count), _place(b, b_turned, count), _place(out, False, count),
        )  # fmt: skip
    finally:
        set_threads(before)


def _place(x: Array, turned: bool, count: int) -> Array:
    """Where a stack begins, the step from one matrix to the next, the length of a row, whether turned."""
    step = x.strides[0] if len(x) == count else 0
    width = (x.strides[1] if not turned else x.strides[2]) // x.itemsize
    width = max(
        width, x.shape[1] if turned else x.shape[2]
    )  # strides of single rows may be anything
    return np.array((x.__array_interface__["data"][0], step, width, turned))


@cache
def _multiply(real: Any) -> Callable[..., None]:
    gemm, size = product(real), np.dtype(real).itemsize

    def multiply(
        task: int, tasks: int, blas: int, sizes: Array, a: Array, b: Array, c: Array
    ) -> None:
        count, m, n, k = sizes[0], sizes[1], sizes[2], sizes[3]
        whole = count >= tasks  # tasks share the matrices; else the rows or columns of each
        first, last = share(task, tasks, count) if whole else (0, count)
        top, bottom, left, right = 0, m, 0, n
        if not whole and m >= n:
            top, bottom = share(task, tasks, m)
        elif not whole:
            left, right = share(task, tasks, n)
        if bottom <= top or right <= left:
            return
        from_a = top * size if a[3] else top * a[2] * size
        from_b = left * b[2] * size if b[3] else left * size
        from_c = (top * c[2] + left) * size
        for i in range(first, last):
            gemm(
                blas, bottom - top, right - left, k,
                a[0] + i * a[1] + from_a, a[2], b[0] + i * b[1] + from_b, b[2],
                c[0] + i * c[1] + from_c, c[2], a[3] != 0, b[3] != 0,
            )  # fmt: skip

    return parallel(multiply)
