"""Attention on arrays: shares of keys for each query, the values mixed by them, and the derivatives."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .kinds import KERNEL_TYPES, is_large, kernels_from
from .softmax import softmax, softmax_backward

Array = Any

LARGE = kernels_from(8_192)
"""From so many shares on, kernels compute them."""


# --- Forward ---------------------------------------------------------------------------------------


def attention(
    query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool
) -> tuple[Array, Array]:
    """The values (..., L, Ev) mixed by the shares softmax(scale query keyᵀ + mask), and the shares."""
    if mask is None and scale > 0 and (kernels := _kernels(query, key, value)):
        shared = np.empty((*query.shape[:-1], key.shape[-2]), query.dtype)
        out = _by_position(shared, value)
        kernels.forward(query, key, value, scale, causal, shared, out)
        return out, shared
    shared = shares(query, key, mask, scale, causal)
    if shared.ndim != 4 or shared.shape[:2] != value.shape[:2]:
        return np.matmul(shared, value), shared
    return np.matmul(shared, value, out=_by_position(shared, value)), shared


def _by_position(shared: Array, value: Array) -> Array:
    """Memory for (batch, heads, L, Ev) in which the heads of a position are neighbours."""
    *batch, length, _ = shared.shape
    if len(batch) != 2:
        return np.empty((*batch, length, value.shape[-1]), shared.dtype)
    shape = (batch[0], length, batch[1], value.shape[-1])
    return np.empty(shape, shared.dtype).transpose(0, 2, 1, 3)


def _kernels(query: Array, key: Array, value: Array) -> Any:
    """The kernels for whole heads, if these are many numbers in all and they can run here."""
    scores = query.size // max(query.shape[-1], 1) * key.shape[-2]
    if scores < LARGE or query.dtype not in KERNEL_TYPES:
        return None
    from . import attention_kernels

    return attention_kernels if attention_kernels.takes(query, key, value) else None


def shares(query: Array, key: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    """softmax(scale query keyᵀ + mask); the scores (..., L, S) are fresh memory, and masked in it."""
    scores = _scores(query, key)
    if mask is None and scale > 0 and is_large(scores, LARGE):
        from . import attention_kernels

        attention_kernels.to_shares(scores, scale, causal)
        return scores
    scores *= scores.dtype.type(scale)
    if causal:
        np.copyto(scores, -np.inf, where=_later(*scores.shape[-2:]))
    return softmax(scores, scores.ndim - 1) if mask is None else _masked(scores, mask)


def _scores(a: Array, b: Array) -> Array:
    """The products of all rows of two stacks of matrices, in contiguous memory."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2])
    return np.matmul(a, b.swapaxes(-2, -1), out=np.empty(shape, a.dtype))


@lru_cache(maxsize=16)
def _later(queries: int, keys: int) -> Array:
    """Which keys stand after each query."""
    return ~np.tri(queries, keys, dtype=bool)


def _masked(scores: Array, mask: Array) -> Array:
    """The shares where a mask is added to scores, or says which count."""
    kind = scores.dtype
    hidden = ~mask if mask.dtype == np.bool_ else mask == -np.inf
    scores = np.where(hidden, -np.inf, scores) if mask.dtype == np.bool_ else scores + mask
    with np.errstate(invalid="ignore"):
        out = softmax(scores.astype(kind, copy=False), scores.ndim - 1)
    blind = hidden.all(axis=-1, keepdims=True)  # a query that may look nowhere sees zeros
    return np.where(blind, kind.type(0), out) if blind.any() else out


# --- Backward --------------------------------------------------------------------------------------


def attention_backward(
    g: Array, query: Array, key: Array, value: Array, mask: Array | None, shared: Array,
    scale: float, causal: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of query, key and value; where there is a mask, of the scores too."""
    if mask is None and (kernels := _kernels(query, key, value)):
        made = [_memory_like(x) for x in (query, key, value)]
        kernels.backward(g, query, key, value, scale, np.ascontiguousarray(shared), *made)
        return tuple(made)
    slopes = _scores(g, value)
    by_value = _product(shared.swapaxes(-2, -1), g, value)
    if mask is None and is_large(slopes, LARGE):
        from . import attention_kernels

        attention_kernels.to_slopes(slopes, np.ascontiguousarray(shared), scale)
        by_query = _product(slopes, key, query)
        return by_query, _product(slopes.swapaxes(-2, -1), query, key), by_value
    slopes = softmax_backward(slopes, shared, shared.ndim - 1)
    factor = query.dtype.type(scale)
    by_query = _product(slopes, key, query) * factor
    by_key = _product(slopes.swapaxes(-2, -1), query, key) * factor
    return by_query, by_key, by_value, slopes if mask is None else _summed_to(slopes, mask.shape)


def _product(a: Array, b: Array, like: Array) -> Array:
    """The product of matrices, in the shape of another array and in memory of the same order."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if shape == like.shape:
        return np.matmul(a, b, out=_memory_like(like))
    return _summed_to(np.matmul(a, b), like.shape)


def _memory_like(x: Array) -> Array:
    """Memory in the same order as that of x, if the numbers of a row are neighbours there."""
    out = np.empty_like(x, order="K")
    whole = out.strides[-1] == out.itemsize and out.strides[-2] >= out.shape[-1] * out.itemsize
    return out if whole else np.empty(x.shape, x.dtype)


def _summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    """The sum over what an array of this shape was repeated along."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    repeated = tuple(d for d, size in enumerate(shape) if size == 1 != x.shape[d])
    return x.sum(axis=repeated, keepdims=True) if repeated else x
