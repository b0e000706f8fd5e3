"""Reductions of arrays over some dimensions: sums, products, extremes, variances, running sums.

Sums are at least as exact as pairwise summation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod as _product
from typing import Any

import numpy as np

from ..backends.interface import accelerated, as_array, reduce
from .half_precision import is_half, rounded_to

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
    wide = x.astype(np.float32) if is_half(x) else x
    total = sum(wide, dims, keepdim)
    count = x.size // total.size if total.size else 0
    result = as_array(total / wide.dtype.type(count or np.nan))
    return result if wide is x else result.astype(x.dtype)


def _squares(x: Array) -> Array:
    return np.square(np.abs(x)) if x.dtype.kind == "c" else np.square(x)


@accelerated
def norm(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The Euclidean length over some dimensions."""
    return np.sqrt(reduce(np.add, _squares(x), dims, keepdim))


# --- Variance -----------------------------------------------------------------------------------------


def var_mean(
    x: Array, dims: Dims = None, correction: float = 1, keepdim: bool = False
) -> tuple[Array, Array]:
    """The variance, divided by the count less `correction`, and the mean."""
    wide = x.astype(np.float32) if is_half(x) else x
    squares, means, count = moments(wide, dims, keepdim)
    is_complex = x.dtype.kind == "c"
    spread = (
        var(x, dims, correction, keepdim) if is_complex else _divided(squares, count, correction)
    )
    found = spread, as_array(means).reshape(squares.shape)
    return found if wide is x else rounded_to(x.dtype, found)


def var(x: Array, dims: Dims = None, correction: float = 1, keepdim: bool = False) -> Array:
    """The variance, divided by the count less `correction`; of complex numbers, that of both parts."""
    if x.dtype.kind == "c":
        return var(x.real, dims, correction, keepdim) + var(x.imag, dims, correction, keepdim)
    wide = x.astype(np.float32) if is_half(x) else x
    squares, _, count = moments(wide, dims, keepdim)
    found = _divided(squares, count, correction)
    return found if wide is x else rounded_to(x.dtype, found)


def _divided(squares: Any, count: int, correction: float) -> Array:
    """The variance from the sum of squared distances."""
    return as_array(squares / (float(max(count - correction, 0)) if count else 0.0))


@accelerated
def moments(x: Array, dims: Dims, keepdim: bool) -> tuple[Array, Array, int]:
    """The sum of squared distances from the mean, the mean, and the count.

    Numbers where all dimensions go. The means may keep the dimensions that go, with size 1.
    """
    whole = not keepdim and (dims is None or len(dims) == x.ndim)
    total = _total(x, dims, not whole)
    count = x.size // total.size if total.size else 0
    centre = total / (float(count) or np.nan)  # a plain number: sooner than one of the type
    squares = _total(_squares(x - centre), dims, keepdim)
    return squares, centre, count


def _total(x: Any, dims: Dims, keepdim: bool) -> Any:
    """A sum that may be a number of NumPy's: these are quicker than arrays without dimensions."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.add.reduce(x, axis=dims, keepdims=keepdim)
    return x.sum(axis=dims, keepdims=keepdim)


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
    plain = type(x) is np.ndarray
    total = np.add.accumulate(x, dim, wide) if plain else x.cumsum(axis=dim, dtype=wide)
    total += 0.0 if total.dtype.kind == "f" else 0  # a sum starts from 0, not -0
    return total if total.dtype == x.dtype else total.astype(x.dtype)
