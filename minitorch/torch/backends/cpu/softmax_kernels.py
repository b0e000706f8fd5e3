"""Kernels of softmax.py: along rows of memory, and along columns, some of them side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .arrays import view_as
from .kernels import fold, parallel, step
from .runs import folds, share
from .scalars import functions

Array = Any

COLUMNS = 256
"""How many columns are taken side by side."""


def run(name: str, arrays: list[Array], out: Array, dim: int) -> None:
    """Run a kernel along a dimension of contiguous arrays of one shape."""
    shape = out.shape
    before, along, after = prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
    if after == 1:
        views = [view_as(x, before, along) for x in (*arrays, out)]
    else:
        views = [view_as(x, before, along, after) for x in (*arrays, out)]
    _compiled(name, out.dtype.type, after == 1)(out.size, *views)


def row_logsums(x: Array) -> Array:
    """The largest number of each row of (rows, n), and the log of the sum of exp(x - largest).

    Their sum is the log of the sum of exponentials; apart they keep the digits it has no room for.
    """
    out = np.empty((len(x), 2), x.dtype)
    _compiled("logsums", x.dtype.type, True)(x.size, x, out)
    return out


def entropies(x: Array, target: Array, ignored: int) -> tuple[Array, Array, bool]:
    """The loss of each row at its target (0 if that is ignored), what `row_logsums` gives, whether all are there."""
    logsums, losses = np.empty((len(x), 2), x.dtype), np.empty(len(x), x.dtype)
    wrong = np.zeros(1, np.int64)
    _compiled("entropies", x.dtype.type, True)(x.size, x, target, ignored, logsums, losses, wrong)
    return losses, logsums, not wrong[0]


def entropies_backward(g: Array, x: Array, logsums: Array, target: Array, ignored: int) -> Array:
    """The gradient by x, where g is that of each row's loss."""
    out = np.empty_like(x)
    _compiled("entropies_backward", x.dtype.type, True)(x.size, g, x, logsums, target, ignored, out)
    return out


def scaled_softmax(x: Array, logsums: Array, scale: Array) -> Array:
    """exp(x - largest - log of the sum) times a scale, each row with its own."""
    out = np.empty_like(x)
    _compiled("scaled", x.dtype.type, True)(x.size, x, logsums, scale, out)
    return out


@cache
def _compiled(name: str, real: Any, rows: bool) -> Any:
    bodies = (_by_rows if rows else _by_columns)(real)
    return parallel(next(body for body in bodies if body.__name__ == name))


@cache
def _by_rows(real: Any) -> tuple[Callable[..., None], ...]:
    """The kernels for arrays of shape (rows, along)."""
    exp, log = functions(real)["exp"], functions(real)["log"]
    largest, total, product = folds(real).largest, folds(real).total, folds(real).product

    @fold
    def exponentials(x: Array, top: Any, out: Array) -> Any:
        """Fill out with exp(x - top) and return their sum."""
        s = real(0)
        for i in range(len(x)):
            e = exp(x[i] - top)
            out[i] = e
            s += e
        return s

    @fold
    def sum_of_exponentials(x: Array, top: Any) -> Any:
        s = real(0)
        for i in range(len(x)):
            s += exp(x[i] - top)
        return s

    def softmax(task: int, tasks: int, x: Array, out: Array) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row, o = x[r], out[r]
            scale = real(1) / exponentials(row, largest(row), o)
            for i in range(len(o)):
                o[i] *= scale

    def log_softmax(task: int, tasks: int, x: Array, out: Array) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row, o = x[r], out[r]
            top = largest(row)
            size = log(sum_of_exponentials(row, top))
            for i in range(len(o)):
                o[i] = (row[i] - top) - size

    def softmax_backward(task: int, tasks: int, g: Array, y: Array, out: Array) -> None:
        first, last = share(task, tasks, len(g))
        for r in range(first, last):
            row, weights, o = g[r], y[r], out[r]
            mean = product(row, weights)
            for i in range(len(o)):
                o[i] = (row[i] - mean) * weights[i]

    def log_softmax_backward(task: int, tasks: int, g: Array, y: Array, out: Array) -> None:
        first, last = share(task, tasks, len(g))
        for r in range(first, last):
            row, logs, o = g[r], y[r], out[r]
            s = total(row)
            for i in range(len(o)):
                o[i] = row[i] - exp(logs[i]) * s

    def logsums(task: int, tasks: int, x: Array, out: Array) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row = x[r]
            top = largest(row)
            top = real(0) if abs(top) == real(np.inf) else top
            out[r, 0] = top
            out[r, 1] = log(sum_of_exponentials(row, top))

    def scaled(task: int, tasks: int, x: Array, logsums: Array, scale: Array, out: Array) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row, o = x[r], out[r]
            top, size, factor = logsums[r, 0], logsums[r, 1], scale[r]
            for i in range(len(o)):
                o[i] = exp((row[i] - top) - size) * factor

    def entropies(
        task: int, tasks: int, x: Array, target: Array, ignored: int,
        logsums: Array, losses: Array, wrong: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(x))
        x, target = x[first:last], target[first:last]
        logsums, losses = logsums[first:last], losses[first:last]
        for r in range(len(x)):
            top = largest(x[r])
            logsums[r, 0] = top
            losses[r] = sum_of_exponentials(x[r], top)
        for r in range(len(x)):
            losses[r] = log(losses[r])
        for r in range(len(x)):
            t, size = target[r], losses[r]
            logsums[r, 1] = size
            losses[r] = real(0)
            if np.uint64(t) < np.uint64(x.shape[1]) and t != ignored:
                losses[r] = size - (x[r, t] - logsums[r, 0])
            elif t != ignored:
                wrong[0] = 1

    def entropies_backward(
        task: int, tasks: int, g: Array, x: Array, logsums: Array, target: Array, ignored: int,
        out: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row, o, t = x[r], out[r], target[r]
            top, size = logsums[r, 0], logsums[r, 1]
            factor = real(0) if t == ignored else g[r]
            for i in range(len(o)):
                o[i] = exp((row[i] - top) - size) * factor
            if np.uint64(t) < np.uint64(len(o)):
                o[t] -= factor

    return (
        softmax, log_softmax, softmax_backward, log_softmax_backward, logsums, scaled,
        entropies, entropies_backward,
    )  # fmt: skip


@cache
def _by_columns(real: Any) -> tuple[Callable[..., None], ...]:
    """The kernels for arrays of shape (before, along, after): COLUMNS neighbours at a time."""
    exp, log = functions(real)["exp"], functions(real)["log"]

    @step
    def maxima(x: Array, first: int, count: int, tops: Array) -> None:
        """The maximum of each column, or NaN if there is one."""
        for c in range(count):
            tops[c] = x[0, first + c]
        for i in range(1, len(x)):
            row = x[i, first : first + count]
            for c in range(count):
                top = row[c] if row[c] > tops[c] else tops[c]
                tops[c] = row[c] if row[c] != row[c] else top

    def softmax(task: int, tasks: int, x: Array, out: Array) -> None:
        blocks = (x.shape[2] + COLUMNS - 1) // COLUMNS
        begin, end = share(task, tasks, len(x) * blocks)
        tops, sums = np.empty(COLUMNS, x.dtype), np.empty(COLUMNS, x.dtype)
        for unit in range(begin, end):
            before, first = unit // blocks, unit % blocks * COLUMNS
            count = min(COLUMNS, x.shape[2] - first)
            maxima(x[before], first, count, tops)
            for c in range(count):
                sums[c] = real(0)
            for i in range(x.shape[1]):
                row, o = x[before, i, first : first + count], out[before, i, first : first + count]
                for c in range(count):
                    e = exp(row[c] - tops[c])
                    o[c] = e
                    sums[c] += e
            for c in range(count):
                sums[c] = real(1) / sums[c]
            for i in range(x.shape[1]):
                o = out[before, i, first : first + count]
                for c in range(count):
                    o[c] *= sums[c]

    def log_softmax(task: int, tasks: int, x: Array, out: Array) -> None:
        blocks = (x.shape[2] + COLUMNS - 1) // COLUMNS
        begin, end = share(task, tasks, len(x) * blocks)
        tops, sums = np.empty(COLUMNS, x.dtype), np.empty(COLUMNS, x.dtype)
        for unit in range(begin, end):
            before, first = unit // blocks, unit % blocks * COLUMNS
            count = min(COLUMNS, x.shape[2] - first)
            maxima(x[before], first, count, tops)
            for c in range(count):
                sums[c] = real(0)
            for i in range(x.shape[1]):
                row = x[before, i, first : first + count]
                for c in range(count):
                    sums[c] += exp(row[c] - tops[c])
            for c in range(count):
                sums[c] = log(sums[c])
            for i in range(x.shape[1]):
                row, o = x[before, i, first : first + count], out[before, i, first : first + count]
                for c in range(count):
                    o[c] = (row[c] - tops[c]) - sums[c]

    def softmax_backward(task: int, tasks: int, g: Array, y: Array, out: Array) -> None:
        blocks = (g.shape[2] + COLUMNS - 1) // COLUMNS
        begin, end = share(task, tasks, len(g) * blocks)
        sums = np.empty(COLUMNS, g.dtype)
        for unit in range(begin, end):
            before, first = unit // blocks, unit % blocks * COLUMNS
            count = min(COLUMNS, g.shape[2] - first)
            for c in range(count):
                sums[c] = real(0)
            for i in range(g.shape[1]):
                row, w = g[before, i, first : first + count], y[before, i, first : first + count]
                for c in range(count):
                    sums[c] += row[c] * w[c]
            for i in range(g.shape[1]):
                row, w = g[before, i, first : first + count], y[before, i, first : first + count]
                o = out[before, i, first : first + count]
                for c in range(count):
                    o[c] = (row[c] - sums[c]) * w[c]

    def log_softmax_backward(task: int, tasks: int, g: Array, y: Array, out: Array) -> None:
        blocks = (g.shape[2] + COLUMNS - 1) // COLUMNS
        begin, end = share(task, tasks, len(g) * blocks)
        sums = np.empty(COLUMNS, g.dtype)
        for unit in range(begin, end):
            before, first = unit // blocks, unit % blocks * COLUMNS
            count = min(COLUMNS, g.shape[2] - first)
            for c in range(count):
                sums[c] = real(0)
            for i in range(g.shape[1]):
                row = g[before, i, first : first + count]
                for c in range(count):
                    sums[c] += row[c]
            for i in range(g.shape[1]):
                row, w = g[before, i, first : first + count], y[before, i, first : first + count]
                o = out[before, i, first : first + count]
                for c in range(count):
                    o[c] = row[c] - exp(w[c]) * sums[c]

    return softmax, log_softmax, softmax_backward, log_softmax_backward
