"""Lesson 3: map, zip, reduce and matrix multiplication on the GPU.

A kernel is what one thread does; a launch runs it in `blocks` of `threads`. Inputs and
outputs stay on the device, and so do shapes and strides, which are copied there once
per value. Kernels are compiled when first launched, so making a backend is quick.

Every size of a block is an argument of the function that builds the kernel. The
defaults are those of a large GPU, and tiny ones under Numba's simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from numba import float64, uint64

from . import cuda_device
from .cuda_device import cuda
from .tensor_data import IndexingError, TensorData, shape_broadcast
from .tensor_ops import (
    MapProto,
    TensorOps,
    map_output,
    matmul_shape,
    reduced_dim,
)

if TYPE_CHECKING:
    from .tensor import Tensor
    from .tensor_data import Shape, Storage, Strides

THREADS = 8 if cuda_device.SIMULATED else 256
"""Threads in a block of map, zip and reduce; a power of two."""

MAX_BLOCKS = 2 if cuda_device.SIMULATED else 4096
"""Blocks in a launch of map and zip; beyond that each thread does several elements."""

REDUCE_BLOCKS = 4 if cuda_device.SIMULATED else 1024
"""Blocks that keep the GPU busy: a reduction into fewer outputs is split up to this many."""

PER_LANE = 16
"""Elements that are worth a thread of their own when a long reduction is split."""

TILE = 2 if cuda_device.SIMULATED else 16
"""Side of the square blocks of matrix multiplication."""

MATMUL_BLOCKS = 2 if cuda_device.SIMULATED else 32
"""Blocks that keep the GPU busy: a product of fewer large tiles is done in small ones."""

PRACTICE_BLOCK = 32
"""Side of a block of the practice kernels."""


class CudaOps(TensorOps):
    """The verbs on the GPU."""

    cuda = True

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        """Apply fn to every element."""

        def apply(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = _new(a, a.shape) if out is None else map_output(a, out)
            x, y = a._tensor, out._tensor
            step = _step(x, y.size)
            launch = _blocks(y.size), THREADS
            if y.size and step is not None and y.is_contiguous():
                flat_map(fn)[launch](_storage(y), y.size, _storage(x), step)
            elif y.size:
                tensor_map(fn)[launch](*launch_arguments(y), y.size, *launch_arguments(x))
            return out

        return apply

    @staticmethod
    def zip(fn: Callable[[float, float], float]) -> Callable[[Tensor, Tensor], Tensor]:
        """Apply fn to every pair of elements."""

        def apply(a: Tensor, b: Tensor) -> Tensor:
            out = _new(a, shape_broadcast(a.shape, b.shape))
            x, y, z = a._tensor, b._tensor, out._tensor
            x_step, y_step = _step(x, z.size), _step(y, z.size)
            launch = _blocks(z.size), THREADS
            if z.size and x_step is not None and y_step is not None:
                flat_zip(fn)[launch](_storage(z), z.size, _storage(x), x_step, _storage(y), y_step)
            elif z.size:
                tensor_zip(fn)[launch](
                    *launch_arguments(z), z.size, *launch_arguments(x), *launch_arguments(y)
                )
            return out

        return apply

    @staticmethod
    def reduce(
        fn: Callable[[float, float], float], start: float = 0.0
    ) -> Callable[[Tensor, int], Tensor]:
        """Fold fn along one dimension."""

        def apply(a: Tensor, dim: int) -> Tensor:
            dim = reduced_dim(a.shape, dim)
            parts = 0
            while parts != 1:  # fold into parts, then fold those, until one is left
                lanes, parts = _reduce_plan(a._tensor, dim)
                out = _new(a, (*a.shape[:dim], parts, *a.shape[dim + 1 :]))
                if out.size:
                    outputs = THREADS // lanes  # to a block
                    tensor_reduce(fn)[_ceil_div(out.size, outputs), (lanes, outputs)](
                        *launch_arguments(out._tensor),
                        out.size,
                        *launch_arguments(a._tensor),
                        dim,
                        float(start),
                    )
                a = out
            return a

        return apply

    @staticmethod
    def matrix_multiply(a: Tensor, b: Tensor) -> Tensor:
        """Multiply the last two dimensions as matrices; broadcast the rest."""
        out = _new(a, matmul_shape(a.shape, b.shape))
        best = register_tiled()
        rung = best if best.blocks(out.shape) >= MATMUL_BLOCKS else tiled()
        rung.launch(out._tensor, a._tensor, b._tensor)
        return out


# --- What a launch needs -------------------------------------------------------


def _new(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor on the device, not filled with anything."""
    return like._new(TensorData(cuda_device.empty(prod(shape)), shape))


def _storage(data: TensorData) -> Any:
    if not cuda_device.is_on_device(data._storage):
        raise RuntimeError(
            f"CUDA: a tensor of shape {data.shape} is not on the GPU; make it with "
            f"backend=minitorch.TensorBackend(minitorch.CudaOps)"
        )
    return data._storage


def launch_arguments(data: TensorData) -> tuple[Any, Any, Any]:
    """Storage, shape and strides on the device, as kernels take them."""
    return _storage(data), cuda_device.ints(data.shape), cuda_device.ints(data.strides)


def _step(data: TensorData, size: int) -> int | None:
    """How far to move in storage from one of `size` outputs to the next, if that is constant.

    1 where elements and outputs pair up in order, 0 where one element goes with all.
    """
    if data.size == 1:
        return 0
    return 1 if data.size == size and data.is_contiguous() else None


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _blocks(size: int) -> int:
    """How many blocks of a map or zip cover `size` outputs."""
    return min(_ceil_div(size, THREADS), MAX_BLOCKS)


# --- Task 3.3: map and zip -------------------------------------------------------


@cuda_device.device_function
def _positions(
    ordinal: int,
    out_shape: Shape,
    out_strides: Strides,
    a_shape: Shape,
    a_strides: Strides,
    b_shape: Shape,
    b_strides: Strides,
) -> tuple[int, int, int]:
    """Where in storage output number `ordinal` is, and the elements of a and b it comes from.

    `to_index`, `broadcast_index` and `index_to_position` in one loop, without index
    buffers: memory of its own is what a GPU thread has least of, and division is slow.
    """
    a_missing, b_missing = len(out_shape) - len(a_shape), len(out_shape) - len(b_shape)
    out_position, a_position, b_position = 0, 0, 0
    for d in range(len(out_shape) - 1, -1, -1):
        index = ordinal % out_shape[d]
        ordinal = ordinal // out_shape[d]
        out_position += index * out_strides[d]
        if d >= a_missing and a_shape[d - a_missing] > 1:
            a_position += index * a_strides[d - a_missing]
        if d >= b_missing and b_shape[d - b_missing] > 1:
            b_position += index * b_strides[d - b_missing]
    return out_position, a_position, b_position


@lru_cache(maxsize=256)
def tensor_map(fn: Callable[[float], float]) -> Any:
    """A kernel that fills `out` with fn of `in`, whose shape broadcasts to `out_shape`.

    Its threads walk over the outputs in steps of the whole grid, so any number of
    blocks and threads is right.
    """
    scalar: Any = cuda_device.device_function(fn)

    def _map(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        out_size: int,
        in_storage: Storage,
        in_shape: Shape,
        in_strides: Strides,
    ) -> None:
        for i in range(cuda.grid(1), out_size, cuda.gridsize(1)):
            position, from_in, _ = _positions(
                i, out_shape, out_strides, in_shape, in_strides, in_shape, in_strides
            )
            out[position] = scalar(in_storage[from_in])

    return cuda_device.jit(_map)


@lru_cache(maxsize=256)
def tensor_zip(fn: Callable[[float, float], float]) -> Any:
    """A kernel that fills `out` with fn of `a` and `b`, whose shapes broadcast to `out_shape`."""
    scalar: Any = cuda_device.device_function(fn)

    def _zip(
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
        for i in range(cuda.grid(1), out_size, cuda.gridsize(1)):
            position, from_a, from_b = _positions(
                i, out_shape, out_strides, a_shape, a_strides, b_shape, b_strides
            )
            out[position] = scalar(a_storage[from_a], b_storage[from_b])

    return cuda_device.jit(_zip)


@lru_cache(maxsize=256)
def flat_map(fn: Callable[[float], float]) -> Any:
    """The map for contiguous tensors: no index arithmetic; see `_step` for the step."""
    scalar: Any = cuda_device.device_function(fn)

    def _flat_map(out: Storage, out_size: int, a_storage: Storage, a_step: int) -> None:
        for i in range(cuda.grid(1), out_size, cuda.gridsize(1)):
            out[i] = scalar(a_storage[i * a_step])

    return cuda_device.jit(_flat_map)


@lru_cache(maxsize=256)
def flat_zip(fn: Callable[[float, float], float]) -> Any:
    """The zip for contiguous tensors of the output's size, or of one element."""
    scalar: Any = cuda_device.device_function(fn)

    def _flat_zip(
        out: Storage,
        out_size: int,
        a_storage: Storage,
        a_step: int,
        b_storage: Storage,
        b_step: int,
    ) -> None:
        for i in range(cuda.grid(1), out_size, cuda.gridsize(1)):
            out[i] = scalar(a_storage[i * a_step], b_storage[i * b_step])

    return cuda_device.jit(_flat_zip)


# --- Task 3.3: reduce ------------------------------------------------------------


def _sum_practice(out: Storage, a: Storage, size: int) -> None:
    """Sum every 32 numbers of `a` into one of `out`, a block each, in shared memory.

    The first half of the block adds the second half to itself, then a quarter the
    next quarter, and so on: log2(32) steps.
    """
    cells = cuda.shared.array(PRACTICE_BLOCK, float64)
    thread = cuda.threadIdx.x
    i = cuda.blockIdx.x * PRACTICE_BLOCK + thread
    cells[thread] = a[i] if i < size else 0.0
    cuda.syncthreads()
    half = PRACTICE_BLOCK // 2
    while half > 0:
        if thread < half:
            cells[thread] += cells[thread + half]
        cuda.syncthreads()
        half //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = cells[0]


def sum_practice(a: Tensor) -> TensorData:
    """Partial sums of a row of numbers, one per 32, padded with 0 to at least two."""
    if a.dims != 1 or not a._tensor.is_contiguous():
        raise IndexingError(
            f"sum_practice: needs a contiguous row of numbers, got shape {a.shape} "
            f"and strides {a._tensor.strides}"
        )
    blocks = max(2, _ceil_div(a.size, PRACTICE_BLOCK))
    out = TensorData(cuda_device.empty(blocks), (blocks,))
    cuda_device.jit(_sum_practice)[blocks, PRACTICE_BLOCK](
        out._storage, _storage(a._tensor), a.size
    )
    return out


@lru_cache(maxsize=256)
def tensor_reduce(fn: Callable[[float, float], float], block: int = THREADS) -> Any:
    """A kernel that folds dimension `reduce_dim` of `a` into `out`.

    Launch it with (lanes, outputs) threads to a block, lanes a power of two and at
    most `block` threads in all: `lanes` threads share an output. Each folds every
    lanes-th element into a total that starts from `reduce_value`, then the totals are
    folded in shared memory, half onto half.

    Where `out_shape` has `parts` in the reduced dimension instead of 1, that dimension
    is cut into as many pieces and each is folded by itself.
    """
    scalar: Any = cuda_device.device_function(fn)

    def _reduce(
        out: Storage,
        out_shape: Shape,
        out_strides: Strides,
        out_size: int,
        a_storage: Storage,
        a_shape: Shape,
        a_strides: Strides,
        reduce_dim: int,
        reduce_value: float,
    ) -> None:
        totals = cuda.shared.array(block, float64)
        lane, lanes = cuda.threadIdx.x, cuda.blockDim.x
        cell = cuda.threadIdx.y * lanes + lane
        i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        total = reduce_value
        out_position = 0
        if i < out_size:
            first = 0  # position in `a` of the first element along the reduced dimension
            part = 0
            rest = i
            for d in range(len(out_shape) - 1, -1, -1):
                index = rest % out_shape[d]
                rest = rest // out_shape[d]
                out_position += index * out_strides[d]
                if d == reduce_dim:
                    part = index
                else:
                    first += index * a_strides[d]
            length = a_shape[reduce_dim]
            piece = (length + out_shape[reduce_dim] - 1) // out_shape[reduce_dim]
            end = (part + 1) * piece
            if end > length:
                end = length
            for k in range(part * piece + lane, end, lanes):
                total = scalar(total, a_storage[first + k * a_strides[reduce_dim]])
        totals[cell] = total
        cuda.syncthreads()
        half = lanes // 2
        while half > 0:
            if lane < half:
                totals[cell] = scalar(totals[cell], totals[cell + half])
            cuda.syncthreads()
            half //= 2
        if lane == 0 and i < out_size:
            out[out_position] = totals[cell]

    return cuda_device.jit(_reduce)


def _reduce_plan(data: TensorData, dim: int) -> tuple[int, int]:
    """How many threads share an output, and into how many parts to fold first.

    Neighbouring threads should read neighbouring memory. Where that runs along the
    reduced dimension, or the tensor is small, threads share an output; else each has
    its own. Where that leaves the GPU idle, the dimension is cut into parts.
    """
    length = data.shape[dim]
    outputs = data.size // max(length, 1)
    busy = THREADS * REDUCE_BLOCKS
    others = [s for d, s in enumerate(data.strides) if d != dim and data.shape[d] > 1]
    lanes = 1
    if data.size <= busy or data.strides[dim] <= min(others, default=data.size):
        while lanes < THREADS and 4 * lanes < length:
            lanes *= 2
    parts = min(busy // (max(outputs, 1) * lanes), length // (lanes * PER_LANE))
    return lanes, max(parts, 1)


# --- Task 3.4: matrix multiplication ----------------------------------------------


def _mm_practice(out: Storage, a: Storage, b: Storage, size: int) -> None:
    """Multiply two square matrices of at most 32 x 32, contiguous, in one block.

    Every thread moves one cell of each input to shared memory and computes one cell
    of the product from there.
    """
    a_cells = cuda.shared.array((PRACTICE_BLOCK, PRACTICE_BLOCK), float64)
    b_cells = cuda.shared.array((PRACTICE_BLOCK, PRACTICE_BLOCK), float64)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    inside = i < size and j < size
    if inside:
        a_cells[i, j] = a[i * size + j]
        b_cells[i, j] = b[i * size + j]
    cuda.syncthreads()
    if inside:
        total = 0.0
        for k in range(size):
            total += a_cells[i, k] * b_cells[k, j]
        out[i * size + j] = total


def mm_practice(a: Tensor, b: Tensor) -> TensorData:
    """The product of two square matrices of the same size, at most 32 x 32."""
    size = a.shape[0] if a.dims else 0
    if not a.shape == b.shape == (size, size) or not 1 <= size <= PRACTICE_BLOCK:
        raise IndexingError(
            f"mm_practice: needs two square matrices of one size up to {PRACTICE_BLOCK}, "
            f"got {a.shape} and {b.shape}"
        )
    if not a._tensor.is_contiguous() or not b._tensor.is_contiguous():
        raise IndexingError("mm_practice: both matrices must be contiguous")
    out = TensorData(cuda_device.empty(size * size), (size, size))
    threads = (size, size) if cuda_device.SIMULATED else (PRACTICE_BLOCK, PRACTICE_BLOCK)
    cuda_device.jit(_mm_practice)[1, threads](
        out._storage, _storage(a._tensor), _storage(b._tensor), size
    )
    return out


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
        return prod(batch) * _ceil_div(rows, self.tile[0]) * _ceil_div(columns, self.tile[1])

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

_tensor_matrix_multiply = tiled().kernel
