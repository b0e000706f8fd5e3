"""Normalization: layer, root mean square, group and batch, forward and backward.

Forward functions return what backward needs beside the result: the means and the
reciprocals of the standard deviations. Those of half precision are kept in float32.
Gradients by weight and bias are returned also where these are None.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..backends.interface import accelerated, formula_of
from . import reductions
from .half_precision import in_single

Array = Any
Maybe = Any
"""An array or None."""


def _flat(v: Maybe) -> Maybe:
    return None if v is None else v.ravel()


# --- Layer norm and root mean square norm ---------------------------------------------------------


def layer_norm(
    x: Array, shape: tuple[int, ...], weight: Maybe, bias: Maybe, eps: float
) -> tuple[Array, Array, Array]:
    """x with mean 0 and variance 1 over its last dimensions, times weight, plus bias.

    Args:
        x: any array that ends in `shape`
        shape: of the dimensions to normalize over
        weight: of that shape, or None
        bias: the same
        eps: added to the variance

    Returns:
        the result, the means and the reciprocal standard deviations, these with size 1 in
        the normalized dimensions
    """
    return _normalize(x, shape, weight, bias, eps, True)


def layer_norm_backward(
    g: Array, x: Array, shape: tuple[int, ...], mean: Array, rstd: Array, weight: Maybe
) -> tuple[Array, Array, Array]:
    """The gradients of `layer_norm` by x, weight and bias."""
    return _normalize_backward(g, x, shape, mean, rstd, weight, True)


def rms_norm(x: Array, shape: tuple[int, ...], weight: Maybe, eps: float) -> tuple[Array, Array]:
    """x divided by its root mean square over its last dimensions, times weight; and 1 / that root."""
    out, _, rstd = _normalize(x, shape, weight, None, eps, False)
    return out, rstd


def rms_norm_backward(
    g: Array, x: Array, shape: tuple[int, ...], rstd: Array, weight: Maybe
) -> tuple[Array, Array]:
    """The gradients of `rms_norm` by x and weight."""
    return _normalize_backward(g, x, shape, np.zeros_like(rstd), rstd, weight, False)[:2]


def _normalize(
    x: Array, shape: tuple[int, ...], weight: Maybe, bias: Maybe, eps: float, centred: bool
) -> tuple[Array, Array, Array]:
    """Normalize rows, about their means or about 0."""
    if x.ndim == 2 and len(shape) == 1:
        return normalize_rows(x, weight, bias, eps, centred)
    outer = x.shape[: x.ndim - len(shape)]
    rows = x.reshape(prod(outer), prod(shape))
    out, mean, rstd = normalize_rows(rows, _flat(weight), _flat(bias), eps, centred)
    statistics = outer + (1,) * len(shape)
    return out.reshape(x.shape), mean.reshape(statistics), rstd.reshape(statistics)


@accelerated
def normalize_rows(
    rows: Array, weight: Maybe, bias: Maybe, eps: float, centred: bool
) -> tuple[Array, Array, Array]:
    """Each row of (rows, n) normalized, about its mean or about 0; means, reciprocal deviations."""
    n = rows.dtype.type(rows.shape[1])
    total = np.add.reduce(rows, axis=1, keepdims=True)
    mean = total / n if centred else np.zeros_like(total)
    out = rows - mean
    rstd = 1 / np.sqrt(np.add.reduce(out * out, axis=1, keepdims=True) / n + eps)
    out *= rstd
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out, mean, rstd


def _normalize_backward(
    g: Array, x: Array, shape: tuple[int, ...], mean: Array, rstd: Array, weight: Maybe, centred: bool
) -> tuple[Array, Array, Array]:  # fmt: skip
    rows, gs = (v.reshape(-1, prod(shape)) for v in (x, g))
    grads = normalize_rows_backward(gs, rows, mean.ravel(), rstd.ravel(), _flat(weight), centred)
    return grads[0].reshape(x.shape), grads[1].reshape(shape), grads[2].reshape(shape)


@accelerated
def normalize_rows_backward(
    g: Array, rows: Array, mean: Array, rstd: Array, weight: Maybe, centred: bool
) -> tuple[Array, Array, Array]:
    """The gradients of `normalize_rows` by rows, weight and bias."""
    n = rows.dtype.type(rows.shape[1])
    normal = (rows - mean[:, None]) * rstd[:, None]
    gn = g * normal
    gw, gnw = (g, gn) if weight is None else (g * weight, gn * weight)
    dx = gw - normal * (np.add.reduce(gnw, axis=1, keepdims=True) / n)
    if centred:
        dx -= np.add.reduce(gw, axis=1, keepdims=True) / n
    return dx * rstd[:, None], np.add.reduce(gn, axis=0), np.add.reduce(g, axis=0)


# --- Group norm -----------------------------------------------------------------------------------
# Group and batch norm see x as rows, one for each sample and channel: (N * C, rest). What
# differs between them is over which rows statistics are taken; the rest is arithmetic on rows
# with one number for each.


@partial(in_single, rounded=1)
def group_norm(
    x: Array, groups: int, weight: Maybe, bias: Maybe, eps: float
) -> tuple[Array, Array, Array]:
    """x (N, C, ...) with mean 0 and variance 1 over each group of channels, scaled by channel.

    Returns:
        the result, and the means and reciprocal standard deviations of shape (N, groups)
    """
    n, channels = x.shape[:2]
    variance, mean = reductions.var_mean(x.reshape(n * groups, -1), (1,), correction=0)
    rstd = 1 / np.sqrt(variance + x.dtype.type(eps))
    each = channels // groups
    scale = np.repeat(rstd.reshape(n, groups), each, axis=1)
    if weight is not None:
        scale = scale * weight
    shift = -np.repeat(mean.reshape(n, groups), each, axis=1) * scale
    if bias is not None:
        shift = shift + bias
    out = scale_rows(_rows(x), scale, shift).reshape(x.shape)
    return out, mean.reshape(n, groups), rstd.reshape(n, groups)


@in_single
def group_norm_backward(
    g: Array, x: Array, groups: int, mean: Array, rstd: Array, weight: Maybe
) -> tuple[Array, Array, Array]:
    """The gradients of `group_norm` by x, weight and bias."""
    n, channels = x.shape[:2]
    each = channels // groups
    means, rstds = (np.repeat(v.reshape(n, groups), each, axis=1) for v in (mean, rstd))
    sums, products = row_sums(_rows(g), _rows(x), means)
    scale = rstds if weight is None else rstds * weight
    count = x.dtype.type(x.size // (n * groups))
    mean_g = np.add.reduce((sums * scale).reshape(n, groups, each), axis=2) / count
    slope = np.add.reduce((products * scale).reshape(n, groups, each), axis=2) / count
    slope *= rstd.reshape(n, groups) ** 2
    level, slope = (np.repeat(v, each, axis=1) for v in (mean_g, slope))
    dx = combine_rows(_rows(g), _rows(x), scale, slope, level - means * slope)
    return dx.reshape(x.shape), np.add.reduce(products * rstds, axis=0), np.add.reduce(sums, axis=0)


# --- Batch norm -------------------------------------------------------------------------------------


@partial(in_single, rounded=1)
def batch_norm(x: Array, weight: Maybe, bias: Maybe, eps: float) -> tuple[Array, ...]:
    """x (N, C, ...) with mean 0 and variance 1 over each channel, scaled.

    Returns:
        the result, the means, the reciprocal standard deviations and the variances, of shape (C,)
    """
    variance, mean = reductions.var_mean(x, (0, *range(2, x.ndim)), correction=0)
    rstd = 1 / np.sqrt(variance + x.dtype.type(eps))
    return _apply_statistics(x, mean, rstd, weight, bias), mean, rstd, variance


@in_single
def batch_norm_eval(
    x: Array, mean: Array, variance: Array, weight: Maybe, bias: Maybe, eps: float
) -> Array:
    """x (N, C, ...) normalized by given means and variances of channels."""
    rstd = 1 / np.sqrt(variance + variance.dtype.type(eps))
    return _apply_statistics(x, mean, rstd, weight, bias)


def _apply_statistics(x: Array, mean: Array, rstd: Array, weight: Maybe, bias: Maybe) -> Array:
    scale = rstd if weight is None else rstd * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    return scale_rows(_rows(x), scale[None], shift[None]).reshape(x.shape)


@in_single
def batch_norm_backward(
    g: Array, x: Array, mean: Array, rstd: Array, weight: Maybe, training: bool = True
) -> tuple[Array, Array, Array]:
    """The gradients of `batch_norm` by x, weight and bias.

    Unless `training`, mean and rstd were not taken from x but given.
    """
    channels = x.shape[1]
    sums, products = (np.add.reduce(v, axis=0) for v in row_sums(_rows(g), _rows(x), mean[None]))
    scale = rstd if weight is None else rstd * weight
    zero = np.zeros(channels, x.dtype, like=x)
    count = x.dtype.type(x.size // channels) if channels else x.dtype.type(1)
    slope = products * scale * rstd * rstd / count if training else zero
    level = sums * scale / count - mean * slope if training else zero
    dx = combine_rows(_rows(g), _rows(x), scale[None], slope[None], level[None])
    return dx.reshape(x.shape), products * rstd, sums


# --- Arithmetic on rows -------------------------------------------------------------------------------
# Numbers of each sample's channels are (N, C), or (1, C) where all samples have the same.


def _rows(x: Array) -> Array:
    """x (N, C, ...) as (N, C, rest)."""
    return (x if x.flags.c_contiguous else x.copy()).reshape(*x.shape[:2], -1)


@accelerated
def scale_rows(x: Array, scale: Array, shift: Array) -> Array:
    """x scale + shift, where each sample's channel has its own numbers."""
    return x * scale[:, :, None] + shift[:, :, None]


@accelerated
def combine_rows(g: Array, x: Array, scale: Array, slope: Array, level: Array) -> Array:
    """g scale - x slope - level, where each sample's channel has its own numbers."""
    out = g * scale[:, :, None]
    out -= x * slope[:, :, None] + level[:, :, None]
    return out


@accelerated
def row_sums(g: Array, x: Array, mean: Array) -> tuple[Array, Array]:
    """For each sample's channel the sum of g, and that of g (x - mean)."""
    return np.add.reduce(g, axis=2), np.add.reduce(g * (x - mean[:, :, None]), axis=2)


def move_running(
    means: Array, variances: Array, mean: Array, variance: Array, unbiased: float, momentum: float
) -> None:
    """Let running statistics move towards a batch's; its variance is made unbiased by a factor."""
    own = formula_of(mean, "move_running")
    if own is not None and own(means, variances, mean, variance, unbiased, momentum):
        return
    for running, batch in ((means, mean), (variances, variance * unbiased)):
        running[...] = momentum * batch.reshape(running.shape) + (1 - momentum) * running
