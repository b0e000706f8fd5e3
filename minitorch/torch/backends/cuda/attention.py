"""Attention on a GPU, which never stores all scores: a block of threads for some queries, and for some keys.

Numbers of two bytes are left to `flash_attention.py`, other long sequences to `long_attention.py`; wide rows and float64 have a warp of threads for each
query, and for each key. A query keeps its largest score and the sum of exp(score - largest), from which the backward makes the shares again.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from . import flash_attention, long_attention
from .sources import ATTENTION
from .tiled_sources import TILED
from .typed_kernels import BY_KIND, WIDE, kernel_for, scratch

LANES = 32
BLOCK = 128
WIDEST = 256
"""How many numbers a query may have."""

LONG = 1 << 16
"""From so many pairs of a query and a key on, products are left to cuBLAS."""

_sources = {
    each: f"#define LANES {LANES}\n#define EACH {each}\n{ATTENTION}" for each in (1, 2, 4, 8)
}


TILE = 32
TILED_WIDTHS = (32, 64)
"""For how wide rows there are kernels that share rows among the threads of a block."""

_tiled = {width: f"#define LANES {LANES}\n#define EACH 1\n#define WIDTH {width}\n{ATTENTION}{TILED}" for width in TILED_WIDTHS}  # fmt: skip


def _places(x: Array) -> bytes:
    """How far apart samples, heads and rows are; of an array with three dimensions there is one sample."""
    return _struct(x.strides[:-1], x.itemsize)


@lru_cache(maxsize=256)
def _struct(strides: tuple[int, ...], itemsize: int) -> bytes:
    steps = [s // itemsize for s in strides]
    return np.array([0] * (3 - len(steps)) + steps, np.int64).tobytes()


def _fits(*arrays: Array) -> bool:
    """Whether arrays are stacks of matrices with the same number of samples and heads, and rows without gaps."""
    first = arrays[0]
    kind, outer = first.dtype, first.shape[:-2]
    if kind not in BY_KIND or not 2 <= first.ndim <= 4:
        return False
    for x in arrays:
        *others, _, width = x.shape
        if (*others,) != outer or width > WIDEST or not x.size:
            return False
        if x.strides[-1] != kind.itemsize or (x.dtype is not kind and x.dtype != kind):
            return False
    return True


@lru_cache(maxsize=256)
def _sizes(query: tuple[int, ...], key: tuple[int, ...], wide: int) -> tuple[int, ...]:
    """How many heads a sample has, queries, keys, and how wide queries and values are; and how many heads there are."""
    outer = query[:-2]
    return outer[-1] if outer else 1, query[-2], key[-2], query[-1], wide, prod(outer)


def _run(name: str, arrays: tuple[Any, ...], given: tuple[Array, ...], rows: int, scale: float, causal: bool) -> None:  # fmt: skip
    """Launch a kernel for `rows` queries or keys of each head of a query, key and value."""
    query, key, value = given
    *sizes, heads = _sizes(query.shape, key.shape, value.shape[-1])
    widest, kind = max(sizes[3:]), query.dtype
    if widest <= TILED_WIDTHS[-1] and kind.itemsize <= 4 and heads < 1 << 16:
        source = _tiled[TILED_WIDTHS[widest > TILED_WIDTHS[0]]]
        grid = -(-rows // TILE), heads, 2 if name == "attention_by_key" else 1
        args = (*arrays, *sizes, scale, causal)
        kernel_for(source, f"tiled_{name}", kind)(grid, (256,), args)
        return
    each, count = next(e for e in _sources if e * LANES >= widest), heads * rows
    args = (*arrays, *sizes, scale, causal, count)
    kernel = kernel_for(_sources[each], name, kind)
    kernel((-(-count * LANES // BLOCK),), (BLOCK,), args)


def _is_long(query: Array, key: Array) -> bool:
    """Whether products of large matrices are worth their start."""
    return query.shape[-2] * key.shape[-2] >= LONG


def _beside(x: Array, length: int, width: int) -> Array:
    """Memory for (..., heads, length, width) in which the heads of a position are neighbours."""
    if x.ndim != 4:
        return cupy.ndarray((*x.shape[:-2], length, width), x.dtype)
    batch, heads = x.shape[:2]
    return cupy.ndarray((batch, length, heads, width), x.dtype).transpose(0, 2, 1, 3)


def _like(x: Array) -> Array:
    """Memory for the gradient of x, in the same order, if that is one of the two that are usual."""
    return cupy.ndarray(x.shape, x.dtype) if x._c_contiguous else _beside(x, *x.shape[-2:])


def attention(
    query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool
) -> tuple[Array, Array] | None:
    """The values mixed by softmax(scale query keyᵀ), and what the backward needs of each query."""
    if mask is not None or not _fits(query, key, value) or key.shape[-2] != value.shape[-2]:
        return None  # of wrong shapes the formula tells
    out = _beside(query, query.shape[-2], value.shape[-1])
    if scale > 0 and flash_attention.fits(query, key, value):
        return out, flash_attention.forward(query, key, value, out, scale, causal)
    sums = cupy.ndarray((*query.shape[:-1], 1, 2), WIDE[query.dtype])
    if _is_long(query, key):
        long_attention.forward(query, key, value, out, sums, scale, causal)
        return out, sums
    places = map(_places, (query, key, value, out))
    arrays = (query, key, value, out, sums, *places)
    _run("attention", arrays, (query, key, value), query.shape[-2], scale, causal)
    return out, sums


def attention_backward(
    grad: Array, query: Array, key: Array, value: Array, mask: Array | None, shares: Array,
    scale: float, causal: bool, with_mask: bool,
) -> tuple[Array, ...] | None:  # fmt: skip
    """The gradients of query, key and value."""
    if mask is not None or shares.ndim != query.ndim + 1 or key.ndim != query.ndim:
        return None  # the formula's shares, which have as many dimensions as the largest input
    if grad.strides[-1] != grad.itemsize:
        grad = cupy.ascontiguousarray(grad)
    given = query, key, value
    if shares.shape[-1] != 2:
        grad = grad if flash_attention.fits(grad) else cupy.ascontiguousarray(grad)
        made = [_like(x) for x in given]
        flash_attention.backward(grad, given, shares, tuple(made), scale, causal)
        return tuple(made)
    if _is_long(query, key):
        made = [cupy.ndarray(query.shape, query.dtype)]
        made += [cupy.zeros(x.shape, shares.dtype) for x in (key, value)]
        long_attention.backward(grad, given, shares, tuple(made), scale, causal)
        return tuple(x.astype(query.dtype, copy=False) for x in made)
    by_query, by_key, by_value = map(_like, given)
    dots = scratch(query.shape[:-1], shares.dtype)
    inputs = [_places(x) for x in (grad, *given)]
    read = grad, *given, shares
    arrays = (*read, by_query, dots.ptr, *inputs, _places(by_query))
    _run("attention_by_query", arrays, given, query.shape[-2], scale, causal)
    to = _places(by_key), _places(by_value)
    arrays = (*read, dots.ptr, by_key, by_value, *inputs, *to)
    _run("attention_by_key", arrays, given, key.shape[-2], scale, causal)
    return by_query, by_key, by_value


KERNELS: dict[str, Any] = {
    "scaled_dot_product_attention": attention, "scaled_dot_product_attention_backward": attention_backward,
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
