"""Softmax, log-softmax and log-sum-exp along a dimension, and their derivatives."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .kinds import is_half, is_large, kernels_from

Array = Any

LARGE = kernels_from(8_192)
"""The size from which on kernels compute."""


def softmax(x: Array, dim: int) -> Array:
    """exp(x), scaled so that it sums to 1 along a dimension."""
    if is_large(x, LARGE):
        return _by_kernel("softmax", dim, x)
    if is_half(x):
        return softmax(x.astype(np.float32), dim).astype(x.dtype)
    e = np.exp(x - _top(x, dim))
    return e / e.sum(axis=dim, keepdims=True)


def softmax_backward(g: Array, out: Array, dim: int) -> Array:
    """The gradient g taken through a softmax whose result was `out`."""
    if is_large(out, LARGE):
        return _by_kernel("softmax_backward", dim, g, out)
    if is_half(out):
        return softmax_backward(g.astype(np.float32), out.astype(np.float32), dim).astype(out.dtype)
    return out * (g - (g * out).sum(axis=dim, keepdims=True))


def log_softmax(x: Array, dim: int) -> Array:
    """The logarithm of the softmax, without a detour by small numbers."""
    if is_large(x, LARGE):
        return _by_kernel("log_softmax", dim, x)
    if is_half(x):
        return log_softmax(x.astype(np.float32), dim).astype(x.dtype)
    shifted = x - _top(x, dim)
    return shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))


def log_softmax_backward(g: Array, out: Array, dim: int) -> Array:
    """The gradient g taken through a log-softmax whose result was `out`."""
    if is_large(out, LARGE):
        return _by_kernel("log_softmax_backward", dim, g, out)
    if is_half(out):
        wide = log_softmax_backward(g.astype(np.float32), out.astype(np.float32), dim)
        return wide.astype(out.dtype)
    return g - np.exp(out) * g.sum(axis=dim, keepdims=True)


def logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool = False) -> Array:
    """log of the sum of exp(x) over some dimensions, without overflow."""
    if is_half(x):
        return logsumexp(x.astype(np.float32), dims, keepdim).astype(x.dtype)
    if is_large(x, LARGE):
        return _large_logsumexp(x, tuple(d % x.ndim for d in dims), keepdim)
    top = x.max(axis=dims, keepdims=True)
    top = np.where(np.isinf(top), x.dtype.type(0), top)
    out = np.log(np.exp(x - top).sum(axis=dims, keepdims=True)) + top
    return out if keepdim else np.squeeze(out, dims)


def _large_logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool) -> Array:
    """The same by a kernel, along rows: the reduced dimensions are brought to the end."""
    from . import softmax_kernels

    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*kept, *dims).reshape(prod(x.shape[d] for d in kept), -1)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    return softmax_kernels.row_logsums(np.ascontiguousarray(rows)).sum(axis=1).reshape(shape)


def _top(x: Array, dim: int) -> Array:
    return x.max(axis=dim, keepdims=True) if x.size else x


def _by_kernel(name: str, dim: int, *arrays: Array) -> Array:
    """Apply a kernel along a dimension."""
    from . import softmax_kernels

    kind = arrays[-1].dtype
    compact = [np.ascontiguousarray(x, kind) for x in arrays]
    out = np.empty(compact[-1].shape, kind)
    softmax_kernels.run(name, compact, out, dim % max(out.ndim, 1))
    return out
