"""Kernels of reductions.py, for arrays of shape (before, along, after)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .arrays import view_as
from .kernels import fold as folded
from .kernels import parallel, part, step
from .runs import folds, share

Array = Any

RUN = 256
"""How many elements of a row are folded in one go, in their own precision."""

ROWS = 32
"""How many rows are folded in one go, in their own precision."""

COLUMNS = 256
"""How many columns are taken side by side."""

PIECE = 16_384
"""About how many elements make a piece of a long fold."""


def fold(name: str, x: Array, shape: tuple[int, ...]) -> Any:
    """Fold the middle dimension piece by piece.

    Returns:
        an array with the results of pieces in place of the middle dimension; for "moments"
        the means, the sums of squared distances from them, and the counts
    """
    before, along, after = x.shape
    rows = after == 1
    width = 1 if rows else min(after, COLUMNS)
    length = (
        along if before * after // width >= 64 and name != "moments" else max(PIECE // width, 1)
    )
    pieces = -(-along // length)
    kernel = _kernel(name, x.dtype.type, rows)
    view = x.reshape(before, along) if rows else x
    if name != "moments":
        out = np.empty((before, pieces, after))
        kernel(x.size, view, length, out)
        return out.reshape(shape)
    out = np.empty((2, before, pieces, after))
    kernel(x.size, view, length, out[0], out[1])
    counts = np.full(pieces, length)
    counts[-1] = along - (pieces - 1) * length
    return out[0].reshape(shape), out[1].reshape(shape), counts[:, None]


@cache
def _kernel(name: str, real: Any, rows: bool) -> Callable[..., None]:
    if name == "moments":
        return _moments_of_rows(real) if rows else _moments_of_columns(real)
    return _fold_rows(name, real) if rows else _fold_columns(name, real)


# --- Sums, products, extremes ----------------------------------------------------------------------------


def _joins(name: str, real: Any) -> tuple[Any, Any, Any]:
    """How an element is first seen, how two results join, and the fold of a run."""

    @part
    def itself(x: Any) -> Any:
        return x

    @part
    def square(x: Any) -> Any:
        return x * x

    @folded
    def plus(a: Any, b: Any) -> Any:
        return a + b

    @folded
    def times(a: Any, b: Any) -> Any:
        return a * b

    @part
    def larger(a: Any, b: Any) -> Any:
        c = b if b > a else a
        return b if b != b else c

    @part
    def smaller(a: Any, b: Any) -> Any:
        c = b if b < a else a
        return b if b != b else c

    runs = folds(real)
    return {
        "sum": (itself, plus, runs.total),
        "squares": (square, plus, runs.squares),
        "prod": (itself, times, runs.multiply),
        "amax": (itself, larger, runs.largest),
        "amin": (itself, smaller, runs.smallest),
    }[name]


def _fold_rows(name: str, real: Any) -> Callable[..., None]:
    _, join, whole_run = _joins(name, real)

    def fold_rows(task: int, tasks: int, x: Array, length: int, out: Array) -> None:
        along = x.shape[1]
        pieces = out.shape[1]
        first, last = share(task, tasks, len(x) * pieces)
        for unit in range(first, last):
            r, p = unit // pieces, unit % pieces
            piece = x[r, p * length : min((p + 1) * length, along)]
            result = np.float64(whole_run(piece[:RUN]))
            for i in range(RUN, len(piece), RUN):
                result = join(result, np.float64(whole_run(piece[i : i + RUN])))
            out[r, p, 0] = result

    return parallel(fold_rows)


def _fold_columns(name: str, real: Any) -> Callable[..., None]:
    see, join, _ = _joins(name, real)

    @step
    def fold_some(x: Array, first: int, last: int, column: int, some: Array) -> None:
        """Fold a few rows of a block of columns, four at a time."""
        for j in range(len(some)):
            some[j] = see(x[first, column + j])
        fours = first + 1 + (last - first - 1) // 4 * 4
        for i in range(first + 1, fours, 4):
            a, b, c, d = x[i, column:], x[i + 1, column:], x[i + 2, column:], x[i + 3, column:]
            for j in range(len(some)):
                both = join(join(see(a[j]), see(b[j])), join(see(c[j]), see(d[j])))
                some[j] = join(some[j], both)
        for i in range(fours, last):
            row = x[i, column:]
            for j in range(len(some)):
                some[j] = join(some[j], see(row[j]))

    def fold_columns(task: int, tasks: int, x: Array, length: int, out: Array) -> None:
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
            for i in range(p * length, stop, ROWS):
                fold_some(x[b], i, min(i + ROWS, stop), c, some)
                for j in range(len(some)):
                    wide = np.float64(some[j])
                    result[j] = wide if i == p * length else join(result[j], wide)

    return parallel(fold_columns)


# --- Moments ----------------------------------------------------------------------------------------------


def _moments_of_rows(real: Any) -> Callable[..., None]:
    total = folds(real).total

    @folded
    def squares_about(x: Array, mean: Any) -> Any:
        s = real(0)
        for i in range(len(x)):
            s += (x[i] - mean) * (x[i] - mean)
        return s

    def moments_of_rows(
        task: int, tasks: int, x: Array, length: int, means: Array, squares: Array
    ) -> None:
        along = x.shape[1]
        pieces = means.shape[1]
        first, last = share(task, tasks, len(x) * pieces)
        for unit in range(first, last):
            r, p = unit // pieces, unit % pieces
            piece = x[r, p * length : min((p + 1) * length, along)]
            s, q = 0.0, 0.0
            for i in range(0, len(piece), RUN):
                s += np.float64(total(piece[i : i + RUN]))
            mean = real(s / len(piece))
            for i in range(0, len(piece), RUN):
                q += np.float64(squares_about(piece[i : i + RUN], mean))
            exact = s / len(piece)
            means[r, p, 0] = exact
            squares[r, p, 0] = q - len(piece) * (exact - mean) * (exact - mean)

    return parallel(moments_of_rows)


def _moments_of_columns(real: Any) -> Callable[..., None]:
    def moments_of_columns(
        task: int, tasks: int, x: Array, length: int, means: Array, squares: Array
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
                some[j] = real(0)
            for i in range(start, stop):
                row = x[b, i, c:end]
                for j in range(len(some)):
                    some[j] += row[j]
            for j in range(len(some)):
                mean[j] = some[j] / real(stop - start)
                means[b, p, c + j] = mean[j]
                some[j] = real(0)
            for i in range(start, stop):
                row = x[b, i, c:end]
                for j in range(len(some)):
                    some[j] += (row[j] - mean[j]) * (row[j] - mean[j])
            for j in range(len(some)):
                squares[b, p, c + j] = some[j]

    return parallel(moments_of_columns)


# --- Places -------------------------------------------------------------------------------------------------


def places(name: str, x: Array, dim: int) -> Array:
    """Where along a dimension, not the last one, the extreme of each column is."""
    shape = x.shape
    view = x.reshape(prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :]))
    out = np.empty((view.shape[0], view.shape[2]), np.int64)
    _places(name, x.dtype.type)(x.size, view, out)
    return out.reshape(shape[:dim] + shape[dim + 1 :])


@cache
def _places(name: str, real: Any) -> Callable[..., None]:
    sign = 1 if name == "argmax" else -1

    def places(task: int, tasks: int, x: Array, out: Array) -> None:
        _, along, after = x.shape
        blocks = (after + COLUMNS - 1) // COLUMNS
        first, last = share(task, tasks, len(x) * blocks)
        space = np.empty(COLUMNS, x.dtype)
        for unit in range(first, last):
            b, c = unit // blocks, unit % blocks * COLUMNS
            end = min(c + COLUMNS, after)
            best, place = space[: end - c], out[b, c:end]
            for j in range(len(best)):
                best[j] = real(sign) * x[b, 0, c + j]
                place[j] = 0
            for i in range(1, along):
                row = x[b, i, c:end]
                for j in range(len(best)):
                    y = real(sign) * row[j]
                    better = (y > best[j]) | ((y != y) & (best[j] == best[j]))
                    best[j] = y if better else best[j]
                    place[j] = i if better else place[j]

    return parallel(places)


# --- Running sums ---------------------------------------------------------------------------------------------


def cumsum(x: Array, dim: int) -> Array:
    """The running sum along a dimension."""
    shape = x.shape
    out = np.empty_like(x)
    after = prod(shape[dim + 1 :])
    if after == 1:
        views = [view_as(v, -1, shape[dim]) for v in (x, out)]
    else:
        views = [view_as(v, -1, shape[dim], after) for v in (x, out)]
    _cumsum(x.dtype.type, after == 1)(x.size, *views)
    return out


@cache
def _cumsum(real: Any, rows: bool) -> Callable[..., None]:
    def cumsum_of_rows(task: int, tasks: int, x: Array, out: Array) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row, o = x[r], out[r]
            s = 0.0
            for i in range(len(row)):
                s += np.float64(row[i])
                o[i] = s

    def cumsum_of_columns(task: int, tasks: int, x: Array, out: Array) -> None:
        _, along, after = x.shape
        blocks = (after + COLUMNS - 1) // COLUMNS
        first, last = share(task, tasks, len(x) * blocks)
        space = np.empty(COLUMNS)
        for unit in range(first, last):
            b, c = unit // blocks, unit % blocks * COLUMNS
            end = min(c + COLUMNS, after)
            sums = space[: end - c]
            for j in range(len(sums)):
                sums[j] = 0.0
            for i in range(along):
                row, o = x[b, i, c:end], out[b, i, c:end]
                for j in range(len(sums)):
                    sums[j] += np.float64(row[j])
                    o[j] = sums[j]

    return parallel(cumsum_of_rows if rows else cumsum_of_columns)
