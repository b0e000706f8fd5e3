"""One loop for every elementwise function: it is given the function's address.

The loop runs along the output's memory. What is no run of memory beside it (an operand
with strides, a number, a row or column that is broadcast, an output that overlaps an
operand) passes through a block that is one, so the arithmetic sees runs only.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from numba import int64, void

from .dispatch import Function
from .kernels import (
    address_of,
    compile_for,
    from_source,
    function_at,
    kernel,
    numbers_at,
    scalar_function,
    share,
    usable,
)  # fmt: skip

Array = Any
Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""A shape and strides."""

BLOCK = 1024
"""How many elements pass through a block at a time."""

SLOTS = 5
"""How many operands the loop has room for."""


def elementwise(scalar: Function, *operands: Any, out: Array | None = None) -> Array:
    """A scalar function, of arrays and numbers that broadcast together.

    Args:
        scalar: the function
        operands: arrays of one type, float32 or float64, and plain numbers; one array has
            the full shape
        out: where to write; by default a new array laid out like the first full operand
    """
    kinds = {x.dtype for x in operands if isinstance(x, np.ndarray)}
    if len(kinds) > 1:
        return NotImplemented
    kind = kinds.pop()
    own = [_walkable(x) if isinstance(x, np.ndarray) else np.array((x,), kind) for x in operands]
    shapes = {x.shape for x in operands if isinstance(x, np.ndarray)}
    shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    if out is not None and not _can_hold(out, shape, own):
        out[...] = elementwise(scalar, *operands)
        return out
    target = _output(own, shape) if out is None else out
    if target.size == 0:
        return target
    plan = _plan(kind.itemsize, *[(x.shape, x.strides) for x in (target, *own)])
    runs = [_memory(x) for x in own]
    runs += runs[:1] * (SLOTS - len(runs))
    address = _body(scalar, kind.type, len(own))
    _loop(target.size, _memory(target), *runs, address, plan, out is not None)
    return target


# --- Where things lie in memory ---------------------------------------------------------------


@lru_cache(1024)
def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions from the longest stride to the shortest."""
    return tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], d)))


def is_dense(x: Array) -> bool:
    """Whether an array fills one run of memory, in some order of its dimensions."""
    return x.flags.c_contiguous or x.transpose(_order(x.shape, x.strides)).flags.c_contiguous


def _can_hold(out: Array, shape: tuple[int, ...], operands: list[Array]) -> bool:
    """Whether results can be written straight into an array, though it may be an operand itself."""
    for x in operands:
        same = x.shape == out.shape and x.strides == out.strides
        if np.may_share_memory(x, out) and not (same and x.ctypes.data == out.ctypes.data):
            return False
    return out.shape == shape and out.flags.aligned and is_dense(out)


def _output(arrays: list[Array], shape: tuple[int, ...]) -> Array:
    """A new array, laid out like the first that has its shape."""
    for x in arrays:
        if x.shape == shape:
            return np.empty_like(x)
    return np.empty(shape, arrays[0].dtype)


def _walkable(x: Array) -> Array:
    """An array that can be walked in whole steps forwards: itself, or else a copy."""
    flags = x.flags
    if flags.c_contiguous and flags.aligned:
        return x
    forwards = all(s >= 0 and s % x.itemsize == 0 for s in x.strides)
    return x if forwards and flags.aligned else x.copy()


def _memory(x: Array) -> Array:
    """The run of memory from an array's first element to its last."""
    if x.flags.carray:
        return x.ravel()
    x = usable(x)
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
# It handles addresses and leaves numbers to the function it calls.


BODY = void(int64, int64, int64, int64, int64, int64, int64)
"""Fills so many numbers at the first address from those at the next five."""

_body_at = function_at(BODY)


@cache
def _body(scalar: Function, real: Any, arity: int) -> int:
    """The address of a loop along contiguous memory around a scalar function, compiled when first asked for."""
    operands = ("a", "b", "c", "d", "e")[:arity]
    body = from_source(
        "def body(out, a, b, c, d, e, count):\n"
        + "".join(f"    {x}_run = numbers_at({x}, count)\n" for x in ("out", *operands))
        + "    for i in range(count):\n"
        + f"        out_run[i] = f({', '.join(f'{x}_run[i]' for x in operands)})\n",
        f=scalar_function(scalar), numbers_at=numbers_at,
    )  # fmt: skip
    return address_of(compile_for(body, BODY, real), BODY)


def _place(x: int, slot: int, plan: Array, row: int, column: int, size: int) -> int:
    """The address of an operand's element in a row; elements have so many bytes."""
    last = len(plan) - 1
    start = column * plan[last, slot]
    for d in range(last - 1, -1, -1):
        start += row % plan[d, 0] * plan[d, slot]
        row //= plan[d, 0]
    return x + start * size


def _copy(source: int, step: int, block: int, count: int) -> int:
    """Copy numbers that are so many steps apart into a block."""
    x, o = numbers_at(source, (count - 1) * step + 1), numbers_at(block, count)
    if step == 0:
        number = x[0]
        for i in range(count):
            o[i] = number
    else:
        for i in range(count):
            o[i] = x[i * step]
    return block


@kernel
def _loop(
    task: int, tasks: int, out: Array, a: Array, b: Array, c: Array, d: Array, e: Array,
    body: int, plan: Array, overlaps: bool,
) -> None:  # fmt: skip
    """The loop that all elementwise functions share.

    Args:
        task: of so many `tasks`
        tasks: among which the output is shared
        out: the output's memory, 1-d
        a: the memory of the first operand, 1-d; b, c, d, e likewise, or again the first
        body: the address of a function as `_body` makes it
        plan: (dimensions, 1 + SLOTS) as `_plan` makes it
        overlaps: whether `out` may be an operand's memory
    """
    along = _body_at(body)
    last = len(plan) - 1
    length, size = plan[last, 0], out.itemsize
    space = np.empty((SLOTS + 1) * BLOCK, out.dtype)
    starts = (out.ctypes.data, a.ctypes.data, b.ctypes.data,
              c.ctypes.data, d.ctypes.data, e.ctypes.data)  # fmt: skip
    places = np.empty(SLOTS + 1, np.int64)
    numbers = np.empty(SLOTS + 1, np.bool_)  # which operands are one number, and need one copy
    direct = not overlaps
    for slot in range(1, SLOTS + 1):
        direct = direct and plan[last, slot] == 1
        numbers[slot] = True
        for dim in range(last + 1):
            numbers[slot] = numbers[slot] and plan[dim, slot] == 0
        if numbers[slot]:
            block = space.ctypes.data + slot * BLOCK * size
            places[slot] = _copy(starts[slot], 0, block, BLOCK)
    limit = length if direct else BLOCK
    position, end = share(task, tasks, len(out))
    while position < end:
        row, column = position // length, position % length
        count = min(limit, length - column, end - position)
        for slot in range(1, SLOTS + 1):
            if numbers[slot]:
                continue
            step = plan[last, slot]
            places[slot] = _place(starts[slot], slot, plan, row, column, size)
            if step != 1:
                block = space.ctypes.data + slot * BLOCK * size
                places[slot] = _copy(places[slot], step, block, count)
        places[0] = space.ctypes.data if overlaps else starts[0] + position * size
        along(places[0], places[1], places[2], places[3], places[4], places[5], count)
        if overlaps:
            _copy(places[0], 1, starts[0] + position * size, count)
        position += count
