"""Lesson 3: map, zip, reduce and matrix products on all cores, compiled by Numba.

Each builder takes a scalar function, puts it into a loop, and compiles the two as one
kernel. Small tensors run the same loop on one core: handing work to threads costs more
than it saves there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange

from . import cuda_device as cuda_device  # course scripts expect that numba.cuda is loaded, too
from .jit import compile_kernel, compile_part
from .tensor_data import TensorData, shape_broadcast
from .tensor_ops import (
    MapProto,
    TensorOps,
    map_output,
    matmul_shape,
    reduced_dim,
    reduced_shape,
)

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_data import Shape, Storage, Strides

PARALLEL_SIZE = 32_768
"""From this many elements on, maps, zips and reductions run on all cores."""

PARALLEL_PRODUCTS = 262_144
"""From this many multiplications on, so do matrix products."""


class FastOps(TensorOps):
    """The verbs, compiled."""

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        """Apply fn to every element."""
        kernel = _by_size(tensor_map, fn)

        def apply(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = map_output(a, out)
            kernel(out.size)(*out.tuple(), *a.tuple())
            return out

        return apply

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[[Tensor, Tensor], Tensor]:
        """Apply fn to every pair of elements."""
        kernel = _by_size(tensor_zip, fn)

        def apply(a: Tensor, b: Tensor) -> Tensor:
            shape = a.shape if a.shape == b.shape else shape_broadcast(a.shape, b.shape)
            out = a.zeros(shape)
            kernel(out.size)(*out.tuple(), *a.tuple(), *b.tuple())
            return out

        return apply

    @staticmethod
    def reduce(
        fn: Callable[[float, float], float], start: float = 0.0
    ) -> Callable[[Tensor, int], Tensor]:
        """Fold fn along one dimension."""
        kernel = _by_size(tensor_reduce, fn)

        def apply(a: Tensor, dim: int) -> Tensor:
            dim = reduced_dim(a.shape, dim)
            out = a.zeros(reduced_shape(a.shape, dim))
            if start != 0.0:
                out._tensor._storage.fill(start)
            kernel(a.size)(*out.tuple(), *a.tuple(), dim)
            return out

        return apply

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """Multiply the last two dimensions as matrices; broadcast the rest."""
        shape = matmul_shape(a.shape, b.shape)
        out = a.zeros(shape)
        stacks = [_stacked(t, shape[:-2]) for t in (out, a, b)]
        work = out.size * a.shape[-1]
        kernel = _tensor_matrix_multiply if work >= PARALLEL_PRODUCTS else _serial_matrix_multiply
        kernel(*stacks[0].tuple(), *stacks[1].tuple(), *stacks[2].tuple())
        return out


def _by_size(build: Callable[..., Any], fn: Callable[..., float]) -> Callable[[int], Any]:
    """Choose between a kernel on one core and on all, each compiled when first needed."""
    build_once = cache(lambda parallel: build(fn, parallel=parallel))
    return lambda size: build_once(size >= PARALLEL_SIZE)


def _stacked(t: Tensor, batch: tuple[int, ...]) -> TensorData:
    """A tensor of matrices as one stack of them: three dimensions, the first of them 1 or all."""
    data, own, matrix = t._tensor, t.shape[:-2], t.shape[-2:]
    if prod(own) == 1:
        return TensorData(data._storage, (1, *matrix), (0, *data.strides[-2:]))
    if len(batch) == 1:
        return data
    if own != batch:  # no single stride walks through this stack: copy it out
        data = t.f.id_map(t, t.zeros((*batch, *matrix)))._tensor
    elif not data.is_contiguous():
        data = t.f.id_map(t)._tensor
    return TensorData(data._storage, (prod(batch), *matrix))


# --- Walking memory --------------------------------------------------------------
# A loop over a tensor is a loop over rows, and in each a loop along the row. Where
# neighbouring dimensions follow each other in the memory of every operand they are
# one dimension, so most loops have few rows, and most rows are one run of memory.


def _plan_rows(
    out_shape: Shape,
    out_strides: Strides,
    a_shape: Shape,
    a_strides: Strides,
    b_shape: Shape,
    b_strides: Strides,
) -> Any:
    """A table of the dimensions that are left after joining: size, step in out, in a, in b.

    An operand that is broadcast along a dimension has step 0 there.
    """
    plan = np.ones((len(out_shape) + 1, 4), dtype=np.int64)
    plan[0, 1:] = 0
    last = 0
    for d in range(len(out_shape)):
        size = out_shape[d]
        if size == 1:
            continue
        a_d = d - (len(out_shape) - len(a_shape))
        b_d = d - (len(out_shape) - len(b_shape))
        a_step = a_strides[a_d] if a_d >= 0 and a_shape[a_d] != 1 else 0
        b_step = b_strides[b_d] if b_d >= 0 and b_shape[b_d] != 1 else 0
        joins = (
            plan[last, 1] == size * out_strides[d]
            and plan[last, 2] == size * a_step
            and plan[last, 3] == size * b_step
        )
        if joins or plan[last, 0] == 1:
            size *= plan[last, 0]
        else:
            last += 1
        plan[last, 0] = size
        plan[last, 1] = out_strides[d]
        plan[last, 2] = a_step
        plan[last, 3] = b_step
    return plan[: last + 1]


def _row_start(row: int, plan: Any, operand: int) -> int:
    """Where in an operand's storage a row begins."""
    position = 0
    rest = np.int64(row)  # the index of a parallel loop is unsigned
    for d in range(len(plan) - 2, -1, -1):
        position += rest % plan[d, 0] * plan[d, operand]
        rest //= plan[d, 0]
    return position


def _one_by_one(plan: Any) -> Any:
    """The same walk in rows of one element each."""
    longer = np.ones((len(plan) + 1, 4), dtype=np.int64)
    for d in range(len(plan)):
        for operand in range(4):
            longer[d, operand] = plan[d, operand]
    return longer


_plan_rows_jit = compile_part(_plan_rows)
_row_start_jit = compile_part(_row_start)
_one_by_one_jit = compile_part(_one_by_one)


# --- Task 3.1: the loops -----------------------------------------------------------


def tensor_map(fn: Callable[[float], float], parallel: bool = True) -> Any:
    """A compiled loop that fills `out` with fn of `in`, broadcast to `out_shape`.

    * The loop over rows, or over one long row, runs in parallel.
    * Where `out` and `in` are laid out alike nothing is indexed but memory itself.
    * Other layouts compute one index per row, and no index buffers.
    """
    f = compile_part(fn)

    def _map(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        in_storage: Storage,
        in_shape: Shape,
        in_strides: Strides,
    ) -> None:
        plan = _plan_rows_jit(out_shape, out_strides, in_shape, in_strides, in_shape, in_strides)
        n = plan[-1, 0]
        out_step = plan[-1, 1]
        in_step = plan[-1, 2]
        if len(plan) == 1 and out_step == 1 and in_step == 1:
            for i in prange(len(out)):
                out[i] = f(in_storage[i])
            return
        for row in prange(len(out) // max(n, 1)):
            o = _row_start_jit(row, plan, 1)
            i = _row_start_jit(row, plan, 2)
            if out_step == 1 and in_step == 1:
                out_row = out[o : o + n]
                in_row = in_storage[i : i + n]
                for c in range(n):
                    out_row[c] = f(in_row[c])
            else:
                for c in range(n):
                    out[o + c * out_step] = f(in_storage[i + c * in_step])

    return compile_kernel(_map, parallel=parallel)


def tensor_zip(fn: Callable[[float, float], float], parallel: bool = True) -> Any:
    """A compiled loop that fills `out` with fn of `a` and `b`, broadcast to `out_shape`.

    Optimised as `tensor_map` is; a row of one operand that is broadcast along it is
    read once.
    """
    f = compile_part(fn)

    def _zip(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        b_storage: Storage,
        b_shape: Shape,
        b_strides: Strides,
    ) -> None:
        plan = _plan_rows_jit(out_shape, out_strides, a_shape, a_strides, b_shape, b_strides)
        n = plan[-1, 0]
        out_step = plan[-1, 1]
        a_step = plan[-1, 2]
        b_step = plan[-1, 3]
        if len(plan) == 1 and out_step == 1 and a_step == 1 and b_step == 1:
            for i in prange(len(out)):
                out[i] = f(a_storage[i], b_storage[i])
            return
        for row in prange(len(out) // max(n, 1)):
            o = _row_start_jit(row, plan, 1)
            i = _row_start_jit(row, plan, 2)
            j = _row_start_jit(row, plan, 3)
            if out_step == 1 and a_step == 1 and b_step == 1:
                out_row = out[o : o + n]
                a_row = a_storage[i : i + n]
                b_row = b_storage[j : j + n]
                for c in range(n):
                    out_row[c] = f(a_row[c], b_row[c])
            elif out_step == 1 and a_step == 1 and b_step == 0:
                out_row = out[o : o + n]
                a_row = a_storage[i : i + n]
                y = b_storage[j]
                for c in range(n):
                    out_row[c] = f(a_row[c], y)
            else:
                for c in range(n):
                    x = a_storage[i + c * a_step]
                    out[o + c * out_step] = f(x, b_storage[j + c * b_step])

    return compile_kernel(_zip, parallel=parallel)


CHUNK = 4096
"""How many elements of a long reduction one task folds; the chunks are joined at the end."""


def tensor_reduce(fn: Callable[[float, float], float], parallel: bool = True) -> Any:
    """A compiled loop that folds dimension `reduce_dim` of `a` into `out`.

    * Outputs, and chunks of long reductions, are folded in parallel.
    * The innermost loop calls nothing but fn and writes only to what is its own.
    * Where the dimensions after `reduce_dim` lie in one run of memory, whole runs are
      folded at once, in the order of memory.
    """
    f = compile_part(fn)

    def _reduce(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        reduce_dim: int,
    ) -> None:
        length = a_shape[reduce_dim]
        step = a_strides[reduce_dim]
        if length == 0 or len(out) == 0:
            return
        # out has a's dimensions but one of size 1: walking out walks the starts in a.
        plan = _plan_rows_jit(out_shape, out_strides, out_shape, a_strides, out_shape, out_strides)
        if plan[-1, 1] != 1 or plan[-1, 2] != 1:
            plan = _one_by_one_jit(plan)
        n = plan[-1, 0]
        rows = len(out) // n
        chunks = (length + CHUNK - 1) // CHUNK
        partial = np.empty((rows, chunks, n))
        for task in prange(rows * chunks):
            row, chunk = divmod(np.int64(task), chunks)
            first = chunk * CHUNK
            last = min(first + CHUNK, length)
            i = _row_start_jit(row, plan, 2)
            if n == 1 and step == 1:
                run = a_storage[i + first : i + last]
                total = run[0]
                for k in range(1, len(run)):
                    total = f(total, run[k])
                partial[row, chunk, 0] = total
            else:
                totals = partial[row, chunk]
                for c in range(n):
                    totals[c] = a_storage[i + first * step + c]
                for k in range(first + 1, last):
                    run = a_storage[i + k * step : i + k * step + n]
                    for c in range(n):
                        totals[c] = f(totals[c], run[c])
        for task in prange(rows):
            row = np.int64(task)
            o = _row_start_jit(row, plan, 1)
            for chunk in range(chunks):
                for c in range(n):
                    out[o + c] = f(out[o + c], partial[row, chunk, c])

    return compile_kernel(_reduce, parallel=parallel)


# --- Task 3.2: matrix products, as a ladder ------------------------------------------
# Each rung computes out[b] = a[b] @ b[b] for stacks of matrices of any strides, where a
# stack of one matrix is used for all. The last rung is the one we ship;
# benchmarks/course.py times them.


def _matmul_naive(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    a_storage: Storage,
    a_shape: Shape,
    a_strides: Strides,
    b_storage: Storage,
    b_shape: Shape,
    b_strides: Strides,
) -> None:
    """Rung 1: each output on its own. One multiplication and no write in the inner loop."""
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    b_batch = b_strides[0] if b_shape[0] > 1 else 0
    rows, columns = out_shape[1], out_shape[2]
    for task in prange(out_shape[0] * rows):
        batch, i = divmod(np.int64(task), rows)
        for j in range(columns):
            a_position = batch * a_batch + i * a_strides[1]
            b_position = batch * b_batch + j * b_strides[2]
            total = 0.0
            for _ in range(a_shape[2]):
                total += a_storage[a_position] * b_storage[b_position]
                a_position += a_strides[2]
                b_position += b_strides[1]
            out[batch * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total


def _matmul_by_rows(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    a_storage: Storage,
    a_shape: Shape,
    a_strides: Strides,
    b_storage: Storage,
    b_shape: Shape,
    b_strides: Strides,
) -> None:
    """Rung 2: a row of out is a sum of rows of b; the inner loop runs along memory."""
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    b_batch = b_strides[0] if b_shape[0] > 1 else 0
    rows, columns = out_shape[1], out_shape[2]
    for task in prange(out_shape[0] * rows):
        batch, i = divmod(np.int64(task), rows)
        total = np.zeros(columns)
        for k in range(a_shape[2]):
            x = a_storage[batch * a_batch + i * a_strides[1] + k * a_strides[2]]
            b_position = batch * b_batch + k * b_strides[1]
            if b_strides[2] == 1:
                b_row = b_storage[b_position : b_position + columns]
                for j in range(columns):
                    total[j] += x * b_row[j]
            else:
                for j in range(columns):
                    total[j] += x * b_storage[b_position + j * b_strides[2]]
        for j in range(columns):
            out[batch * out_strides[0] + i * out_strides[1] + j * out_strides[2]] = total[j]


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


_pack_jit = compile_part(_pack)
_multiply_tile_jit = compile_part(_multiply_tile)


def _matmul_tiled(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    a_storage: Storage,
    a_shape: Shape,
    a_strides: Strides,
    b_storage: Storage,
    b_shape: Shape,
    b_strides: Strides,
) -> None:
    """Rung 3: tiles that stay in the caches, packed so that strides no longer matter.

    Rows and the inner dimension are padded with zeros to multiples of four.
    """
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    rows, inner, columns = a_shape[1], a_shape[2], b_shape[2]
    padded_inner = (inner + 3) // 4 * 4
    b_packed = np.zeros((b_shape[0], padded_inner, columns))
    for task in prange(b_shape[0] * inner):
        batch, k = divmod(np.int64(task), inner)
        start = batch * b_strides[0] + k * b_strides[1]
        _pack_jit(b_storage, start, (1, columns), (0, b_strides[2]), b_packed[batch, k : k + 1])

    tiles = (rows + TILE_ROWS - 1) // TILE_ROWS
    for task in prange(out_shape[0] * tiles):
        batch, tile = divmod(np.int64(task), tiles)
        first = tile * TILE_ROWS
        count = min(TILE_ROWS, rows - first)
        padded_rows = (count + 3) // 4 * 4
        a_packed = np.zeros((padded_rows, padded_inner))
        start = batch * a_batch + first * a_strides[1]
        _pack_jit(a_storage, start, (count, inner), (a_strides[1], a_strides[2]), a_packed)
        b_matrix = b_packed[batch if b_shape[0] > 1 else 0]
        total = np.zeros((padded_rows, columns))
        for k in range(0, padded_inner, TILE_INNER):
            k_end = min(k + TILE_INNER, padded_inner)
            for j in range(0, columns, TILE_COLUMNS):
                j_end = min(j + TILE_COLUMNS, columns)
                _multiply_tile_jit(a_packed, b_matrix, total, (k, k_end), (j, j_end))
        for i in range(count):
            position = batch * out_strides[0] + (first + i) * out_strides[1]
            for j in range(columns):
                out[position + j * out_strides[2]] = total[i, j]


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


_along_memory_jit = compile_part(_along_memory)
_row_jit = compile_part(_row)
_add_dot_products_jit = compile_part(_add_dot_products)


def _matmul_in_registers(
    out: Storage,
    out_shape: Shape,
    out_strides: Strides,
    a_storage: Storage,
    a_shape: Shape,
    a_strides: Strides,
    b_storage: Storage,
    b_shape: Shape,
    b_strides: Strides,
) -> None:
    """Rung 4: dot products of rows of a and columns of b, twelve at a time, in registers.

    One task is one block of out. What it copies, if it must, is small enough for the caches.
    """
    a_batch = a_strides[0] if a_shape[0] > 1 else 0
    b_batch = b_strides[0] if b_shape[0] > 1 else 0
    rows, inner, columns = a_shape[1], a_shape[2], b_shape[2]
    down = (rows + BLOCK_ROWS - 1) // BLOCK_ROWS
    across = (columns + BLOCK_COLUMNS - 1) // BLOCK_COLUMNS
    for task in prange(out_shape[0] * down * across):
        batch, block = divmod(np.int64(task), down * across)
        top = block // across * BLOCK_ROWS
        left = block % across * BLOCK_COLUMNS
        height = min(BLOCK_ROWS, rows - top)
        width = min(BLOCK_COLUMNS, columns - left)
        total = np.zeros((height + 3, width + 2))
        for k in range(0, inner, BLOCK_INNER):
            depth = min(BLOCK_INNER, inner - k)
            a_start = batch * a_batch + top * a_strides[1] + k * a_strides[2]
            b_start = batch * b_batch + left * b_strides[2] + k * b_strides[1]
            a_steps, b_steps = (a_strides[1], a_strides[2]), (b_strides[2], b_strides[1])
            a = _along_memory_jit(a_storage, a_start, (height, depth), a_steps)
            b = _along_memory_jit(b_storage, b_start, (width, depth), b_steps)
            _add_dot_products_jit(a, b, total, (height, width, depth))
        for i in range(height):
            position = batch * out_strides[0] + (top + i) * out_strides[1] + left * out_strides[2]
            for j in range(width):
                out[np.uint64(position + j * out_strides[2])] = total[i, j]


def _compile_rung(rung: Callable[..., None], parallel: bool = True) -> Any:
    return compile_kernel(rung, parallel=parallel)


MATMUL_LADDER = {
    "naive": _compile_rung(_matmul_naive),
    "by rows": _compile_rung(_matmul_by_rows),
    "tiled": _compile_rung(_matmul_tiled),
    "in registers": _compile_rung(_matmul_in_registers),
}
_tensor_matrix_multiply = tensor_matrix_multiply = MATMUL_LADDER["in registers"]
_serial_matrix_multiply = _compile_rung(_matmul_in_registers, parallel=False)
