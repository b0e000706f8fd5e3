"""Kernels of softmax.py and losses.py: along rows of memory, and along columns, some of them side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .kernels import inline, over_columns, over_rows, reduction
from .primitives import exp, log, maximum
from .runs import largest

Array = Any

# --- What the four functions have in common -----------------------------------------------------------
# Each sums some function of the elements of a row, and then computes each element from that sum.


class Formula(NamedTuple):
    """A function of rows: x is what it is of, or the gradient; y the result that went with that."""

    shifted: bool  # whether the largest element is taken off first
    kept: bool  # whether the terms are kept in the result
    term: Callable[..., Any]  # of x, y and the largest element: what is summed
    close: Callable[..., Any]  # of the sum
    write: Callable[..., Any]  # of the term, x, y, the largest element, and what `close` gave


@inline
def _exp_below(x: Any, y: Any, top: Any) -> Any:
    return exp(x - top)


@inline
def _weighted(x: Any, y: Any, top: Any) -> Any:
    return x * y


@inline
def _itself(x: Any, y: Any, top: Any) -> Any:
    return x


@inline
def _unchanged(s: Any) -> Any:
    return s


@inline
def _reciprocal(s: Any) -> Any:
    return 1.0 / s


@inline
def _softmax(term: Any, x: Any, y: Any, top: Any, s: Any) -> Any:
    return term * s


@inline
def _log_softmax(term: Any, x: Any, y: Any, top: Any, s: Any) -> Any:
    return (x - top) - s


@inline
def _softmax_backward(term: Any, x: Any, y: Any, top: Any, s: Any) -> Any:
    return (x - s) * y


@inline
def _log_softmax_backward(term: Any, x: Any, y: Any, top: Any, s: Any) -> Any:
    return x - exp(y) * s


FORMULAS = {
    "softmax": Formula(True, True, _exp_below, _reciprocal, _softmax),
    "log_softmax": Formula(True, False, _exp_below, log, _log_softmax),
    "softmax_backward": Formula(False, False, _weighted, _unchanged, _softmax_backward),
    "log_softmax_backward": Formula(False, False, _itself, _unchanged, _log_softmax_backward),
}


@cache
def _by_rows(name: str) -> Callable[..., None]:
    """The kernel for arrays of shape (rows, along)."""
    shifted, kept, term, close, write = FORMULAS[name]

    @reduction
    def total(x: Array, y: Array, top: Any, out: Array) -> Any:
        s = 0.0
        for i in range(len(x)):
            e = term(x[i], y[i], top)
            if kept:
                out[i] = e
            s += e
        return s

    @over_rows()
    def by_rows(x: Array, y: Array, out: Array) -> None:
        top = largest(x) if shifted else 0.0
        s = close(total(x, y, top, out))
        for i in range(len(out)):
            out[i] = write(out[i], x[i], y[i], top, s)

    return by_rows


def _maxima(x: Array, first: int, tops: Array) -> None:
    """The maximum of each column, or NaN if there is one."""
    for c in range(len(tops)):
        tops[c] = x[0, first + c]
    for i in range(1, len(x)):
        row = x[i, first : first + len(tops)]
        for c in range(len(tops)):
            tops[c] = maximum(row[c], tops[c])


@cache
def _by_columns(name: str) -> Callable[..., None]:
    """The kernel for arrays of shape (before, along, after)."""
    shifted, kept, term, close, write = FORMULAS[name]

    @over_columns
    def by_columns(x: Array, y: Array, out: Array, first: int, count: int) -> None:
        tops, sums = np.zeros(count, x.dtype), np.zeros(count, x.dtype)
        last = first + count
        if shifted:
            _maxima(x, first, tops)
        for i in range(len(x)):
            row, other, o = x[i, first:last], y[i, first:last], out[i, first:last]
            for c in range(count):
                e = term(row[c], other[c], tops[c])
                if kept:
                    o[c] = e
                sums[c] += e
        for c in range(count):
            sums[c] = close(sums[c])
        for i in range(len(x)):
            row, other, o = x[i, first:last], y[i, first:last], out[i, first:last]
            for c in range(count):
                o[c] = write(o[c], row[c], other[c], tops[c], sums[c])

    return by_columns


def _along(name: str) -> Callable[..., Array]:
    """The function that computes a formula along a dimension."""

    def run(x: Array, y: Array, dim: int) -> Array:
        shape = x.shape
        along, size = shape[dim], x.size
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
        out = np.empty(shape, x.dtype)
        if dim in (-1, len(shape) - 1):
            rows, make = (size // along, along), _by_rows
        else:
            after = prod(shape[dim + 1 :])
            rows, make = (size // (along * after), along, after), _by_columns
        if rows == shape:
            make(name)(size, x, y, out)
        else:
            make(name)(size, x.reshape(rows), y.reshape(rows), out.reshape(rows))
        return out

    return run


softmax_backward, log_softmax_backward = _along("softmax_backward"), _along("log_softmax_backward")
_softmax_of, _log_softmax_of = _along("softmax"), _along("log_softmax")


def softmax(x: Array, dim: int) -> Array:
    """exp(x), scaled so that it sums to 1 along a dimension."""
    return _softmax_of(x, x, dim)


def log_softmax(x: Array, dim: int) -> Array:
    """The logarithm of the softmax."""
    return _log_softmax_of(x, x, dim)


# --- Sums of exponentials of rows -------------------------------------------------------------------------


@reduction
def sum_of_exponentials(x: Array, top: Any) -> Any:
    """The sum of exp(x - top)."""
    s = 0.0
    for i in range(len(x)):
        s += exp(x[i] - top)
    return s


@over_rows()
def _logsums(x: Array, out: Array) -> None:
    top = largest(x)
    top = 0.0 if np.isinf(top) else top
    out[0], out[1] = top, log(sum_of_exponentials(x, top))


def row_logsums(x: Array) -> Array:
    """The largest number of each row of (rows, n), and the log of the sum of exp(x - largest).

    Their sum is the log of the sum of exponentials; apart they keep the digits it has no room for.
    """
    out = np.empty((len(x), 2), x.dtype)
    _logsums(x.size, np.ascontiguousarray(x), out)
    return out


def logsumexp(x: Array, dims: tuple[int, ...], keepdim: bool = False) -> Array:
    """log of the sum of exp(x), along rows: the reduced dimensions are brought to the end."""
    dims = tuple(d % x.ndim for d in dims)
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose(*kept, *dims).reshape(prod(x.shape[d] for d in kept), -1)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    return row_logsums(rows).sum(axis=1).reshape(shape)
