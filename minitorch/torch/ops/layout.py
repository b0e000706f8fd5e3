"""The memory layout of elementwise results, the same as Torch's.

In NumPy and Torch a result follows the layout of its inputs, but they differ where those disagree: Torch
considers one input after the other, and ignores strides of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from ..backends.interface import ARRAYS, as_array
from ..tensor import Array

Strides = tuple[int, ...]


def laid_out(result: Array, inputs: Sequence[Any]) -> Array:
    """A result of broadcast inputs with Torch's strides; a copy if it has other ones."""
    shape = result.shape
    if len(shape) < 2 or result.size < 2:
        return result
    arrays = [x for x in inputs if type(x) in ARRAYS and x.ndim]
    if result.flags.c_contiguous:
        for x in arrays:
            if not x.flags.c_contiguous and any(x.strides):
                break
        else:
            return result
    return _put(result, *_order_of_inputs(shape, tuple([(x.shape, x.strides) for x in arrays])))


@lru_cache(maxsize=4096)
def _order_of_inputs(
    shape: Strides, inputs: tuple[tuple[Strides, Strides], ...]
) -> tuple[Strides, Strides]:
    """The order of dimensions in memory, and the inverse permutation."""
    return memory_order(shape, [_broadcast_strides(*x, shape) for x in inputs])


def _put(result: Array, order: Strides, back: Strides) -> Array:
    in_order = result.transpose(order)
    if in_order.flags.c_contiguous:
        return result
    return in_order.copy().transpose(back)


def in_memory_order(drawn: Array, like: Array) -> Array:
    """Numbers in memory order as an array with another array's shape and layout."""
    if like.flags.c_contiguous:
        return drawn
    order, back = memory_order(like.shape, [like.strides])
    return drawn.reshape([like.shape[d] for d in order]).transpose(back)


def arranged(result: Array, strides: list[Strides]) -> Array:
    """A result in the layout that the strides of its inputs determine."""
    return _put(result, *memory_order(result.shape, strides))


def _broadcast_strides(own: Strides, strides: Strides, shape: Strides) -> Strides:
    """The strides of an array broadcast to a shape: 0 along broadcast dimensions."""
    missing = len(shape) - len(own)
    places = zip(own, strides, shape[missing:], strict=True)
    return (0,) * missing + tuple(0 if n == 1 != size else s for n, s, size in places)


def memory_order(shape: Strides, strides: list[Strides]) -> tuple[Strides, Strides]:
    """Dimensions from the outermost in memory to the innermost, and the inverse permutation."""
    order = list(range(len(shape)))[::-1]
    for end in range(1, len(order)):
        moving = end
        for before in range(end - 1, -1, -1):
            comparison = _compare(order[before], order[moving], shape, strides)
            if comparison > 0:
                order[before], order[moving] = order[moving], order[before]
                moving = before
            elif comparison < 0:
                break
    outermost_first = tuple(order[::-1])
    return outermost_first, tuple(sorted(range(len(shape)), key=outermost_first.__getitem__))


def _compare(a: int, b: int, shape: Strides, strides: list[Strides]) -> int:
    """Positive if dimension b should be inside dimension a, negative if not; 0 if no input decides."""
    for own in strides:
        if own[a] and own[b]:
            if own[a] != own[b]:
                return 1 if own[a] > own[b] else -1
            if shape[a] > shape[b]:
                return 1
    return 0


# --- Rules for whole operations ---------------------------------------------------------------


def following(compute: Callable[..., Array]) -> Callable[..., Array]:
    """A computation whose result has the memory layout of its broadcast inputs."""

    @wraps(compute)
    def run(*arrays: Any, **params: Any) -> Array:
        return laid_out(as_array(compute(*arrays, **params)), arrays)

    return run


def in_order(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A computation whose results are contiguous, whatever its inputs are."""

    @wraps(compute)
    def run(*arrays: Any, **params: Any) -> Any:
        result = compute(*arrays, **params)
        return tuple(map(ordered, result)) if type(result) is tuple else ordered(result)

    return run


def ordered(array: Array) -> Array:
    """A contiguous array: itself, or a copy."""
    return array if array.flags.c_contiguous else array.copy()


def as_image(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A computation whose results are contiguous, or channels last if the first input is."""

    @wraps(compute)
    def run(input: Array, *others: Any, **params: Any) -> Any:
        result = compute(input, *others, **params)
        put = _channels_innermost if has_channels_last(input) else ordered
        if type(result) is not tuple:
            return put(result)
        return tuple([put(r) if r.ndim == input.ndim else ordered(r) for r in result])

    return run


def has_channels_last(array: Array) -> bool:
    """Whether an array (N, C, ...) is channels last in memory, by Torch's rules."""
    if array.flags.c_contiguous or array.ndim not in (4, 5) or not array.strides[1]:
        return False
    reached = 0
    for d in (1, *range(array.ndim - 1, 1, -1), 0):
        size, stride = array.shape[d], array.strides[d]
        if not size or stride < reached or (d == 0 and reached == array.strides[1]):
            return False
        reached = stride * size
    return True


def _channels_innermost(array: Array) -> Array:
    return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1)
