"""Softmax, log-softmax and log-sum-exp along a dimension, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends.interface import accelerated, reduce

Array = Any


@accelerated
def softmax(x: Array, dim: int) -> Array:
    """exp(x), scaled so that it sums to 1 along a dimension."""
    e = x - _largest(x, dim)
    np.exp(e, out=e)
    e /= np.add.reduce(e, axis=dim, keepdims=True)
    return e


@accelerated
def softmax_backward(g: Array, out: Array, dim: int) -> Array:
    """The gradient g taken through a softmax whose result was `out`."""
    return out * (g - np.add.reduce(g * out, axis=dim, keepdims=True))


@accelerated
def log_softmax(x: Array, dim: int) -> Array:
    """The logarithm of the softmax, without a detour by small numbers."""
    shifted = x - _largest(x, dim)
    return shifted - np.log(np.add.reduce(np.exp(shifted), axis=dim, keepdims=True))


@accelerated
def log_softmax_backward(g: Array, out: Array, dim: int) -> Array:
    """The gradient g taken through a log-softmax whose result was `out`."""
    return g - np.exp(out) * np.add.reduce(g, axis=dim, keepdims=True)


@accelerated
def logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool = False) -> Array:
    """log of the sum of exp(x) over some dimensions, without overflow."""
    top = reduce(np.maximum, x, dims, keepdims=True)
    top = np.where(np.isinf(top), x.dtype.type(0), top)
    out = np.log(np.add.reduce(np.exp(x - top), axis=dims, keepdims=True)) + top
    return out if keepdim else np.squeeze(out, dims)


def _largest(x: Array, dim: int) -> Array:
    return reduce(np.maximum, x, dim, keepdims=True) if x.size else x
