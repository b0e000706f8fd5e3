"""Attention on arrays: the values mixed by attention weights, and the derivatives."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..backends.interface import accelerated
from .softmax import softmax, softmax_backward

Array = Any


# --- Forward ---------------------------------------------------------------------------------------


@accelerated
def attention(
    query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool
) -> tuple[Array, Array]:
    """The values (..., L, Ev) mixed by the weights softmax(scale query keyᵀ + mask), and these."""
    weights = attention_weights(query, key, mask, scale, causal)
    if weights.ndim != 4 or weights.shape[:2] != value.shape[:2]:
        return np.matmul(weights, value), weights
    return np.matmul(weights, value, out=heads_beside_each_other(weights, value)), weights


def heads_beside_each_other(weights: Array, value: Array) -> Array:
    """Memory for (batch, heads, L, Ev) in which the heads of a position are neighbours."""
    *batch, length, _ = weights.shape
    if len(batch) != 2:
        return np.empty((*batch, length, value.shape[-1]), weights.dtype, like=weights)
    shape = (batch[0], length, batch[1], value.shape[-1])
    return np.empty(shape, weights.dtype, like=weights).transpose(0, 2, 1, 3)


def attention_weights(
    query: Array, key: Array, mask: Array | None, scale: float, causal: bool
) -> Array:
    """softmax(scale query keyᵀ + mask), of shape (..., L, S)."""
    scores = _scaled(_scores(query, key), scale, causal)
    return softmax(scores, scores.ndim - 1) if mask is None else _masked(scores, mask)


def _scaled(scores: Array, scale: float, causal: bool) -> Array:
    """The scores times the scale, in their own memory; -inf for keys after the query, if causal."""
    scores *= scores.dtype.type(scale)
    if causal:
        later = np.asarray(_later(*scores.shape[-2:]), like=scores)
        np.copyto(scores, -np.inf, where=later)
    return scores


def _scores(a: Array, b: Array) -> Array:
    """The products of all rows of two stacks of matrices, in contiguous memory."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-2])
    return np.matmul(a, b.swapaxes(-2, -1), out=np.empty(shape, a.dtype, like=a))


@lru_cache(maxsize=16)
def _later(queries: int, keys: int) -> Array:
    """Which keys stand after each query."""
    return ~np.tri(queries, keys, dtype=bool)


def _masked(scores: Array, mask: Array) -> Array:
    """The weights where a mask is added to scores, or says which count."""
    kind = scores.dtype
    hidden = ~mask if mask.dtype == np.bool_ else mask == -np.inf
    scores = np.where(hidden, -np.inf, scores) if mask.dtype == np.bool_ else scores + mask
    with np.errstate(invalid="ignore"):
        out = softmax(scores.astype(kind, copy=False), scores.ndim - 1)
    blind = hidden.all(axis=-1, keepdims=True)  # a query that may look nowhere sees zeros
    return np.where(blind, kind.type(0), out) if blind.any() else out


# --- Backward --------------------------------------------------------------------------------------


@accelerated
def attention_backward(
    g: Array, query: Array, key: Array, value: Array, mask: Array | None, weights: Array,
    scale: float, causal: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """The gradients of query, key and value; where there is a mask, of the scores too."""
    by_value = _product(weights.swapaxes(-2, -1), g, value)
    slopes = softmax_backward(_scores(g, value), weights, weights.ndim - 1)
    by_mask = () if mask is None else (_summed_to(slopes, mask.shape),)
    slopes = slopes * query.dtype.type(scale)
    by_query = _product(slopes, key, query)
    return by_query, _product(slopes.swapaxes(-2, -1), query, key), by_value, *by_mask


def _product(a: Array, b: Array, like: Array) -> Array:
    """The product of matrices, in the shape of another array and in memory of the same order."""
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if shape == like.shape:
        return np.matmul(a, b, out=memory_like(like))
    return _summed_to(np.matmul(a, b), like.shape)


def memory_like(x: Array) -> Array:
    """Memory in the same order as that of x, if the numbers of a row are neighbours there."""
    out = np.empty_like(x, order="K")
    whole = out.strides[-1] == out.itemsize and out.strides[-2] >= out.shape[-1] * out.itemsize
    return out if whole else np.empty(x.shape, x.dtype, like=x)


def _summed_to(x: Array, shape: tuple[int, ...]) -> Array:
    """The sum over what an array of this shape was repeated along."""
    x = np.add.reduce(x, axis=tuple(range(x.ndim - len(shape))))
    repeated = tuple(d for d, size in enumerate(shape) if size == 1 != x.shape[d])
    return np.add.reduce(x, axis=repeated, keepdims=True) if repeated else x
