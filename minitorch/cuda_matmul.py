"""Lesson 3: matrix multiplication on the GPU, as a ladder.

Each rung is validated against the others and timed (`benchmarks/gpu.py`); read upwards.
Sides of blocks are arguments, so that small ones test the same code in the simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from numba import float64, uint64

from . import cuda_device
from .cuda_device import ceil_div, cuda, launch_arguments
from .tensor_data import TensorData

if TYPE_CHECKING:
    from .tensor_data import Shape, Storage, Strides

Four: TypeAlias = tuple[float, float, float, float]
Rows: TypeAlias = tuple[Four, ...]
Steps: TypeAlias = tuple[int, ...]

TILE = 2 if cuda_device.SIMULATED else 16
"""Side of the square blocks of matrix multiplication."""

ONE: Any = uint64(1)
NO_TOTALS = ((0.0, 0.0, 0.0, 0.0),) * 8


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
        out: Storage, out_shape: Shape, out_strides: Strides, out_size: int,
        a_storage: Storage, a_shape: Shape, a_strides: Strides,
        b_storage: Storage, b_shape: Shape, b_strides: Strides,
    ) -> None:  # fmt: skip
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
        out: Storage, out_shape: Shape, out_strides: Strides, out_size: int,
        a_storage: Storage, a_shape: Shape, a_strides: Strides,
        b_storage: Storage, b_shape: Shape, b_strides: Strides,
    ) -> None:  # fmt: skip
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
def _add_products(totals: Four, x: float, y: Four) -> Four:
    return totals[0] + x * y[0], totals[1] + x * y[1], totals[2] + x * y[2], totals[3] + x * y[3]


@cuda_device.device_function
def _add_tiles(
    totals: Rows, a_tile: Storage, a_at: int, a_steps: Steps,
    b_tile: Storage, b_at: int, b_steps: Steps, b_row: int, depth: int,
) -> Rows:  # fmt: skip
    """A thread's 8 x 4 totals, and what a tile of a, by one of b, adds to them.

    The thread's rows of a's tile begin at `a_at + a_steps[n]`, its columns of b's at `b_at + b_steps[n]`; b's rows lie `b_row`
    apart.
    """
    t0, t1, t2, t3, t4, t5, t6, t7 = totals
    for _ in range(depth):
        y = b_tile[b_at], b_tile[b_at + b_steps[1]], b_tile[b_at + b_steps[2]], b_tile[b_at + b_steps[3]]  # fmt: skip
        t0 = _add_products(t0, a_tile[a_at], y)
        t1 = _add_products(t1, a_tile[a_at + a_steps[1]], y)
        t2 = _add_products(t2, a_tile[a_at + a_steps[2]], y)
        t3 = _add_products(t3, a_tile[a_at + a_steps[3]], y)
        t4 = _add_products(t4, a_tile[a_at + a_steps[4]], y)
        t5 = _add_products(t5, a_tile[a_at + a_steps[5]], y)
        t6 = _add_products(t6, a_tile[a_at + a_steps[6]], y)
        t7 = _add_products(t7, a_tile[a_at + a_steps[7]], y)
        a_at += ONE
        b_at += b_row
    return t0, t1, t2, t3, t4, t5, t6, t7


@cuda_device.device_function
def _store_row(
    out: Storage, start: int, across: int, columns: int, step: int, totals: Four
) -> None:
    """Write four cells of a row, `step` columns apart, those of the `columns` that are left."""
    if columns > 0:
        out[start] = totals[0]
    if columns > step:
        out[start + step * across] = totals[1]
    if columns > 2 * step:
        out[start + 2 * step * across] = totals[2]
    if columns > 3 * step:
        out[start + 3 * step * across] = totals[3]


@cuda_device.device_function
def _store_rows(
    out: Storage, start: int, strides: tuple[int, int], left: tuple[int, int], step: int, totals: Rows,
) -> None:  # fmt: skip
    """Write eight rows of four cells, `step` rows and columns apart; `left` is how many of each there are from `start` on."""
    t0, t1, t2, t3, t4, t5, t6, t7 = totals
    down = step * strides[0]
    if left[0] > 0:
        _store_row(out, start, strides[1], left[1], step, t0)
    if left[0] > step:
        _store_row(out, start + down, strides[1], left[1], step, t1)
    if left[0] > 2 * step:
        _store_row(out, start + 2 * down, strides[1], left[1], step, t2)
    if left[0] > 3 * step:
        _store_row(out, start + 3 * down, strides[1], left[1], step, t3)
    if left[0] > 4 * step:
        _store_row(out, start + 4 * down, strides[1], left[1], step, t4)
    if left[0] > 5 * step:
        _store_row(out, start + 5 * down, strides[1], left[1], step, t5)
    if left[0] > 6 * step:
        _store_row(out, start + 6 * down, strides[1], left[1], step, t6)
    if left[0] > 7 * step:
        _store_row(out, start + 7 * down, strides[1], left[1], step, t7)


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
    neighbouring memory. Their totals are tuples of 32 numbers, which the compiler keeps in registers.
    """
    if depth % threads:
        raise ValueError(f"register_tiled: depth {depth} must be a multiple of {threads} threads")
    a_tile_shape, b_tile_shape = (8 * threads, depth), (depth, 4 * threads)
    # Tiles lie flat in shared memory, one cell more to a row than needed: threads that walk
    # down a column then meet different banks of it instead of queueing for one. Positions
    # there are unsigned, for Numba counts negative ones from the end, and checks.
    a_row, b_row = depth + 1, 4 * threads + 1
    a_size, b_size, next_b = 8 * threads * a_row, depth * b_row, uint64(b_row)
    a_steps = tuple(uint64(n * threads * a_row) for n in range(8))
    b_steps = tuple(uint64(n * threads) for n in range(4))

    def kernel(
        out: Storage, out_shape: Shape, out_strides: Strides, out_size: int,
        a_storage: Storage, a_shape: Shape, a_strides: Strides,
        b_storage: Storage, b_shape: Shape, b_strides: Strides,
    ) -> None:  # fmt: skip
        a_tile = cuda.shared.array(a_size, float64)
        b_tile = cuda.shared.array(b_size, float64)
        rows, columns, inner = out_shape[-2], out_shape[-1], a_shape[-1]
        batch, row, column = _block_origin(rows, columns, 8 * threads, 4 * threads)
        a_start = _matrix_start(batch, out_shape, a_shape, a_strides)
        b_start = _matrix_start(batch, out_shape, b_shape, b_strides)
        a_by, b_by = (a_strides[-2], a_strides[-1]), (b_strides[-2], b_strides[-1])
        i, j = cuda.threadIdx.y, cuda.threadIdx.x

        totals = NO_TOTALS
        for start in range(0, inner, depth):
            a_from = a_start + row * a_by[0] + start * a_by[1]
            b_from = b_start + start * b_by[0] + column * b_by[1]
            a_left, b_left = (rows - row, inner - start), (inner - start, columns - column)
            _load_tile(a_tile, a_tile_shape, a_row, a_storage, a_from, a_by, a_left, threads)
            _load_tile(b_tile, b_tile_shape, b_row, b_storage, b_from, b_by, b_left, threads)
            cuda.syncthreads()
            a_at, b_at = uint64(i * a_row), uint64(j)
            totals = _add_tiles(totals, a_tile, a_at, a_steps, b_tile, b_at, b_steps, next_b, depth)
            cuda.syncthreads()

        row, column, out_by = row + i, column + j, (out_strides[-2], out_strides[-1])
        start = _matrix_start(batch, out_shape, out_shape, out_strides)
        start += row * out_by[0] + column * out_by[1]
        _store_rows(out, start, out_by, (rows - row, columns - column), threads, totals)

    return MatmulRung(kernel, (threads, threads), (8 * threads, 4 * threads), max_registers)


MATMUL_LADDER = {"naive": naive, "tiled": tiled, "register-tiled": register_tiled}
"""The rungs of matrix multiplication, slowest first; all give the same product."""
