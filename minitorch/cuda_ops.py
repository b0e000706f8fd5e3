"""Lesson 3: map, zip, reduce and matrix multiplication on the GPU.

A kernel is what one thread does; a launch runs it in `blocks` of `threads`. Inputs and
outputs stay on the device, and so do shapes and strides, which are copied there once
per value. Kernels are compiled when first launched, so making a backend is quick.

Every size of a block is an argument of the function that builds the kernel. The
defaults are those of a large GPU, and tiny ones under Numba's simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from numba import float64

from . import cuda_device
from .cuda_device import ceil_div, cuda, launch_arguments, storage
from .cuda_matmul import MATMUL_LADDER as MATMUL_LADDER
from .cuda_matmul import register_tiled, tiled
from .tensor_data import IndexingError, TensorData, shape_broadcast
from .tensor_functions import is_tensor
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

MATMUL_BLOCKS = 2 if cuda_device.SIMULATED else 32
"""Blocks that keep the GPU busy: a product of fewer large tiles is done in small ones."""

PRACTICE_BLOCK = 32
"""Side of a block of the practice kernels."""


class CudaOps(TensorOps):
    """The verbs on the GPU."""

    cuda = True

    @staticmethod
    def zeros(size: int) -> Any:
        """Storage filled with 0, made on the device."""
        out = cuda_device.empty(size)
        if size:
            cuda_device.jit(_fill)[_blocks(size), THREADS](out, size, 0.0)
        return out

    @staticmethod
    def number(value: float) -> Any:
        """Storage of one number; each value is sent to the device once."""
        return cuda_device.number(value)

    @staticmethod
    def map(fn: Callable[[float], float]) -> MapProto:
        """Apply fn to every element."""

        def apply(a: Tensor, out: Tensor | None = None) -> Tensor:
            out = _new(a, a.shape) if out is None else map_output(a, out)
            x, y = a._tensor, out._tensor
            step = _step(x, y.size)
            launch = _blocks(y.size), THREADS
            if y.size and step is not None and y.is_contiguous():
                flat_map(fn)[launch](storage(y), y.size, storage(x), step)
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
                flat_zip(fn)[launch](storage(z), z.size, storage(x), x_step, storage(y), y_step)
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
        """Reduce one dimension with fn."""

        def apply(a: Tensor, dim: int) -> Tensor:
            dim = reduced_dim(a.shape, dim)
            parts = 0
            while parts != 1:  # reduce into parts, then reduce those, until one is left
                lanes, parts = _reduce_plan(a._tensor, dim)
                out = _new(a, (*a.shape[:dim], parts, *a.shape[dim + 1 :]))
                if out.size:
                    outputs = THREADS // lanes  # to a block
                    tensor_reduce(fn)[ceil_div(out.size, outputs), (lanes, outputs)](
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


def _step(data: TensorData, size: int) -> int | None:
    """How far to move in storage from one of `size` outputs to the next, if that is constant.

    1 where elements and outputs pair up in order, 0 where one element goes with all.
    """
    if data.size == 1:
        return 0
    return 1 if data.size == size and data.is_contiguous() else None


def _blocks(size: int) -> int:
    """How many blocks of a map or zip cover `size` outputs."""
    return min(ceil_div(size, THREADS), MAX_BLOCKS)


def _fill(out: Storage, size: int, value: float) -> None:
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        out[i] = value


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


def _check_tensors(name: str, *values: Any) -> None:
    for value in values:
        if not is_tensor(value):
            raise TypeError(f"{name}: needs a Tensor, not {type(value).__name__}")


def sum_practice(a: Tensor) -> TensorData:
    """Partial sums of a row of numbers, one per 32, padded with 0 to at least two."""
    _check_tensors("sum_practice", a)
    if a.dims != 1 or not a._tensor.is_contiguous():
        raise IndexingError(
            f"sum_practice: needs a contiguous row of numbers, got shape {a.shape} "
            f"and strides {a._tensor.strides}"
        )
    blocks = max(2, ceil_div(a.size, PRACTICE_BLOCK))
    out = TensorData(cuda_device.empty(blocks), (blocks,))
    cuda_device.jit(_sum_practice)[blocks, PRACTICE_BLOCK](out._storage, storage(a._tensor), a.size)
    return out


@lru_cache(maxsize=256)
def tensor_reduce(fn: Callable[[float, float], float], block: int = THREADS) -> Any:
    """A kernel that reduces dimension `reduce_dim` of `a` into `out`.

    Launch it with (lanes, outputs) threads to a block, lanes a power of two and at
    most `block` threads in all: `lanes` threads share an output. Each reduces every
    lanes-th element into a total that starts from `reduce_value`, then the totals are
    reduced in shared memory, half onto half.

    Where `out_shape` has `parts` in the reduced dimension instead of 1, that dimension
    is cut into as many pieces and each is reduced by itself.
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
            end = min((part + 1) * piece, length)
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
    """How many threads share an output, and into how many parts to reduce first.

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
    _check_tensors("mm_practice", a, b)
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
        out._storage, storage(a._tensor), storage(b._tensor), size
    )
    return out


_tensor_matrix_multiply = tiled().kernel
