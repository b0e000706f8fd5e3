"""Kernels of indexing.py, for arrays of shape (before, along, after).

Each task has its own lanes (pairs of before and after), so no two tasks write to the same
place, and every lane is worked through in order: results do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .arrays import view_as
from .kernels import parallel, part
from .runs import share
from .vectors import prefetch

Array = Any

WORDS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""What is only moved is moved as whole numbers of the same size, whatever it is."""

LINE = 64
"""The bytes that come from memory at once."""

AHEAD = 8
"""How many rows before its turn a row is asked for."""


def _as_words(*arrays: Array) -> list[Array]:
    """Arrays seen as whole numbers; complex128 as pairs."""
    size = arrays[0].dtype.itemsize
    return [x.view(WORDS[size]) for x in arrays] if size in WORDS else list(arrays)


# --- Bounds -------------------------------------------------------------------------------------------


def all_within(index: Array, size: int) -> bool:
    """Whether all indices are at least 0 and below a size."""
    wrong = np.zeros(1, np.int64)
    _all_within(index.dtype)(index.size, index, size, wrong)
    return not wrong[0]


@cache
def _all_within(kind: Any) -> Callable[..., None]:
    def check(task: int, tasks: int, index: Array, size: int, wrong: Array) -> None:
        first, last = share(task, tasks, len(index))
        mine, outside = index[first:last], np.uint64(0)
        for i in range(len(mine)):
            outside |= np.uint64(np.uint64(mine[i]) >= np.uint64(size))
        if outside:
            wrong[0] = 1

    return parallel(check)


# --- Whole rows -------------------------------------------------------------------------------------


def clear(x: Array) -> None:
    """Write zeros everywhere."""
    _clear(x.dtype)(x.size, view_as(x, -1))


@cache
def _clear(kind: Any) -> Callable[..., None]:
    def clear(task: int, tasks: int, x: Array) -> None:
        first, last = share(task, tasks, len(x))
        mine = x[first:last]
        for i in range(len(mine)):
            mine[i] = 0

    return parallel(clear)


def take(x: Array, index: Array, out: Array) -> None:
    """out[b, j] = x[b, index[j]]."""
    x, out = _as_words(x, out)
    _take(x.dtype)(out.size, x, index, out)


@cache
def _take(word: Any) -> Callable[..., None]:
    line = LINE // np.dtype(word).itemsize

    def take(task: int, tasks: int, x: Array, index: Array, out: Array) -> None:
        count, width = len(index), out.shape[2]
        first, last = share(task, tasks, len(out) * count)
        for unit in range(first, last):
            b, j = unit // count, unit % count
            soon = x[b, index[min(j + AHEAD, count - 1)]]
            for i in range(0, width, line):
                prefetch(soon, i)
            row, o = x[b, index[j]], out[b, j]
            for i in range(width):
                o[i] = row[i]

    return parallel(take)


def add(out: Array, index: Array, source: Array) -> None:
    """out[b, index[j]] += source[b, j]."""
    _add(out.dtype)(source.size, out, index, source)


@cache
def _add(kind: Any) -> Callable[..., None]:
    line = LINE // np.dtype(kind).itemsize

    def add(task: int, tasks: int, out: Array, index: Array, source: Array) -> None:
        before, _, after = source.shape
        count = len(index)
        across = before < tasks  # tasks share the columns instead of the stacks
        first, last = (0, before) if across else share(task, tasks, before)
        start, stop = share(task, tasks, after) if across else (0, after)
        for b in range(first, last):
            for j in range(count):
                soon = out[b, index[min(j + AHEAD, count - 1)]]
                for i in range(start, stop, line):
                    prefetch(soon, i)
                row, o = source[b, j, start:stop], out[b, index[j], start:stop]
                for i in range(len(o)):
                    o[i] += row[i]

    return parallel(add)


# --- Single elements -----------------------------------------------------------------------------------
# Along the last dimension, a lane is a row of memory: while one is worked through, the places of
# the next are brought near.


def gather(x: Array, index: Array, out: Array) -> bool:
    """out[b, j, a] = x[b, index[b, j, a], a]; whether all these places are there."""
    x, out = _as_words(x, out)
    wrong = np.zeros(1, np.int64)
    if out.shape[2] == 1:
        _gather_in_rows(x.dtype)(out.size, *_rows(x, index, out), wrong)
    else:
        _gather(x.dtype)(out.size, x, index, out, wrong)
    return not wrong[0]


def _rows(*arrays: Array) -> list[Array]:
    return [view_as(x, *x.shape[:2]) for x in arrays]


@cache
def _gather_in_rows(word: Any) -> Callable[..., None]:
    def gather(task: int, tasks: int, x: Array, index: Array, out: Array, wrong: Array) -> None:
        before, along = out.shape
        across = before < tasks
        first, last = (0, before) if across else share(task, tasks, before)
        start, stop = share(task, tasks, along) if across else (0, along)
        size = np.uint64(x.shape[1])
        for b in range(first, last):
            row, places, o = x[b], index[b, start:stop], out[b, start:stop]
            soon = min(b + 1, last - 1)
            next_row, next_places = x[soon], index[soon, start:stop]
            for j in range(len(o)):
                prefetch(next_row, next_places[j])
                k = np.uint64(places[j])
                if k < size:
                    o[j] = row[k]
                else:
                    wrong[0] = 1

    return parallel(gather)


@cache
def _gather(word: Any) -> Callable[..., None]:
    def gather(task: int, tasks: int, x: Array, index: Array, out: Array, wrong: Array) -> None:
        before, along, after = out.shape
        across = before < tasks
        first, last = (0, before) if across else share(task, tasks, before)
        start, stop = share(task, tasks, along) if across else (0, along)
        size = np.uint64(x.shape[1])
        for b in range(first, last):
            rows, places, o = x[b], index[b], out[b]
            for j in range(start, stop):
                for a in range(after):
                    k = np.uint64(places[j, a])
                    if k < size:
                        o[j, a] = rows[k, a]
                    else:
                        wrong[0] = 1

    return parallel(gather)


def scatter(name: str, out: Array, index: Array, source: Array) -> bool:
    """out[b, index[b, j, a], a] is source[b, j, a], or what it was joined with that.

    Returns:
        whether all these places are there; nothing is written elsewhere
    """
    if out.shape[2] == 1:
        return scatter_in_rows(name, *_rows(out, out[:0], index, source))
    if name == "put":
        out, source = _as_words(out, source)
    wrong = np.zeros(1, np.int64)
    _scatter(name, out.dtype)(index.size, out, index, source, wrong)
    return not wrong[0]


def scatter_in_rows(name: str, out: Array, start: Array, index: Array, source: Array) -> bool:
    """The same along rows, of which each begins as a copy: of its own, of the only one, or none."""
    if name == "put":
        out, start, source = _as_words(out, start, source)
    wrong = np.zeros(1, np.int64)
    work = out.size if len(start) else index.size
    _scatter_in_rows(name, out.dtype)(work, out, start, index, source, wrong)
    return not wrong[0]


@cache
def _scatter_in_rows(name: str, kind: Any) -> Callable[..., None]:
    join = _joins()[name]

    def scatter(
        task: int, tasks: int, out: Array, start: Array, index: Array, source: Array, wrong: Array
    ) -> None:
        first, last = share(task, tasks, len(index))
        size = np.uint64(out.shape[1])
        for b in range(first, last):
            row, places, values = out[b], index[b], source[b]
            if len(start):
                begin = start[b % len(start)]
                for i in range(len(row)):
                    row[i] = begin[i]
            soon = min(b + 1, last - 1)
            next_row, next_places = out[soon], index[soon]
            for j in range(len(places)):
                prefetch(next_row, next_places[j])
                k = np.uint64(places[j])
                if k < size:
                    row[k] = join(row[k], values[j])
                else:
                    wrong[0] = 1

    return parallel(scatter)


@cache
def _scatter(name: str, kind: Any) -> Callable[..., None]:
    join = _joins()[name]

    def scatter(
        task: int, tasks: int, out: Array, index: Array, source: Array, wrong: Array
    ) -> None:
        before, along, after = index.shape
        across = before < tasks
        first, last = (0, before) if across else share(task, tasks, before)
        start, stop = share(task, tasks, after) if across else (0, after)
        size = np.uint64(out.shape[1])
        for b in range(first, last):
            rows, places, values = out[b], index[b], source[b]
            for j in range(along):
                for a in range(start, stop):
                    k = np.uint64(places[j, a])
                    if k < size:
                        rows[k, a] = join(rows[k, a], values[j, a])
                    else:
                        wrong[0] = 1

    return parallel(scatter)


@cache
def _joins() -> dict[str, Any]:
    """What becomes of an element that another one meets."""

    @part
    def put(a: Any, b: Any) -> Any:
        return b

    @part
    def sum(a: Any, b: Any) -> Any:
        return a + b

    @part
    def prod(a: Any, b: Any) -> Any:
        return a * b

    @part
    def amax(a: Any, b: Any) -> Any:
        return b if b > a or b != b else a

    @part
    def amin(a: Any, b: Any) -> Any:
        return b if b < a or b != b else a

    return {"put": put, "sum": sum, "prod": prod, "amax": amax, "amin": amin}
