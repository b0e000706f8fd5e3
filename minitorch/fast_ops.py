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
from .fast_rows import one_by_one, plan_rows, row_start
from .fast_tiles import (
    BLOCK_COLUMNS,
    BLOCK_INNER,
    BLOCK_ROWS,
    TILE_COLUMNS,
    TILE_INNER,
    TILE_ROWS,
    add_dot_products,
    along_memory,
    multiply_tile,
    pack,
)
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
        """Reduce one dimension with fn."""
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
        plan = plan_rows(out_shape, out_strides, in_shape, in_strides, in_shape, in_strides)
        n = plan[-1, 0]
        out_step = plan[-1, 1]
        in_step = plan[-1, 2]
        if len(plan) == 1 and out_step == 1 and in_step == 1:
            for i in prange(len(out)):
                out[i] = f(in_storage[i])
            return
        for row in prange(len(out) // max(n, 1)):
            o = row_start(row, plan, 1)
            i = row_start(row, plan, 2)
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
        plan = plan_rows(out_shape, out_strides, a_shape, a_strides, b_shape, b_strides)
        n = plan[-1, 0]
        out_step = plan[-1, 1]
        a_step = plan[-1, 2]
        b_step = plan[-1, 3]
        if len(plan) == 1 and out_step == 1 and a_step == 1 and b_step == 1:
            for i in prange(len(out)):
                out[i] = f(a_storage[i], b_storage[i])
            return
        for row in prange(len(out) // max(n, 1)):
            o = row_start(row, plan, 1)
            i = row_start(row, plan, 2)
            j = row_start(row, plan, 3)
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
    """A compiled loop that reduces dimension `reduce_dim` of `a` into `out`.

    * Outputs, and chunks of long reductions, are reduced in parallel.
    * The innermost loop calls nothing but fn and writes only to what is its own.
    * Where the dimensions after `reduce_dim` lie in one run of memory, whole runs are
      reduced at once, in the order of memory.
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
        plan = plan_rows(out_shape, out_strides, out_shape, a_strides, out_shape, out_strides)
        if plan[-1, 1] != 1 or plan[-1, 2] != 1:
            plan = one_by_one(plan)
        n = plan[-1, 0]
        rows = len(out) // n
        chunks = (length + CHUNK - 1) // CHUNK
        partial = np.empty((rows, chunks, n))
        for task in prange(rows * chunks):
            row, chunk = divmod(np.int64(task), chunks)
            first = chunk * CHUNK
            last = min(first + CHUNK, length)
            i = row_start(row, plan, 2)
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
            o = row_start(row, plan, 1)
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
        pack(b_storage, start, (1, columns), (0, b_strides[2]), b_packed[batch, k : k + 1])

    tiles = (rows + TILE_ROWS - 1) // TILE_ROWS
    for task in prange(out_shape[0] * tiles):
        batch, tile = divmod(np.int64(task), tiles)
        first = tile * TILE_ROWS
        count = min(TILE_ROWS, rows - first)
        padded_rows = (count + 3) // 4 * 4
        a_packed = np.zeros((padded_rows, padded_inner))
        start = batch * a_batch + first * a_strides[1]
        pack(a_storage, start, (count, inner), (a_strides[1], a_strides[2]), a_packed)
        b_matrix = b_packed[batch if b_shape[0] > 1 else 0]
        total = np.zeros((padded_rows, columns))
        for k in range(0, padded_inner, TILE_INNER):
            k_end = min(k + TILE_INNER, padded_inner)
            for j in range(0, columns, TILE_COLUMNS):
                j_end = min(j + TILE_COLUMNS, columns)
                multiply_tile(a_packed, b_matrix, total, (k, k_end), (j, j_end))
        for i in range(count):
            position = batch * out_strides[0] + (first + i) * out_strides[1]
            for j in range(columns):
                out[position + j * out_strides[2]] = total[i, j]


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
            a = along_memory(a_storage, a_start, (height, depth), a_steps)
            b = along_memory(b_storage, b_start, (width, depth), b_steps)
            add_dot_products(a, b, total, (height, width, depth))
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
