"""Lesson 3: the innermost loops of matrix products, which work on what the caches and registers of a core hold.

`fast_ops` and `fast_conv` cut their matrices into such parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .jit import compile_part

if TYPE_CHECKING:
    from .tensor_data import Storage

TILE_ROWS = 64
TILE_INNER = 64
TILE_COLUMNS = 512


def _pack(storage: Storage, start: int, shape: Any, strides: Any, packed: Any) -> None:
    """Copy a matrix, or a part of one, into the top left of a contiguous array of zeros."""
    for i in range(shape[0]):
        position = start + i * strides[0]
        row = packed[i]
        for j in range(shape[1]):
            row[j] = storage[position + j * strides[1]]


def _multiply_tile(a: Any, b: Any, total: Any, k_range: Any, j_range: Any) -> None:
    """total += a @ b, over a range of inner indices and a range of columns.

    Four rows of a meet four rows of b: sixteen products for eight loads of a run of
    memory and four stores, which keeps the arithmetic units busy. All rows count in fours.
    """
    first, last = j_range
    for i in range(0, a.shape[0], 4):
        t0, t1 = total[i, first:last], total[i + 1, first:last]
        t2, t3 = total[i + 2, first:last], total[i + 3, first:last]
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        for k in range(k_range[0], k_range[1], 4):
            b0, b1 = b[k, first:last], b[k + 1, first:last]
            b2, b3 = b[k + 2, first:last], b[k + 3, first:last]
            a00, a01, a02, a03 = a0[k], a0[k + 1], a0[k + 2], a0[k + 3]
            a10, a11, a12, a13 = a1[k], a1[k + 1], a1[k + 2], a1[k + 3]
            a20, a21, a22, a23 = a2[k], a2[k + 1], a2[k + 2], a2[k + 3]
            a30, a31, a32, a33 = a3[k], a3[k + 1], a3[k + 2], a3[k + 3]
            for j in range(last - first):
                x0, x1, x2, x3 = b0[j], b1[j], b2[j], b3[j]
                t0[j] += a00 * x0 + a01 * x1 + a02 * x2 + a03 * x3
                t1[j] += a10 * x0 + a11 * x1 + a12 * x2 + a13 * x3
                t2[j] += a20 * x0 + a21 * x1 + a22 * x2 + a23 * x3
                t3[j] += a30 * x0 + a31 * x1 + a32 * x2 + a33 * x3


pack = compile_part(_pack)
multiply_tile = compile_part(_multiply_tile)


BLOCK_ROWS = 256
BLOCK_COLUMNS = 48
BLOCK_INNER = 512


def _along_memory(storage: Storage, start: int, shape: Any, strides: Any) -> Any:
    """A matrix whose rows run along memory, as (storage, start, step from row to row).

    Where they do already nothing is copied. The rows of a copy are an odd number of cache
    lines apart: with a power of two they would all compete for the same few lines.
    """
    if strides[1] == 1:
        return storage, start, np.int64(strides[0])
    step = shape[1] // 16 * 16 + 24
    rows = np.empty((shape[0], step))
    for k in range(shape[1]):
        position = start + k * strides[1]
        for i in range(shape[0]):  # an unsigned index cannot count from the end: no check
            rows[i, k] = storage[np.uint64(position + i * strides[0])]
    return rows.reshape(-1), 0, step


def _row(matrix: Any, i: int, shape: Any) -> Any:
    """A row of what `_along_memory` gave; the last one for every i beyond it."""
    storage, start, step = matrix
    first = start + min(i, shape[0] - 1) * step
    return storage[first : first + shape[1]]


def _add_dot_products(a: Any, b: Any, total: Any, shape: Any) -> None:
    """total[i, j] += the dot product of row i of a and row j of b.

    Four rows of a meet three of b. Their twelve sums and what they are computed from fill
    the sixteen registers of a core: seven loads serve twelve products, and no number is
    stored before its sum is complete. What rows beyond the last add to total is not used.
    """
    rows, columns, inner = shape
    a_shape, b_shape = (rows, inner), (columns, inner)
    for i in range(0, rows, 4):
        a0, a1 = _row_jit(a, i, a_shape), _row_jit(a, i + 1, a_shape)
        a2, a3 = _row_jit(a, i + 2, a_shape), _row_jit(a, i + 3, a_shape)
        for j in range(0, columns, 3):
            b0, b1 = _row_jit(b, j, b_shape), _row_jit(b, j + 1, b_shape)
            b2 = _row_jit(b, j + 2, b_shape)
            s00 = s01 = s02 = s10 = s11 = s12 = 0.0
            s20 = s21 = s22 = s30 = s31 = s32 = 0.0
            for k in range(inner):
                x, y, z = b0[k], b1[k], b2[k]
                s00, s01, s02 = s00 + a0[k] * x, s01 + a0[k] * y, s02 + a0[k] * z
                s10, s11, s12 = s10 + a1[k] * x, s11 + a1[k] * y, s12 + a1[k] * z
                s20, s21, s22 = s20 + a2[k] * x, s21 + a2[k] * y, s22 + a2[k] * z
                s30, s31, s32 = s30 + a3[k] * x, s31 + a3[k] * y, s32 + a3[k] * z
            t0, t1, t2, t3 = total[i], total[i + 1], total[i + 2], total[i + 3]
            t0[j], t0[j + 1], t0[j + 2] = t0[j] + s00, t0[j + 1] + s01, t0[j + 2] + s02
            t1[j], t1[j + 1], t1[j + 2] = t1[j] + s10, t1[j + 1] + s11, t1[j + 2] + s12
            t2[j], t2[j + 1], t2[j + 2] = t2[j] + s20, t2[j + 1] + s21, t2[j + 2] + s22
            t3[j], t3[j + 1], t3[j + 2] = t3[j] + s30, t3[j + 1] + s31, t3[j + 2] + s32


along_memory = compile_part(_along_memory)
_row_jit = compile_part(_row)
add_dot_products = compile_part(_add_dot_products)
