"""Reductions of arrays over some dimensions: sums, products, extremes, variances, running sums.

Large arrays of floats are folded by kernels, piece by piece; the pieces' results, in
float64, are then folded by NumPy. Sums are at least as exact as pairwise summation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import prod as _product
from typing import Any, NamedTuple

import numpy as np

from .kinds import is_half, is_large, kernels_from

Array = Any
Dims = tuple[int, ...] | None
"""Dimensions to reduce; None for all."""

LARGE = kernels_from(65_536)
"""The size from which on kernels compute."""


# --- Sums and products ----------------------------------------------------------------------------


def sum(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The sum over some dimensions."""
    return _fold("sum", np.add.reduce, x, dims, keepdim)


def mean(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The mean over some dimensions."""
    if is_half(x):
        return mean(x.astype(np.float32), dims, keepdim).astype(x.dtype)
    total = sum(x, dims, keepdim)
    return np.divide(total, x.dtype.type(x.size / total.size if total.size else 0), dtype=x.dtype)


def prod(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The product over some dimensions."""
    return _fold("prod", np.multiply.reduce, x, dims, keepdim)


def norm(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The Euclidean length over some dimensions."""
    if is_half(x):
        return norm(x.astype(np.float32), dims, keepdim).astype(x.dtype)
    return np.sqrt(_fold("squares", _sum_of_squares, x, dims, keepdim))


def _sum_of_squares(x: Array, axis: Dims, keepdims: bool) -> Array:
    return np.square(np.abs(x)).sum(axis=axis, keepdims=keepdims)


# --- Extremes -----------------------------------------------------------------------------------------


def amax(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The largest element over some dimensions; NaN if there is one."""
    return _fold("amax", np.maximum.reduce, x, dims, keepdim)


def amin(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The smallest element over some dimensions; NaN if there is one."""
    return _fold("amin", np.minimum.reduce, x, dims, keepdim)


# --- Variance -----------------------------------------------------------------------------------------


def var_mean(
    x: Array, dims: Dims = None, correction: float = 1, keepdim: bool = False
) -> tuple[Array, Array]:
    """The variance, divided by the count less `correction`, and the mean."""
    if is_half(x):
        wide = var_mean(x.astype(np.float32), dims, correction, keepdim)
        return wide[0].astype(x.dtype), wide[1].astype(x.dtype)
    if is_large(x, LARGE):
        squares, means, count = _moments(x, dims, keepdim)
    else:
        count = _product(x.shape if dims is None else (x.shape[d] for d in dims))
        centre = x.mean(axis=dims, keepdims=True) if count else np.full((), np.nan, x.dtype)
        squares = np.square(np.abs(x - centre)).sum(axis=dims, keepdims=keepdim)
        means = x.mean(axis=dims, keepdims=keepdim) if count else squares * np.nan
    freedom = np.float64(max(count - correction, 0) if count else 0)
    return (squares / freedom).astype(squares.dtype), means


def var(x: Array, dims: Dims = None, correction: float = 1, keepdim: bool = False) -> Array:
    """The variance, divided by the count less `correction`."""
    return var_mean(x, dims, correction, keepdim)[0]


# --- Places of extremes -----------------------------------------------------------------------------


def argmax(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the largest element is, along a dimension or in the flattened array."""
    return _place("argmax", np.argmax, x, dim, keepdim)


def argmin(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the smallest element is, along a dimension or in the flattened array."""
    return _place("argmin", np.argmin, x, dim, keepdim)


def _place(
    name: str, plain: Callable[..., Array], x: Array, dim: int | None, keepdim: bool
) -> Array:
    if dim is None or not is_large(x, LARGE) or dim % x.ndim == x.ndim - 1:
        return np.asarray(plain(x, axis=dim, keepdims=keepdim))
    places = _kernels().places(name, np.ascontiguousarray(x), dim % x.ndim)
    return np.expand_dims(places, dim) if keepdim else places


# --- Running sums -------------------------------------------------------------------------------------


def cumsum(x: Array, dim: int) -> Array:
    """The running sum along a dimension, kept in float64."""
    if is_half(x):
        return cumsum(x.astype(np.float32), dim).astype(x.dtype)
    if is_large(x, LARGE):
        return _kernels().cumsum(np.ascontiguousarray(x), dim % x.ndim)
    wide = np.float64 if x.dtype == np.float32 else None
    return np.cumsum(x, axis=dim, dtype=wide).astype(x.dtype, copy=False)


# --- How a reduction is taken apart -------------------------------------------------------------------


def _fold(name: str, plain: Callable[..., Array], x: Array, dims: Dims, keepdim: bool) -> Array:
    """Fold by a kernel, or for small arrays and other types by NumPy."""
    if is_half(x):
        return _fold(name, plain, x.astype(np.float32), dims, keepdim).astype(x.dtype)
    if not is_large(x, LARGE) or dims == ():
        return np.asarray(plain(x, axis=dims, keepdims=keepdim))
    plan = _plan(x.shape, dims, keepdim)
    pieces = _kernels().fold(name, np.ascontiguousarray(x).reshape(plan.view), plan.pieces)
    if pieces.size > _product(plan.result):
        pieces = (np.add.reduce if name == "squares" else plain)(pieces, axis=plan.axes)
    return pieces.astype(x.dtype).reshape(plan.result)


def _moments(x: Array, dims: Dims, keepdim: bool) -> tuple[Array, Array, int]:
    """The sum of squared distances from the mean, the mean, and the count."""
    plan = _plan(x.shape, dims, keepdim)
    view = np.ascontiguousarray(x).reshape(plan.view)
    means, squares, counts = _kernels().fold("moments", view, plan.pieces)
    count = x.size // _product(plan.result)
    mean = (means * counts).sum(axis=plan.axes, keepdims=True) / count
    squares = (squares + counts * np.square(means - mean)).sum(axis=plan.axes)
    kind, shape = x.dtype, plan.result
    return squares.astype(kind).reshape(shape), mean.astype(kind).reshape(shape), count


@cache
def _kernels() -> Any:
    """What needs Numba, when it is needed."""
    from . import reduction_kernels

    return reduction_kernels


class _Plan(NamedTuple):
    """How a reduction is taken apart: kernels fold the innermost run of reduced dimensions."""

    view: tuple[int, int, int]  # (before, along, after) that run
    pieces: tuple[int, ...]  # the shape of the results of pieces of it
    axes: tuple[int, ...]  # of these, which are still to be folded
    result: tuple[int, ...]  # the shape in the end


@lru_cache(1024)
def _plan(shape: tuple[int, ...], dims: Dims, keepdim: bool) -> _Plan:
    reduced = set(range(len(shape)) if dims is None else (d % len(shape) for d in dims))
    groups = _groups(shape, reduced)
    last = max(i for i, (_, is_reduced) in enumerate(groups) if is_reduced)
    before = [n for n, _ in groups[:last]]
    after = _product(n for n, _ in groups[last + 1 :])
    return _Plan(
        (_product(before), groups[last][0], after),
        (*before, -1, after),
        (*(i for i in range(last) if groups[i][1]), last),
        tuple(1 if d in reduced else n for d, n in enumerate(shape) if keepdim or d not in reduced),
    )


def _groups(shape: tuple[int, ...], reduced: set[int]) -> list[tuple[int, bool]]:
    """Runs of neighbouring dimensions that are all reduced or all kept: size, and which."""
    groups: list[tuple[int, bool]] = []
    for d, n in enumerate(shape):
        if groups and groups[-1][1] == (d in reduced):
            groups[-1] = (groups[-1][0] * n, d in reduced)
        else:
            groups.append((n, d in reduced))
    return groups
