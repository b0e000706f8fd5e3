"""How the result of an elementwise operation lies in memory: as Torch lays it out.

NumPy and Torch both let a result follow its inputs, but differ where those disagree: Torch asks
one input after the other, and takes 0 strides for no answer.
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
    """A result of broadcast inputs with Torch's strides; a copy if it has others."""
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
    """The order of dimensions in memory, and the order that undoes it."""
    return memory_order(shape, [_broadcast_strides(*x, shape) for x in inputs])


def _put(result: Array, order: Strides, back: Strides) -> Array:
    in_order = result.transpose(order)
    if in_order.flags.c_contiguous:
        return result
    return in_order.copy().transpose(back)


def in_memory_order(drawn: Array, like: Array) -> Array:
    """Numbers that fall into memory that is laid out as another array's, one after the other."""
    if like.flags.c_contiguous:
        return drawn
    order, back = memory_order(like.shape, [like.strides])
    return drawn.reshape([like.shape[d] for d in order]).transpose(back)


def arranged(result: Array, strides: list[Strides]) -> Array:
    """A result that lies as the strides of its inputs say, the first that say anything."""
    return _put(result, *memory_order(result.shape, strides))


def _broadcast_strides(own: Strides, strides: Strides, shape: Strides) -> Strides:
    """The strides of an array in a larger shape: 0 where it is repeated."""
    missing = len(shape) - len(own)
    places = zip(own, strides, shape[missing:], strict=True)
    return (0,) * missing + tuple(0 if n == 1 != size else s for n, s, size in places)


def memory_order(shape: Strides, strides: list[Strides]) -> tuple[Strides, Strides]:
    """Dimensions from the outermost in memory to the innermost, and the order that undoes this."""
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
    """Above 0 if dimension b should lie further in than a, below 0 if not; 0: no input says."""
    for own in strides:
        if own[a] and own[b]:
            if own[a] != own[b]:
                return 1 if own[a] > own[b] else -1
            if shape[a] > shape[b]:
                return 1
    return 0


# --- Rules for whole operations ---------------------------------------------------------------


def following(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Let the result of a computation on broadcast arrays lie as they do."""

    @wraps(compute)
    def run(*arrays: Any, **params: Any) -> Array:
        return laid_out(as_array(compute(*arrays, **params)), arrays)

    return run


def in_order(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let the results of a computation lie in order, however its inputs lie."""

    @wraps(compute)
    def run(*arrays: Any, **params: Any) -> Any:
        result = compute(*arrays, **params)
        return tuple(map(ordered, result)) if type(result) is tuple else ordered(result)

    return run


def ordered(array: Array) -> Array:
    """An array whose elements lie in order: itself, or a copy."""
    return array if array.flags.c_contiguous else array.copy()


def as_image(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let results lie in order, or with channels last if those of the first input do."""

    @wraps(compute)
    def run(input: Array, *others: Any, **params: Any) -> Any:
        result = compute(input, *others, **params)
        put = _channels_innermost if has_channels_last(input) else ordered
        if type(result) is not tuple:
            return put(result)
        return tuple([put(r) if r.ndim == input.ndim else ordered(r) for r in result])

    return run


def has_channels_last(array: Array) -> bool:
    """Whether an image (N, C, ...) lies in memory with its channels innermost, as Torch decides it."""
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
