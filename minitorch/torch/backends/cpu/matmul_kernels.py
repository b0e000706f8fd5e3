"""Kernels of matmul.py: tasks that each ask the BLAS for a part of a product."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....threads import numpy_on_one_thread
from .blas import address_of_product, gemm, itemsize
from .kernels import PARALLEL, PRODUCTS, kernel, numbers_at, share, tasks_for

Array = Any


def usable(real: Any) -> bool:
    """Whether products can be shared out here: there are threads, and a BLAS that can be called."""
    return tasks_for(PARALLEL) > 1 and address_of_product(real) != 0


def multiply(a: Array, b: Array, out: Array, bias: Array | None = None) -> None:
    """out[i] = a[i] b[i], plus the bias in each row; a or b may be one matrix for all i."""
    real = out.dtype.type
    m, n = out.shape[-2:]
    k = a.shape[-1]
    start = _first(out) if bias is None else bias.reshape(1, n)
    with numpy_on_one_thread():
        a, a_layout = _operand(a)
        b, b_layout = _operand(b)
        _multiply(
            out.size * k // PRODUCTS, _first(out), a, b, start, (out.size // (m * n), m, n, k),
            a_layout, b_layout, address_of_product(real), bias is not None,
        )  # fmt: skip


def _operand(x: Array) -> tuple[Array, tuple[int, int, bool]]:
    """How a BLAS reads matrices: their first number, and their layout as `_multiply` takes it."""
    size = x.itemsize
    height, length = x.shape[-2:]
    rows, columns = x.strides[-2:]
    transposed = rows == size and columns >= size * height and not columns % size
    if columns == size and rows >= size * length and not rows % size:
        transposed = False
    elif not transposed:
        x = np.ascontiguousarray(x)
        rows = size * length
    step = x.strides[0] if x.ndim == 3 else 0
    return _first(x), (step, (columns if transposed else rows) // size, transposed)


def _first(x: Array) -> Array:
    """The first number, which says where the rest is: an array of one type, however the rest lies."""
    return x[(0,) * (x.ndim - 2)][:1, :1]


@kernel
def _multiply(
    task: int, tasks: int, c: Array, a: Array, b: Array, bias: Array, sizes: Any, a_layout: Any, b_layout: Any,
    blas: int, biased: bool,
) -> None:  # fmt: skip
    """Products of matrices: all of a task, or some of the rows or columns of each.

    Args:
        task: of so many `tasks`
        tasks: among which they are shared
        c: the first number of the products, which follow each other in memory; a, b likewise
        a: the first number of the matrices on the left
        b: the first number of those on the right
        bias: (1, n), which the products are added to, if `biased`
        sizes: (how many, m, n, k)
        a_layout: bytes from one matrix to the next, length of a row, whether stored transposed
        b_layout: the same for those on the right
        blas: what `address_of_product` gives
        biased: whether there is a bias
    """
    count, m, n, k = sizes
    a_step, a_width, a_transposed = a_layout
    b_step, b_width, b_transposed = b_layout
    whole = count >= tasks
    first, last = share(task, tasks, count) if whole else (0, count)
    top, bottom, left, right = 0, m, 0, n
    if not whole and m >= n:
        top, bottom = share(task, tasks, m)
    elif not whole:
        left, right = share(task, tasks, n)
    if bottom <= top or right <= left:
        return
    from_a = a.ctypes.data + itemsize * (top if a_transposed else top * a_width)
    from_b = b.ctypes.data + itemsize * (left * b_width if b_transposed else left)
    for i in range(first, last):
        from_c = c.ctypes.data + itemsize * ((i * m + top) * n + left)
        if biased:
            start = bias[0, left:right]
            for r in range(bottom - top):
                row = numbers_at(from_c + itemsize * r * n, right - left)
                for j in range(len(row)):
                    row[j] = start[j]
        left_matrix = (from_a + i * a_step, a_width, a_transposed)
        right_matrix = (from_b + i * b_step, b_width, b_transposed)
        gemm(blas, (bottom - top, right - left, k), left_matrix, right_matrix, (from_c, n), biased)
