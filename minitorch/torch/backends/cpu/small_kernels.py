"""Kernels for arrays so small that calling NumPy costs more than computing.

Each takes the place of a formula after many calls, when loading it pays, so it must compute what the
formula does, to the bit: sums of rows are added in NumPy's order, products are not added in one step,
and exponentials and logarithms are NumPy's own. What they do not take is left to the formula.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy import empty, exp, log, ndarray

from ....jit import compile_kernel, compile_part
from .dispatch import KERNEL_TYPES, Function

Array = Any

LONGEST = 128
"""Up to this length NumPy adds a row in eight partial sums; longer ones it halves first."""

_compile = partial(compile_kernel, fastmath=())


def _is_plain(x: Any) -> bool:
    """Whether kernels are compiled for arrays like this one."""
    return type(x) is ndarray and x.flags.carray and x.dtype.char in "fd"


@partial(compile_part, fastmath=())
def _sum(x: Array) -> Any:
    """The sum of a row, as NumPy adds it."""
    n = len(x)
    s = x[0]
    if n < 8:
        for i in range(1, n):
            s += x[i]
        return s
    a, b, c, d, e, f, g, h = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
    whole = n - n % 8
    for i in range(8, whole, 8):
        a, b, c, d = a + x[i], b + x[i + 1], c + x[i + 2], d + x[i + 3]
        e, f, g, h = e + x[i + 4], f + x[i + 5], g + x[i + 6], h + x[i + 7]
    s = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, n):
        s += x[i]
    return s


# --- Softmax ----------------------------------------------------------------------------------------


@_compile
def _below_largest(x: Array, out: Array) -> bool:
    """The rows of x (rows, n) without their largest elements, NaN where there is one; whether n is small enough."""
    if not 0 < x.shape[1] <= LONGEST:
        return False
    for r in range(x.shape[0]):
        top = x[r, 0]
        for i in range(1, x.shape[1]):
            v = x[r, i]
            top = v if v > top or v != v else top
        for i in range(x.shape[1]):
            out[r, i] = x[r, i] - top
    return True


@_compile
def _as_shares(x: Array) -> None:
    """Divide the rows of x (rows, n) by their sums."""
    for r in range(x.shape[0]):
        s = _sum(x[r])
        for i in range(x.shape[1]):
            x[r, i] /= s


@_compile
def _subtract(x: Array, y: Array) -> None:
    """Take y (rows, 1) off the rows of x (rows, n)."""
    for r in range(x.shape[0]):
        for i in range(x.shape[1]):
            x[r, i] -= y[r, 0]


@_compile
def _row_sums(x: Array, out: Array) -> None:
    for r in range(x.shape[0]):
        out[r, 0] = _sum(x[r])


def softmax(formula: Function, x: Array, dim: int) -> Array:
    """exp(x), scaled so that it sums to 1 along the last dimension."""
    if dim == x.ndim - 1 and _is_plain(x) and x.size:
        out = empty(x.shape, x.dtype)
        rows = out if dim == 1 else out.reshape(-1, x.shape[-1])
        if _below_largest(x if dim == 1 else x.reshape(rows.shape), rows):
            exp(rows, rows)
            _as_shares(rows)
            return out
    return formula(x, dim)


def log_softmax(formula: Function, x: Array, dim: int) -> Array:
    """The logarithm of the softmax."""
    if dim == x.ndim - 1 and _is_plain(x) and x.size:
        out = empty(x.shape, x.dtype)
        rows = out if dim == 1 else out.reshape(-1, x.shape[-1])
        if _below_largest(x if dim == 1 else x.reshape(rows.shape), rows):
            sums = empty((len(rows), 1), x.dtype)
            _row_sums(exp(rows), sums)
            _subtract(rows, log(sums, sums))
            return out
    return formula(x, dim)


# --- Sigmoid ----------------------------------------------------------------------------------------


@_compile
def _reciprocal_of_more(x: Array) -> None:
    """1 / (1 + x) in the place of x, of one dimension."""
    one = x.dtype.type(1)
    for i in range(len(x)):
        x[i] = one / (one + x[i])


def sigmoid(formula: Function, x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    if not x.ndim or not _is_plain(x):
        return formula(x)
    out = np.negative(x)
    exp(out, out)
    _reciprocal_of_more(out.ravel())
    return out


# --- Layer norm -------------------------------------------------------------------------------------


@_compile
def _normalized(
    x: Array, weight: Array, bias: Array, eps: Any, centred: bool, out: Array, mean: Array, rstd: Array
) -> bool:  # fmt: skip
    """Normalize rows; whether n is small enough.

    Args:
        x: (rows, n)
        weight: (n), or empty
        bias: (n), or empty
        eps: of the type of x
        centred: whether means are subtracted, or 0
        out: (rows, n)
        mean: (rows, 1)
        rstd: (rows, 1)
    """
    if not 0 < x.shape[1] <= LONGEST:
        return False
    n = x.dtype.type(x.shape[1])
    one, squares = x.dtype.type(1), empty(x.shape[1], x.dtype)
    for r in range(x.shape[0]):
        centre = _sum(x[r]) / n if centred else x.dtype.type(0)
        for i in range(x.shape[1]):
            out[r, i] = x[r, i] - centre
            squares[i] = out[r, i] * out[r, i]
        scale = one / np.sqrt(_sum(squares) / n + eps)
        mean[r, 0], rstd[r, 0] = centre, scale
        for i in range(x.shape[1]):
            out[r, i] *= scale
        if len(weight):
            for i in range(x.shape[1]):
                out[r, i] *= weight[i]
        if len(bias):
            for i in range(x.shape[1]):
                out[r, i] += bias[i]
    return True


_NOTHING = {kind.char: empty(0, kind) for kind in KERNEL_TYPES}


def normalize_rows(
    formula: Function, rows: Array, weight: Any, bias: Any, eps: float, centred: bool
) -> tuple[Array, Array, Array]:
    """Each row of (rows, n) normalized, about its mean or about 0; means, reciprocal deviations."""
    kind = rows.dtype
    nothing = _NOTHING.get(kind.char)
    if nothing is not None and _is_plain(rows):
        out, one = empty(rows.shape, kind), (len(rows), 1)
        mean, rstd = empty(one, kind), empty(one, kind)
        w = nothing if weight is None else weight
        b = nothing if bias is None else bias
        if (
            w.dtype == kind == b.dtype
            and _is_plain(w)
            and _is_plain(b)
            and _normalized(rows, w, b, kind.type(eps), centred, out, mean, rstd)
        ):
            return out, mean, rstd
    return formula(rows, weight, bias, eps, centred)
