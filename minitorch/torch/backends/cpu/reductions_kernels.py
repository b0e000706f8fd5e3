"""Kernels of reductions.py, for arrays of shape (before, along, after).

Long reductions are taken piece by piece; the pieces' results, in float64, are then reduced by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from math import prod as _product
from typing import Any, NamedTuple

import numpy as np

from ...formulas.arrays import view_as
from .kernels import COLUMNS, inline, kernel, number, over_columns, over_rows, reduction, share
from .primitives import maximum, minimum
from .runs import largest, multiply, smallest, squares, total

Array = Any
Dims = tuple[int, ...] | None

RUN = 256
"""How many elements of a row are reduced in one go, in their own precision."""

ROWS = 32
"""How many rows are reduced in one go, in their own precision."""

SHORT = 2_048
"""Up to this length extremes of rows are found sooner here than by NumPy."""

PIECE = 16_384
"""About how many elements make a piece of a long reduction."""


# --- How a reduction is taken apart -------------------------------------------------------------------


class _Plan(NamedTuple):
    """Kernels reduce the innermost reduced dimensions that follow each other, in pieces."""

    view: tuple[int, ...]  # (before, along, after) them, or (before, along) where nothing is after
    pieces: tuple[int, ...]  # the shape of the results of pieces
    axes: tuple[int, ...]  # of these, which are still to be reduced
    result: tuple[int, ...]  # the shape in the end
    length: int  # of the pieces
    space: tuple[int, ...]  # the shape of their results as kernels fill it


@lru_cache(1024)
def _plan(shape: tuple[int, ...], dims: Dims, keepdim: bool, by_pieces: bool = False) -> _Plan:
    """A plan; unless `by_pieces`, what has many results is not taken in pieces."""
    reduced = set(range(len(shape)) if dims is None else (d % len(shape) for d in dims))
    groups: list[tuple[int, bool]] = []  # neighbouring dimensions, all reduced or all kept
    for d, n in enumerate(shape):
        if groups and groups[-1][1] == (d in reduced):
            groups[-1] = (groups[-1][0] * n, d in reduced)
        else:
            groups.append((n, d in reduced))
    last = max(i for i, (_, is_reduced) in enumerate(groups) if is_reduced)
    before = [n for n, _ in groups[:last]]
    after = _product(n for n, _ in groups[last + 1 :])
    along, width = groups[last][0], min(after, COLUMNS)
    many = _product(before) * after // max(width, 1) >= 64
    length = along if many and not by_pieces else max(PIECE // max(width, 1), 1)
    wide = (after,) if after != 1 else ()
    return _Plan(
        (_product(before), along, *wide),
        (*before, -1, after),
        (*(i for i in range(last) if groups[i][1]), last),
        tuple(1 if d in reduced else n for d, n in enumerate(shape) if keepdim or d not in reduced),
        length,
        (_product(before), -(-along // length), *wide),
    )


def reduce(name: str, x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """One of REDUCTIONS over some dimensions."""
    if dims == ():
        return NotImplemented
    plan, found = _plan(x.shape, dims, keepdim), REDUCTIONS[name]
    if len(plan.view) == 2 and (plan.view[1] <= SHORT or not found.is_extreme):
        kernel = _reduce_rows(name)
    elif len(plan.view) == 3 and found.of_columns:
        kernel = found.of_columns
    else:
        return NotImplemented
    pieces = np.empty(plan.space)
    kernel(x.size, np.ascontiguousarray(x).reshape(plan.view), plan.length, pieces)
    pieces = pieces.reshape(plan.pieces)
    if pieces.size > _product(plan.result):
        pieces = found.join.reduce(pieces, axis=plan.axes)
    return pieces.astype(x.dtype).reshape(plan.result)


sum, prod, amax, amin = (partial(reduce, name) for name in ("sum", "prod", "amax", "amin"))


def norm(x: Array, dims: Dims = None, keepdim: bool = False) -> Array:
    """The Euclidean length over some dimensions."""
    total = reduce("squares", x, dims, keepdim)
    return total if total is NotImplemented else np.sqrt(total)


def moments(x: Array, dims: Dims, keepdim: bool) -> tuple[Array, Array, int]:
    """The sum of squared distances from the mean, the mean, and the count."""
    plan = _plan(x.shape, dims, keepdim, by_pieces=True)
    length, pieces = plan.length, plan.space[1]
    out = np.empty((2, *plan.space))
    kernel = _moments_of_rows if len(plan.view) == 2 else _moments_of_columns
    kernel(x.size, np.ascontiguousarray(x).reshape(plan.view), length, out[0], out[1])
    counts = np.full((pieces, 1), length)
    counts[-1] = plan.view[1] - (pieces - 1) * length
    means, squares = (v.reshape(plan.pieces) for v in out)
    count = x.size // _product(plan.result)
    mean = (means * counts).sum(axis=plan.axes, keepdims=True) / count
    squares = (squares + counts * np.square(means - mean)).sum(axis=plan.axes)
    squares, mean = (v.astype(x.dtype).reshape(plan.result) for v in (squares, mean))
    return squares, mean, count


# --- Sums, products, extremes ----------------------------------------------------------------------------


@inline
def _itself(x: Any) -> Any:
    return x


@inline
def _square(x: Any) -> Any:
    return x * x


@reduction
def _plus(a: Any, b: Any) -> Any:
    return a + b


@reduction
def _times(a: Any, b: Any) -> Any:
    return a * b


@inline
def _sum_of_squares(x: Array) -> Any:
    return squares(x, 0.0)


def _sum_columns(see: Any) -> Callable[..., None]:
    """Sums along columns of what is seen of each element."""

    def sum_some(x: Array, first: int, last: int, column: int, some: Array) -> None:
        """Sum a few rows of a block of columns, four at a time."""
        for j in range(len(some)):
            some[j] = see(x[first, column + j])
        fours = first + 1 + (last - first - 1) // 4 * 4
        for i in range(first + 1, fours, 4):
            a, b, c, d = x[i, column:], x[i + 1, column:], x[i + 2, column:], x[i + 3, column:]
            for j in range(len(some)):
                some[j] += (see(a[j]) + see(b[j])) + (see(c[j]) + see(d[j]))
        for i in range(fours, last):
            row = x[i, column:]
            for j in range(len(some)):
                some[j] += see(row[j])

    def sum_columns(task: int, tasks: int, x: Array, length: int, out: Array) -> None:
        _, along, after = x.shape
        pieces = out.shape[1]
        blocks = (after + COLUMNS - 1) // COLUMNS
        first, last = share(task, tasks, len(x) * pieces * blocks)
        space = np.empty(COLUMNS, x.dtype)
        for unit in range(first, last):
            b, p, c = unit // blocks // pieces, unit // blocks % pieces, unit % blocks * COLUMNS
            end = min(c + COLUMNS, after)
            some, result = space[: end - c], out[b, p, c:end]
            stop = min((p + 1) * length, along)
            for j in range(len(some)):
                result[j] = 0.0
            for i in range(p * length, stop, ROWS):
                sum_some(x[b], i, min(i + ROWS, stop), c, some)
                for j in range(len(some)):
                    result[j] += np.float64(some[j])

    return kernel(sum_columns)


class _Reduction(NamedTuple):
    """How contiguous memory is reduced, two results are combined, and more by NumPy; what reduces columns.

    NumPy is as fast along columns, and along long rows where it looks for extremes; its sums are less exact.
    """

    of_run: Any
    combine: Any
    join: np.ufunc
    of_columns: Any = None
    is_extreme: bool = False


REDUCTIONS = {
    "sum": _Reduction(total, _plus, np.add, _sum_columns(_itself)),
    "squares": _Reduction(_sum_of_squares, _plus, np.add, _sum_columns(_square)),
    "prod": _Reduction(multiply, _times, np.multiply),
    "amax": _Reduction(largest, maximum, np.maximum, is_extreme=True),
    "amin": _Reduction(smallest, minimum, np.minimum, is_extreme=True),
}


@cache
def _reduce_rows(name: str) -> Callable[..., None]:
    of_run, combine, *_ = REDUCTIONS[name]

    def reduce_rows(task: int, tasks: int, x: Array, length: int, out: Array) -> None:
        along = x.shape[1]
        pieces = out.shape[1]
        first, last = share(task, tasks, len(x) * pieces)
        for unit in range(first, last):
            r, p = unit // pieces, unit % pieces
            piece = x[r, p * length : min((p + 1) * length, along)]
            result = np.float64(of_run(piece[:RUN]))
            for i in range(RUN, len(piece), RUN):
                result = combine(result, np.float64(of_run(piece[i : i + RUN])))
            out[r, p] = result

    return kernel(reduce_rows)


# --- Moments ----------------------------------------------------------------------------------------------


@kernel
def _moments_of_rows(
    task: int, tasks: int, x: Array, length: int, means: Array, spreads: Array
) -> None:
    along = x.shape[1]
    pieces = means.shape[1]
    first, last = share(task, tasks, len(x) * pieces)
    for unit in range(first, last):
        r, p = unit // pieces, unit % pieces
        piece = x[r, p * length : min((p + 1) * length, along)]
        s, q = np.float64(0.0), np.float64(0.0)
        for i in range(0, len(piece), RUN):
            s += np.float64(total(piece[i : i + RUN]))
        exact = s / len(piece)
        mean = number(exact)
        for i in range(0, len(piece), RUN):
            q += np.float64(squares(piece[i : i + RUN], mean))
        means[r, p] = exact
        spreads[r, p] = q - len(piece) * (exact - mean) * (exact - mean)


@kernel
def _moments_of_columns(
    task: int, tasks: int, x: Array, length: int, means: Array, spreads: Array
) -> None:
    _, along, after = x.shape
    pieces = means.shape[1]
    blocks = (after + COLUMNS - 1) // COLUMNS
    first, last = share(task, tasks, len(x) * pieces * blocks)
    space = np.empty((2, COLUMNS), x.dtype)
    for unit in range(first, last):
        b, p, c = unit // blocks // pieces, unit // blocks % pieces, unit % blocks * COLUMNS
        end = min(c + COLUMNS, after)
        mean, some = space[0, : end - c], space[1, : end - c]
        start, stop = p * length, min((p + 1) * length, along)
        for j in range(len(some)):
            some[j] = 0.0
        for i in range(start, stop):
            row = x[b, i, c:end]
            for j in range(len(some)):
                some[j] += row[j]
        for j in range(len(some)):
            mean[j] = some[j] / number(stop - start)
            means[b, p, c + j] = mean[j]
            some[j] = 0.0
        for i in range(start, stop):
            row = x[b, i, c:end]
            for j in range(len(some)):
                some[j] += (row[j] - mean[j]) * (row[j] - mean[j])
        for j in range(len(some)):
            spreads[b, p, c + j] = some[j]


# --- Places of extremes -----------------------------------------------------------------------------------


def argmax(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where along a dimension, not the last one, the largest of each column is."""
    return _place(1, x, dim, keepdim)


def argmin(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where along a dimension, not the last one, the smallest of each column is."""
    return _place(-1, x, dim, keepdim)


def _place(sign: int, x: Array, dim: int | None, keepdim: bool) -> Array:
    if dim is None or dim % x.ndim == x.ndim - 1:
        return NotImplemented
    d: int = dim % x.ndim
    shape = x.shape
    view = np.ascontiguousarray(x).reshape(-1, shape[d], _product(shape[d + 1 :]))
    out = np.empty((view.shape[0], view.shape[2]), np.int64)
    _places(sign)(x.size, view, out)
    return out.reshape(shape[:d] + ((1,) if keepdim else ()) + shape[d + 1 :])


@cache
def _places(sign: int) -> Callable[..., None]:
    @over_columns
    def places(x: Array, out: Array, first: int, count: int) -> None:
        best, place = np.empty(count, x.dtype), out[first : first + count]
        for j in range(count):
            best[j] = number(sign) * x[0, first + j]
            place[j] = 0
        for i in range(1, len(x)):
            row = x[i, first : first + count]
            for j in range(count):
                y = number(sign) * row[j]
                better = (y > best[j]) | ((y != y) & (best[j] == best[j]))
                best[j] = y if better else best[j]
                place[j] = i if better else place[j]

    return places


# --- Running sums ---------------------------------------------------------------------------------------------


def cumsum(x: Array, dim: int) -> Array:
    """The running sum along a dimension."""
    x = np.ascontiguousarray(x)
    dim %= x.ndim
    out = np.empty_like(x)
    after = _product(x.shape[dim + 1 :])
    shape = (-1, x.shape[dim]) if after == 1 else (-1, x.shape[dim], after)
    kernel = _cumsum_of_rows if after == 1 else _cumsum_of_columns
    kernel(x.size, view_as(x, *shape), view_as(out, *shape))
    return out


@over_rows()
def _cumsum_of_rows(x: Array, out: Array) -> None:
    s = np.float64(0.0)
    for i in range(len(x)):
        s += np.float64(x[i])
        out[i] = s


@over_columns
def _cumsum_of_columns(x: Array, out: Array, first: int, count: int) -> None:
    sums = np.zeros(count)
    for i in range(len(x)):
        row, o = x[i, first : first + count], out[i, first : first + count]
        for j in range(count):
            sums[j] += np.float64(row[j])
            o[j] = sums[j]
