"""Reductions of arrays over some dimensions: sums, products, extremes, variances, running sums.

Sums are at least as exact as pairwise summation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as _product
from typing import Any

import numpy as np

from ..backends.interface import accelerated, as_array, reduce
from .half_precision import rounded_to, widened

Array = Any
Dims = tuple[int, ...] | None
"""Dimensions to reduce; None for all."""


def _count(shape: tuple[int, ...], dims: Dims) -> int:
    """How many elements of an array of a shape are reduced to one."""
    return _product(shape if dims is None else [shape[d] for d in dims])


def _reduction(name: str, ufunc: np.ufunc, doc: str) -> Callable[..., Array]:
    """A reduction that is one ufunc's."""

    def formula(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
        return reduce(ufunc, x, dims, keepdim)

    formula.__name__, formula.__doc__ = name, doc
    return accelerated(formula)


sum = _reduction("sum", np.add, "The sum over some dimensions.")
prod = _reduction("prod", np.multiply, "The product over some dimensions.")
amax = _reduction(
    "amax", np.maximum, "The largest element over some dimensions; NaN if there is one."
)
amin = _reduction(
    "amin", np.minimum, "The smallest element over some dimensions; NaN if there is one."
)


def mean(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The mean over some dimensions."""
    wide = widened(x)
    total = sum(wide, dims, keepdim)
    count = x.size // total.size if total.size else 0
    return as_array(total / wide.dtype.type(count or np.nan)).astype(x.dtype, copy=False)


@accelerated
def norm(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The Euclidean length over some dimensions."""
    return np.sqrt(np.add.reduce(np.square(np.abs(x)), axis=dims, keepdims=keepdim))


# --- Variance -----------------------------------------------------------------------------------------


def var_mean(
    x: Array, dims: Dims = None, correction: float = 1, keepdim: bool = False
) -> tuple[Array, Array]:
    """The variance, divided by the count less `correction`, and the mean."""
    wide = widened(x)
    squares, means, count = moments(wide, dims, keepdim)
    freedom = squares.dtype.type(max(count - correction, 0) if count else 0)
    found = as_array(squares / freedom), means
    return found if wide is x else rounded_to(x.dtype, found)


@accelerated
def moments(x: Array, dims: Dims, keepdim: bool) -> tuple[Array, Array, int]:
    """The sum of squared distances from the mean, the mean, and the count."""
    count = _count(x.shape, dims)
    centre = reduce(np.add, x, dims, keepdims=True) / x.dtype.type(count or np.nan)
    away = as_array(x - centre)
    away = np.square(np.abs(away)) if x.dtype.kind == "c" else np.square(away, out=away)
    squares = reduce(np.add, away, dims, keepdim)
    return squares, centre.reshape(squares.shape), count


def var(x: Array, dims: Dims = None, correction: float = 1, keepdim: bool = False) -> Array:
    """The variance, divided by the count less `correction`."""
    return var_mean(x, dims, correction, keepdim)[0]


# --- Places of extremes -----------------------------------------------------------------------------


@accelerated
def argmax(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the largest element is, along a dimension or in the flattened array."""
    return as_array(np.argmax(x, axis=dim, keepdims=keepdim))


@accelerated
def argmin(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the smallest element is, along a dimension or in the flattened array."""
    return as_array(np.argmin(x, axis=dim, keepdims=keepdim))


# --- Running sums -------------------------------------------------------------------------------------


@accelerated
def cumsum(x: Array, dim: int) -> Array:
    """The running sum along a dimension, kept in float64."""
    wide = {"f": np.float64, "F": np.complex128}.get(x.dtype.char, x.dtype)
    total = x.cumsum(axis=dim, dtype=wide).astype(x.dtype, copy=False)
    return total + x.dtype.type(0)  # a sum starts from 0, not -0
