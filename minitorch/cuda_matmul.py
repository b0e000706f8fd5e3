"""Lesson 3: matrix multiplication on the GPU, as a ladder.

Each rung is validated against the others and timed (`benchmarks/gpu.py`); read upwards.
Sides of blocks are arguments, so that small ones test the same code in the simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from numba import float64, uint64

from . import cuda_device
from .cuda_device import ceil_div, cuda, launch_arguments
from .tensor_data import TensorData

if TYPE_CHECKING:
    from .tensor_data import Shape, Storage, Strides

TILE = 2 if cuda_device.SIMULATED else 16
"""Side of the square blocks of matrix multiplication."""


@dataclass(frozen=True)
class MatmulRung:
    """A matrix multiplication kernel, and how to launch it.

    Attributes:
        kernel: what one thread does
        threads: width and height of a block
        tile: a block computes this many rows and columns of the product
        max_registers: what a thread may use, so that more blocks run at a time; None for any
    """

    kernel: Callable[..., None]
    threads: tuple[int, int]
    tile: tuple[int, int]
    max_registers: int | None = None

    def blocks(self, shape: tuple[int, ...]) -> int:
        """How many blocks a product of this shape takes."""
        *batch, rows, columns = shape
        return prod(batch) * ceil_div(rows, self.tile[0]) * ceil_div(columns, self.tile[1])

    def launch(self, out: TensorData, a: TensorData, b: TensorData) -> None:
        """Fill `out` with the product of a and b."""
        if out.size:
            cuda_device.jit(self.kernel, self.max_registers)[self.blocks(out.shape), self.threads](
                *launch_arguments(out), out.size, *launch_arguments(a), *launch_arguments(b)
            )


@cuda_device.device_function
def _block_origin(rows: int, columns: int, height: int, width: int) -> tuple[int, int, int]:
    """Which matrix of the batch this block works on, and its first row and column there."""
    across = (columns + width - 1) // width
    down = (rows + height - 1) // height
    block = cuda.blockIdx.x
    return block // (across * down), block // across % down * height, block % across * width


@cuda_device.device_function
def _matrix_start(batch: int, out_shape: Shape, shape: Shape, strides: Strides) -> int:
    """Where in storage the matrix is that number `batch` of the products is made from."""
    missing = len(out_shape) - len(shape)
    position = 0
    for d in range(len(out_shape) - 3, missing - 1, -1):
        if shape[d - missing] > 1:
            position += (batch % out_shape[d]) * strides[d - missing]
        batch = batch // out_shape[d]
    return position


@lru_cache(maxsize=8)
def naive(side: int = TILE) -> MatmulRung:
    """Rung 1: a thread per cell of the product; every operand comes from global memory."""

    def kernel(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        out_size: int,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        b_storage: Storage,
        b_shape: Shape,
        b_strides: Strides,
    ) -> None:
        rows, columns = out_shape[-2], out_shape[-1]
        batch, row, column = _block_origin(rows, columns, side, side)
        row += cuda.threadIdx.y
        column += cuda.threadIdx.x
        if row < rows and column < columns:
            a_start = _matrix_start(batch, out_shape, a_shape, a_strides) + row * a_strides[-2]
            b_start = _matrix_start(batch, out_shape, b_shape, b_strides) + column * b_strides[-1]
            total = 0.0
            for k in range(a_shape[-1]):
                total += (
                    a_storage[a_start + k * a_strides[-1]] * b_storage[b_start + k * b_strides[-2]]
                )
            out_start = _matrix_start(batch, out_shape, out_shape, out_strides)
            out[out_start + row * out_strides[-2] + column * out_strides[-1]] = total

    return MatmulRung(kernel, (side, side), (side, side))


@lru_cache(maxsize=8)
def tiled(side: int = TILE) -> MatmulRung:
    """Rung 2: a block moves tiles of a and b to shared memory, where all its threads use them.

    Each cell of a tile is read from global memory once and used `side` times.
    """

    def kernel(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        out_size: int,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        b_storage: Storage,
        b_shape: Shape,
        b_strides: Strides,
    ) -> None:
        a_tile = cuda.shared.array((side, side), float64)
        b_tile = cuda.shared.array((side, side), float64)
        rows, columns, inner = out_shape[-2], out_shape[-1], a_shape[-1]
        batch, row, column = _block_origin(rows, columns, side, side)
        i, j = cuda.threadIdx.y, cuda.threadIdx.x
        row += i
        column += j
        a_start = _matrix_start(batch, out_shape, a_shape, a_strides) + row * a_strides[-2]
        b_start = _matrix_start(batch, out_shape, b_shape, b_strides) + column * b_strides[-1]

        total = 0.0
        for start in range(0, inner, side):
            # Outside the matrices a tile holds zeros, which add nothing. All threads take
            # part in every step, also those whose own cell is outside.
            a_tile[i, j] = (
                a_storage[a_start + (start + j) * a_strides[-1]]
                if row < rows and start + j < inner
                else 0.0
            )
            b_tile[i, j] = (
                b_storage[b_start + (start + i) * b_strides[-2]]
                if column < columns and start + i < inner
                else 0.0
            )
            cuda.syncthreads()  # the tiles are complete
            for k in range(side):
                total += a_tile[i, k] * b_tile[k, j]
            cuda.syncthreads()  # nobody needs them any more

        if row < rows and column < columns:
            out_start = _matrix_start(batch, out_shape, out_shape, out_strides)
            out[out_start + row * out_strides[-2] + column * out_strides[-1]] = total

    return MatmulRung(kernel, (side, side), (side, side))


@cuda_device.device_function
def _add_products(
    totals: tuple[float, float, float, float], x: float, y0: float, y1: float, y2: float, y3: float
) -> tuple[float, float, float, float]:
    return totals[0] + x * y0, totals[1] + x * y1, totals[2] + x * y2, totals[3] + x * y3


@cuda_device.device_function
def _store_four(
    out: Storage,
    start: int,
    stride: int,
    column: int,
    columns: int,
    step: int,
    totals: tuple[float, float, float, float],
) -> None:
    """Write four cells of a row, `step` columns apart, those that are inside."""
    if column < columns:
        out[start + column * stride] = totals[0]
    if column + step < columns:
        out[start + (column + step) * stride] = totals[1]
    if column + 2 * step < columns:
        out[start + (column + 2 * step) * stride] = totals[2]
    if column + 3 * step < columns:
        out[start + (column + 3 * step) * stride] = totals[3]


@cuda_device.device_function
def _load_tile(
    tile: Storage,
    tile_shape: tuple[int, int],
    tile_row: int,
    storage: Storage,
    start: int,
    strides: tuple[int, int],
    left: tuple[int, int],
    step: int,
) -> None:
    """Fill a tile, whose rows lie `tile_row` apart, from a matrix; past its edge with 0.

    `left` is how many rows and columns the matrix has from `start` on. Neighbouring
    threads, step x step in all, load along whichever dimension is dense in memory. A cell
    outside loads the last one inside and drops it: without a branch no load waits for
    another.
    """
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    first_r, first_c = (i, j) if strides[1] <= strides[0] else (j, i)
    for m in range(tile_shape[0] // step):
        r = first_r + m * step
        r_inside = r if r < left[0] else left[0] - 1
        for n in range(tile_shape[1] // step):
            c = first_c + n * step
            c_inside = c if c < left[1] else left[1] - 1
            x = storage[start + r_inside * strides[0] + c_inside * strides[1]]
            tile[uint64(r * tile_row + c)] = x if r < left[0] and c < left[1] else 0.0


@lru_cache(maxsize=8)
def register_tiled(
    threads: int = TILE, depth: int = TILE, max_registers: int | None = 128
) -> MatmulRung:
    """Rung 3: a thread computes 8 x 4 cells, so that each number it loads is used four or eight times.

    The cells of a thread are `threads` apart, so that neighbouring threads read and write
    neighbouring memory. Their totals are 32 plain variables (in tuples), which the
    compiler keeps in registers.
    """
    if depth % threads:
        raise ValueError(f"register_tiled: depth {depth} must be a multiple of {threads} threads")
    height, width = 8 * threads, 4 * threads
    a_tile_shape, b_tile_shape = (height, depth), (depth, width)
    # Tiles lie flat in shared memory, one cell more to a row than needed: threads that walk
    # down a column then meet different banks of it instead of queueing for one. Positions
    # there are unsigned, for Numba counts negative ones from the end, and checks.
    a_row, b_row = depth + 1, width + 1
    a_size, b_size = height * a_row, depth * b_row
    one, next_b = uint64(1), uint64(b_row)
    x1, x2, x3, x4, x5, x6, x7 = (uint64(n * threads * a_row) for n in range(1, 8))
    z1, z2, z3 = (uint64(n * threads) for n in range(1, 4))

    def kernel(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        out_size: int,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        b_storage: Storage,
        b_shape: Shape,
        b_strides: Strides,
    ) -> None:
        a_tile = cuda.shared.array(a_size, float64)
        b_tile = cuda.shared.array(b_size, float64)
        rows, columns, inner = out_shape[-2], out_shape[-1], a_shape[-1]
        batch, row, column = _block_origin(rows, columns, height, width)
        a_start = _matrix_start(batch, out_shape, a_shape, a_strides)
        b_start = _matrix_start(batch, out_shape, b_shape, b_strides)
        a_by, b_by = (a_strides[-2], a_strides[-1]), (b_strides[-2], b_strides[-1])
        i, j = cuda.threadIdx.y, cuda.threadIdx.x

        totals0 = (0.0, 0.0, 0.0, 0.0)
        totals1 = (0.0, 0.0, 0.0, 0.0)
        totals2 = (0.0, 0.0, 0.0, 0.0)
        totals3 = (0.0, 0.0, 0.0, 0.0)
        totals4 = (0.0, 0.0, 0.0, 0.0)
        totals5 = (0.0, 0.0, 0.0, 0.0)
        totals6 = (0.0, 0.0, 0.0, 0.0)
        totals7 = (0.0, 0.0, 0.0, 0.0)
        for start in range(0, inner, depth):
            a_from = a_start + row * a_by[0] + start * a_by[1]
            b_from = b_start + start * b_by[0] + column * b_by[1]
            a_left, b_left = (rows - row, inner - start), (inner - start, columns - column)
            _load_tile(a_tile, a_tile_shape, a_row, a_storage, a_from, a_by, a_left, threads)
            _load_tile(b_tile, b_tile_shape, b_row, b_storage, b_from, b_by, b_left, threads)
            cuda.syncthreads()
            a_at, b_at = uint64(i * a_row), uint64(j)
            for _ in range(depth):
                y0, y1, y2, y3 = (
                    b_tile[b_at],
                    b_tile[b_at + z1],
                    b_tile[b_at + z2],
                    b_tile[b_at + z3],
                )
                totals0 = _add_products(totals0, a_tile[a_at], y0, y1, y2, y3)
                totals1 = _add_products(totals1, a_tile[a_at + x1], y0, y1, y2, y3)
                totals2 = _add_products(totals2, a_tile[a_at + x2], y0, y1, y2, y3)
                totals3 = _add_products(totals3, a_tile[a_at + x3], y0, y1, y2, y3)
                totals4 = _add_products(totals4, a_tile[a_at + x4], y0, y1, y2, y3)
                totals5 = _add_products(totals5, a_tile[a_at + x5], y0, y1, y2, y3)
                totals6 = _add_products(totals6, a_tile[a_at + x6], y0, y1, y2, y3)
                totals7 = _add_products(totals7, a_tile[a_at + x7], y0, y1, y2, y3)
                a_at += one
                b_at += next_b
            cuda.syncthreads()

        start = (
            _matrix_start(batch, out_shape, out_shape, out_strides) + (row + i) * out_strides[-2]
        )
        down, across = threads * out_strides[-2], out_strides[-1]
        column += j
        below = rows - row - i  # how many rows of the matrix are left from this thread's first
        if below > 0:
            _store_four(out, start, across, column, columns, threads, totals0)
        if below > threads:
            _store_four(out, start + down, across, column, columns, threads, totals1)
        if below > 2 * threads:
            _store_four(out, start + 2 * down, across, column, columns, threads, totals2)
        if below > 3 * threads:
            _store_four(out, start + 3 * down, across, column, columns, threads, totals3)
        if below > 4 * threads:
            _store_four(out, start + 4 * down, across, column, columns, threads, totals4)
        if below > 5 * threads:
            _store_four(out, start + 5 * down, across, column, columns, threads, totals5)
        if below > 6 * threads:
            _store_four(out, start + 6 * down, across, column, columns, threads, totals6)
        if below > 7 * threads:
            _store_four(out, start + 7 * down, across, column, columns, threads, totals7)

    return MatmulRung(kernel, (threads, threads), (height, width), max_registers)


MATMUL_LADDER = {"naive": naive, "tiled": tiled, "register-tiled": register_tiled}
"""The rungs of matrix multiplication, slowest first; all give the same product."""
