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


def gather(x: Array, index: Array, out: Array) -> None:
    """out[b, j, a] = x[b, index[b, j, a], a]."""
    x, out = _as_words(x, out)
    _gather(x.dtype)(out.size, x, index, out)


@cache
def _gather(word: Any) -> Callable[..., None]:
    def gather(task: int, tasks: int, x: Array, index: Array, out: Array) -> None:
        _, along, after = out.shape
        first, last = share(task, tasks, len(out) * along)
        if after == 1:
            for unit in range(first, last):
                b, j = unit // along, unit % along
                out[b, j, 0] = x[b, index[b, j, 0], 0]
        else:
            for unit in range(first, last):
                b, j = unit // along, unit % along
                for a in range(after):
                    out[b, j, a] = x[b, index[b, j, a], a]

    return parallel(gather)


def scatter(name: str, out: Array, index: Array, source: Array) -> None:
    """out[b, index[b, j, a], a] is source[b, j, a], or what it was joined with that."""
    if name == "put":
        out, source = _as_words(out, source)
    _scatter(name, out.dtype)(index.size, out, index, source)


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

    def scatter(task: int, tasks: int, out: Array, index: Array, source: Array) -> None:
        before, along, after = index.shape
        across = before < tasks
        first, last = (0, before) if across else share(task, tasks, before)
        start, stop = share(task, tasks, after) if across else (0, after)
        for b in range(first, last):
            for j in range(along):
                for a in range(start, stop):
                    k = index[b, j, a]
                    out[b, k, a] = join(out[b, k, a], source[b, j, a])

    return parallel(scatter)
