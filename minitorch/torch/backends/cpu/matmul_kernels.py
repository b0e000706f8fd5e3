"""Kernels of matmul.py: tasks that each ask the BLAS for a part of a product."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ....threads import NUMPY, blas_of, numpy_on_one_thread
from .blas import address_of_product, product
from .kernels import PARALLEL, PRODUCTS, parallel, run_at, tasks_for
from .runs import share

Array = Any


def usable(real: Any) -> bool:
    """Whether products can be shared out here: there are threads, and a BLAS that can be called."""
    return tasks_for(PARALLEL) > 1 and bool(address_of_product(real) and blas_of(NUMPY))


def multiply(a: Array, b: Array, out: Array, bias: Array | None = None) -> None:
    """out[i] = a[i] b[i], plus the bias in each row; a or b may be one matrix for all i."""
    real = out.dtype.type
    m, n = out.shape[-2:]
    k = a.shape[-1]
    start = _first(out) if bias is None else bias.reshape(1, n)
    with numpy_on_one_thread():
        _multiply(real)(
            out.size * k // PRODUCTS, address_of_product(real), out.size // (m * n), m, n, k,
            *_operand(a), *_operand(b), _first(out), start, bias is not None,
        )  # fmt: skip


def _operand(x: Array) -> tuple[Array, int, int, bool]:
    """How a BLAS reads matrices: where they are, the step from one to the next, the length of a row, whether turned."""
    size = x.itemsize
    height, length = x.shape[-2:]
    rows, columns = x.strides[-2:]
    turned = rows == size and columns >= size * height and not columns % size
    if columns == size and rows >= size * length and not rows % size:
        turned = False
    elif not turned:
        x = np.ascontiguousarray(x)
        rows = size * length
    step = x.strides[0] if x.ndim == 3 else 0
    return _first(x), step, (columns if turned else rows) // size, turned


def _first(x: Array) -> Array:
    """The first number, which says where the rest is: an array of one type, however the rest lies."""
    return x[(0,) * (x.ndim - 2)][:1, :1]


@cache
def _multiply(real: Any) -> Callable[..., None]:
    gemm, run, size = product(real), run_at(real), np.dtype(real).itemsize

    def multiply(
        task: int, tasks: int, blas: int, count: int, m: int, n: int, k: int,
        a: Array, a_step: int, a_width: int, a_turned: bool,
        b: Array, b_step: int, b_width: int, b_turned: bool, c: Array, bias: Array, biased: bool,
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
        from_a = a.ctypes.data + size * (top if a_turned else top * a_width)
        from_b = b.ctypes.data + size * (left * b_width if b_turned else left)
        for i in range(first, last):
            from_c = c.ctypes.data + size * ((i * m + top) * n + left)
            if biased:
                start = bias[0, left:right]
                for r in range(bottom - top):
                    row = run(from_c + size * r * n, right - left)
                    for j in range(len(row)):
                        row[j] = start[j]
            gemm(
                blas, bottom - top, right - left, k, from_a + i * a_step, a_width,
                from_b + i * b_step, b_width, from_c, n, a_turned, b_turned, biased,
            )  # fmt: skip

    return parallel(multiply)
