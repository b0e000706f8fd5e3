"""Normalisation: layer, group, batch and root mean square, forward and backward.

Forward functions return what backward needs beside the result: the means and the
reciprocals of the standard deviations. Statistics of half precision are kept in float32.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

Array = Any

LARGE = 8_192
"""The size from which on kernels compute."""


def _is_large(x: Array) -> bool:
    return x.size >= LARGE and x.dtype in (np.float32, np.float64)


def _is_half(x: Array) -> bool:
    return x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def _wide(x: Array | None) -> Array | None:
    return None if x is None else x.astype(np.float32)


# --- Layer norm -------------------------------------------------------------------------------


def layer_norm(
    x: Array, shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """x with mean 0 and variance 1 over its last dimensions, times weight, plus bias.

    Args:
        x: any array that ends in `shape`
        shape: of the dimensions to normalise over
        weight: of that shape, or None
        bias: the same
        eps: added to the variance

    Returns:
        the result, the means and the reciprocal standard deviations, these with 1 for the
        normalised dimensions
    """
    if _is_half(x):
        out, mean, rstd = layer_norm(_wide(x), shape, _wide(weight), _wide(bias), eps)
        return out.astype(x.dtype), mean, rstd
    outer = x.shape[: x.ndim - len(shape)]
    rows = np.ascontiguousarray(x).reshape(prod(outer), prod(shape))
    w, b = (None if v is None else np.ascontiguousarray(v).reshape(-1) for v in (weight, bias))
    if _is_large(x):
        from . import norm_kernels

        out, mean, rstd = norm_kernels.layer_norm(rows, w, b, eps)
    else:
        out, mean, rstd = _layer_norm(rows, w, b, eps)
    statistics = outer + (1,) * len(shape)
    return out.reshape(x.shape), mean.reshape(statistics), rstd.reshape(statistics)


def _layer_norm(
    rows: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    mean = rows.mean(axis=1, keepdims=True)
    centred = rows - mean
    rstd = 1 / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + eps)
    out = centred * rstd
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out, mean, rstd


def layer_norm_backward(
    g: Array, x: Array, shape: tuple[int, ...], mean: Array, rstd: Array, weight: Array | None
) -> tuple[Array, Array, Array]:
    """The gradients of `layer_norm` by x, weight and bias (also where weight is None)."""
    if _is_half(x):
        grads = layer_norm_backward(_wide(g), _wide(x), shape, mean, rstd, _wide(weight))
        return tuple(v.astype(x.dtype) for v in grads)  # pyright: ignore[reportReturnType]
    n = prod(shape)
    rows, gs = (np.ascontiguousarray(v).reshape(-1, n) for v in (x, g))
    w = None if weight is None else np.ascontiguousarray(weight).reshape(-1)
    if _is_large(x):
        from . import norm_kernels

        grads = norm_kernels.layer_norm_backward(gs, rows, mean.reshape(-1), rstd.reshape(-1), w)
    else:
        grads = _layer_norm_backward(gs, rows, mean.reshape(-1, 1), rstd.reshape(-1, 1), w)
    return grads[0].reshape(x.shape), grads[1].reshape(shape), grads[2].reshape(shape)


def _layer_norm_backward(
    g: Array, rows: Array, mean: Array, rstd: Array, weight: Array | None
) -> tuple[Array, Array, Array]:
    normal = (rows - mean) * rstd
    gw = g if weight is None else g * weight
    along = (gw * normal).mean(axis=1, keepdims=True)
    dx = (gw - gw.mean(axis=1, keepdims=True) - normal * along) * rstd
    return dx, (g * normal).sum(axis=0), g.sum(axis=0)
