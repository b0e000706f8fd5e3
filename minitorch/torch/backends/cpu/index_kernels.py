"""Kernels of indexing.py, for arrays of shape (before, along, after).

Each task has its own lanes (pairs of before and after), so no two tasks write to the same
place, and every lane is worked through in order: results do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .kernels import parallel, part
from .runs import share

Array = Any

WORDS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""What is only moved is moved as whole numbers of the same size, whatever it is."""


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
        outside = np.uint64(0)
        for i in range(first, last):
            outside |= np.uint64(np.uint64(index[i]) >= np.uint64(size))
        if outside:
            wrong[0] = 1

    return parallel(check)


# --- Whole rows -------------------------------------------------------------------------------------


def take(x: Array, index: Array, out: Array) -> None:
    """out[b, j] = x[b, index[j]]."""
    x, out = _as_words(x, out)
    _take(x.dtype)(out.size, x, index, out)


@cache
def _take(word: Any) -> Callable[..., None]:
    def take(task: int, tasks: int, x: Array, index: Array, out: Array) -> None:
        first, last = share(task, tasks, len(out) * len(index))
        for unit in range(first, last):
            b, j = unit // len(index), unit % len(index)
            row, o = x[b, index[j]], out[b, j]
            for i in range(len(o)):
                o[i] = row[i]

    return parallel(take)


def add(out: Array, index: Array, source: Array) -> None:
    """out[b, index[j]] += source[b, j]."""
    _add(out.dtype)(source.size, out, index, source)


@cache
def _add(kind: Any) -> Callable[..., None]:
    def add(task: int, tasks: int, out: Array, index: Array, source: Array) -> None:
        before, _, after = source.shape
        across = before < tasks  # tasks share the columns instead of the stacks
        first, last = (0, before) if across else share(task, tasks, before)
        start, stop = share(task, tasks, after) if across else (0, after)
        for b in range(first, last):
            for j in range(len(index)):
                row, o = source[b, j, start:stop], out[b, index[j], start:stop]
                for i in range(len(o)):
                    o[i] += row[i]

    return parallel(add)


# --- Single elements -----------------------------------------------------------------------------------


def gather(x: Array, index: Array, out: Array) -> bool:
    """out[b, j, a] = x[b, index[b, j, a], a]; whether all these places are there."""
    x, out = _as_words(x, out)
    wrong = np.zeros(1, np.int64)
    _gather(x.dtype)(out.size, x, index, out, wrong)
    return not wrong[0]


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
            if after == 1:
                for j in range(start, stop):
                    k = np.uint64(places[j, 0])
                    if k < size:
                        o[j, 0] = rows[k, 0]
                    else:
                        wrong[0] = 1
            else:
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
    if name == "put":
        out, source = _as_words(out, source)
    wrong = np.zeros(1, np.int64)
    _scatter(name, out.dtype)(index.size, out, index, source, wrong)
    return not wrong[0]


@cache
def _scatter(name: str, kind: Any) -> Callable[..., None]:
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

    join = {"put": put, "sum": sum, "prod": prod, "amax": amax, "amin": amin}[name]

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
            if stop - start == 1:
                for j in range(along):
                    k = np.uint64(places[j, start])
                    if k < size:
                        rows[k, start] = join(rows[k, start], values[j, start])
                    else:
                        wrong[0] = 1
            else:
                for j in range(along):
                    for a in range(start, stop):
                        k = np.uint64(places[j, a])
                        if k < size:
                            rows[k, a] = join(rows[k, a], values[j, a])
                        else:
                            wrong[0] = 1

    return parallel(scatter)
