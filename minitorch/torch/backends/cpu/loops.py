"""One loop for every elementwise function: it is given the function's address.

The loop runs along the output's memory. What is no run of memory beside it (an operand
with strides, a number, a row or column that is broadcast, an output that overlaps an
operand) passes through a block that is one, so the arithmetic sees runs only.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import types, void
from numba.np.numpy_support import from_dtype

from .kernels import address_of, compile_for, function_at, parallel, step, usable
from .runs import share
from .scalars import functions

Array = Any
Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""A shape and strides."""

BLOCK = 1024
"""How many elements pass through a block at a time."""

SLOTS = 4
"""How many operands the loop has room for."""


def elementwise(name: str, operands: tuple[Any, ...], out: Array | None = None) -> Array:
    """A function of scalars.py, of arrays and numbers that broadcast together.

    Args:
        name: of the function
        operands: arrays of one type, float32 or float64, and plain numbers; one array has
            the full shape
        out: where to write; by default a new array laid out like the first full operand
    """
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    shape = arrays[0].shape
    if any(x.shape != shape for x in arrays):
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    if out is not None and not is_dense(out):
        out[...] = elementwise(name, operands)
        return out
    target = _output(arrays, shape) if out is None else out
    if target.size == 0:
        return target
    kind = target.dtype
    own = [_walkable(x) if isinstance(x, np.ndarray) else np.array((x,), kind) for x in operands]
    plan = _plan(kind.itemsize, *((x.shape, x.strides) for x in (target, *own)))
    runs = [_memory(x) for x in own]
    runs += runs[:1] * (SLOTS - len(runs))
    address, loop = _body(name, kind.type, len(own)), _loop(kind.type)
    loop(target.size, address, _memory(target), *runs, plan, out is not None)
    return target


# --- Where things lie in memory ---------------------------------------------------------------


@lru_cache(1024)
def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions from the longest stride to the shortest."""
    return tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], d)))


def is_dense(x: Array) -> bool:
    """Whether an array fills one run of memory, in some order of its dimensions."""
    return x.flags.c_contiguous or x.transpose(_order(x.shape, x.strides)).flags.c_contiguous


def _output(arrays: list[Array], shape: tuple[int, ...]) -> Array:
    """A new array, laid out like the first that has its shape."""
    for x in arrays:
        if x.shape == shape:
            return np.empty_like(x)
    return np.empty(shape, arrays[0].dtype)


def _walkable(x: Array) -> Array:
    """An array that can be walked in whole steps forwards: itself, or else a copy."""
    if x.flags.c_contiguous and x.flags.aligned:
        return x
    forwards = all(s >= 0 and s % x.itemsize == 0 for s in x.strides)
    return x if forwards and x.flags.aligned else x.copy()


def _memory(x: Array) -> Array:
    """The run of memory from an array's first element to its last."""
    x = usable(x)
    if x.flags.c_contiguous:
        return x.reshape(-1)
    extent = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)) // x.itemsize
    return np.lib.stride_tricks.as_strided(x, (extent,), (x.itemsize,))


@lru_cache(1024)
def _plan(itemsize: int, target: Layout, *operands: Layout) -> Array:
    """The dimensions that are left after joining: for each its size and the step of each operand.

    Neighbouring dimensions that follow each other in the memory of every operand are one.
    """
    shape = target[0]
    rows: list[list[int]] = []
    for d in _order(*target):
        if shape[d] == 1:
            continue
        row = [shape[d], *(_stride_along(d - len(shape), x) // itemsize for x in operands)]
        if rows and all(a == b * row[0] for a, b in zip(rows[-1][1:], row[1:], strict=True)):
            row[0] *= rows.pop()[0]
        rows.append(row)
    plan = np.array(rows or [[1] * (1 + len(operands))], dtype=np.int64)
    spare = np.repeat(plan[:, 1:2], SLOTS - len(operands), axis=1)
    return np.concatenate([plan, spare], axis=1)


def _stride_along(d: int, x: Layout) -> int:
    """An operand's stride along a dimension counted from the last; 0 where it is broadcast."""
    shape, strides = x
    return strides[d] if -d <= len(shape) and shape[d] != 1 else 0


# --- The loop -----------------------------------------------------------------------------------


def _signature(real: Any) -> Any:
    """Of a function that fills a run of memory from four others."""
    run = types.Array(from_dtype(np.dtype(real)), 1, "C")
    return void(run, run, run, run, run)


@cache
def _body(name: str, real: Any, arity: int) -> int:
    """The address of a loop along runs of memory around a scalar function, compiled when first asked for."""
    f = functions(real)[name]

    def one(out: Array, a: Array, b: Array, c: Array, d: Array) -> None:
        for i in range(len(out)):
            out[i] = f(a[i])

    def two(out: Array, a: Array, b: Array, c: Array, d: Array) -> None:
        for i in range(len(out)):
            out[i] = f(a[i], b[i])

    def three(out: Array, a: Array, b: Array, c: Array, d: Array) -> None:
        for i in range(len(out)):
            out[i] = f(a[i], b[i], c[i])

    def four(out: Array, a: Array, b: Array, c: Array, d: Array) -> None:
        for i in range(len(out)):
            out[i] = f(a[i], b[i], c[i], d[i])

    signature = _signature(real)
    return address_of(compile_for((one, two, three, four)[arity - 1], signature), signature)


@step
def _run(x: Array, slot: int, plan: Array, place: Any, blocks: Array, filled: Array) -> Array:
    """An operand's elements at a place (row, column, count): its own memory, or copied into a block."""
    row, column, count = place
    last = len(plan) - 1
    start = 0
    for d in range(last - 1, -1, -1):
        start += row % plan[d, 0] * plan[d, slot + 1]
        row //= plan[d, 0]
    step = plan[last, slot + 1]
    if step == 1:
        return x[start + column : start + column + count]
    block = blocks[slot]
    if step != 0:
        for i in range(count):
            block[i] = x[start + (column + i) * step]
    elif filled[slot] != start:
        for i in range(BLOCK):
            block[i] = x[start]
        filled[slot] = start
    return block[:count]


@cache
def _loop(real: Any) -> Any:
    """The loop that all elementwise functions share, compiled at its first call."""
    at = function_at(_signature(real))

    def elementwise(
        task: int, tasks: int, address: int, out: Array, a: Array, b: Array, c: Array, d: Array,
        plan: Array, overlaps: bool,
    ) -> None:  # fmt: skip
        along = at(address)
        position, end = share(task, tasks, len(out))
        last = len(plan) - 1
        length = plan[last, 0]
        direct = not overlaps
        for slot in range(SLOTS):
            direct = direct and plan[last, slot + 1] == 1
        limit = length if direct else BLOCK
        blocks = np.empty((SLOTS + 1, 0 if direct else BLOCK), out.dtype)
        filled = np.empty(SLOTS, np.int64)
        for slot in range(SLOTS):
            filled[slot] = -1
        while position < end:
            row, column = position // length, position % length
            count = min(limit, length - column, end - position)
            place = (row, column, count)
            run = blocks[SLOTS, :count] if overlaps else out[position : position + count]
            along(
                run,
                _run(a, 0, plan, place, blocks, filled),
                _run(b, 1, plan, place, blocks, filled),
                _run(c, 2, plan, place, blocks, filled),
                _run(d, 3, plan, place, blocks, filled),
            )
            if overlaps:
                for i in range(count):
                    out[position + i] = run[i]
            position += count

    return parallel(elementwise)
