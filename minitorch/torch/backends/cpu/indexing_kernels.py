"""Kernels of indexing.py, for arrays of shape (before, along, after).

Each task has its own lanes (pairs of before and after), so no two tasks write to the same
place, and every lane is worked through in order: results do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...formulas.arrays import view_as
from ...formulas.indexing import check_places
from .dispatch import KERNEL_TYPES
from .kernels import inline, kernel, share
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


def _view(x: Array, dim: int) -> Array:
    """A contiguous array as (before, along, after)."""
    return view_as(x, prod(x.shape[:dim]), x.shape[dim], prod(x.shape[dim + 1 :]))


def _places(index: Array) -> Array:
    return np.ascontiguousarray(index, np.int64)


@inline
def _prefetch_row(row: Array, start: int, stop: int) -> None:
    for i in range(start, stop, LINE // row.itemsize):
        prefetch(row, i)


@inline
def _block(task: int, tasks: int, before: int, along: int) -> Any:
    """A task's share: of the stacks, or where there are few, of what is along each of them."""
    if before < tasks:
        start, stop = share(task, tasks, along)
        return 0, before, start, stop
    first, last = share(task, tasks, before)
    return first, last, 0, along


# --- Bounds -------------------------------------------------------------------------------------------


def all_within(index: Array, size: int) -> Any:
    """Whether all indices are at least 0 and below a size."""
    if not index.flags.c_contiguous or index.dtype.kind != "i":
        return NotImplemented
    wrong = np.zeros(1, np.int64)
    _check(index.size, index.reshape(-1), size, wrong)
    return not wrong[0]


@kernel
def _check(task: int, tasks: int, index: Array, size: int, wrong: Array) -> None:
    first, last = share(task, tasks, len(index))
    mine, outside = index[first:last], np.uint64(0)
    for i in range(len(mine)):
        outside |= np.uint64(np.uint64(mine[i]) >= np.uint64(size))
    if outside:
        wrong[0] = 1


# --- Whole rows -------------------------------------------------------------------------------------


def cleared(x: Array) -> Array:
    """The array itself, with zeros everywhere."""
    if x.dtype not in KERNEL_TYPES:
        return NotImplemented
    _clear(x.size, view_as(x, -1))
    return x


@kernel
def _clear(task: int, tasks: int, x: Array) -> None:
    first, last = share(task, tasks, len(x))
    mine = x[first:last]
    for i in range(len(mine)):
        mine[i] = 0


def take(x: Array, dim: int, index: Array) -> Array:
    """out[b, j] = x[b, index[j]]."""
    if not x.flags.c_contiguous:
        return NotImplemented
    out = np.empty((*x.shape[:dim], len(index), *x.shape[dim + 1 :]), x.dtype)
    words = _as_words(_view(x, dim), _view(out, dim))
    _take(out.size, words[0], _places(index), words[1])
    return out


@kernel
def _take(task: int, tasks: int, x: Array, index: Array, out: Array) -> None:
    count, width = len(index), out.shape[2]
    first, last = share(task, tasks, len(out) * count)
    for unit in range(first, last):
        b, j = unit // count, unit % count
        _prefetch_row(x[b, index[min(j + AHEAD, count - 1)]], 0, width)
        row, o = x[b, index[j]], out[b, j]
        for i in range(width):
            o[i] = row[i]


def add_rows(x: Array, dim: int, index: Array, source: Array) -> Any:
    """x[b, index[j]] += source[b, j]."""
    if not x.flags.c_contiguous:
        return NotImplemented
    rows = _view(np.ascontiguousarray(source), dim)
    _add(source.size, _view(x, dim), _places(index), rows)
    return None


@kernel
def _add(task: int, tasks: int, out: Array, index: Array, source: Array) -> None:
    count = len(index)
    first, last, start, stop = _block(task, tasks, len(source), source.shape[2])
    for b in range(first, last):
        for j in range(count):
            _prefetch_row(out[b, index[min(j + AHEAD, count - 1)]], start, stop)
            row, o = source[b, j, start:stop], out[b, index[j], start:stop]
            for i in range(len(o)):
                o[i] += row[i]


# --- Single elements -----------------------------------------------------------------------------------
# Along the last dimension, a lane is a row of memory: while one is worked through, the places of
# the next are brought near.


def take_elements(x: Array, dim: int, index: Array) -> Array:
    """out[b, j, a] = x[b, index[b, j, a], a]."""
    out, wrong = np.empty(index.shape, x.dtype), np.zeros(1, np.int64)
    arrays = [np.ascontiguousarray(x), _places(index), out]
    if dim == x.ndim - 1:
        x3, places, o = (view_as(v, -1, v.shape[-1]) for v in arrays)
    else:
        x3, places, o = (_view(v, dim) for v in arrays)
    x3, o = _as_words(x3, o)
    (_gather_in_rows if dim == x.ndim - 1 else _gather)(out.size, x3, places, o, wrong)
    if wrong[0]:
        check_places(index, x.shape[dim], dim)
    return out


@kernel
def _gather_in_rows(
    task: int, tasks: int, x: Array, index: Array, out: Array, wrong: Array
) -> None:
    first, last, start, stop = _block(task, tasks, *out.shape)
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


@kernel
def _gather(task: int, tasks: int, x: Array, index: Array, out: Array, wrong: Array) -> None:
    before, along, after = out.shape
    first, last, start, stop = _block(task, tasks, before, along)
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


def _values(index: Array, source: Any, kind: Any) -> Array:
    """An element of source for each index."""
    values = np.asarray(source, kind)
    return np.ascontiguousarray(
        values if values.shape == index.shape else np.broadcast_to(values, index.shape)
    )


def scatter_into_copy(x: Array, dim: int, index: Array, source: Any, adding: bool) -> Any:
    """Along the last dimension: each row is copied, and written to while it is near."""
    if dim != x.ndim - 1 or index.shape[:-1] != x.shape[:-1]:
        return NotImplemented
    start = x if any(x.strides) else x[(slice(1),) * (x.ndim - 1)]  # one number: one row of it
    out = np.empty(x.shape, x.dtype)
    return _scatter_rows(out, np.ascontiguousarray(start), index, source, adding)


def put_elements(x: Array, dim: int, index: Array, source: Any, adding: bool) -> Any:
    """x[b, index[b, j, a], a] becomes source[b, j, a], or that is added to it."""
    if not x.flags.c_contiguous or (adding and x.dtype not in KERNEL_TYPES):
        return NotImplemented
    if dim == x.ndim - 1:
        return None if _scatter_rows(x, x[:0], index, source, adding) is x else NotImplemented
    out, values = x, _values(index, source, x.dtype)
    out, values = (out, values) if adding else _as_words(out, values)
    wrong = np.zeros(1, np.int64)
    arrays = (_view(v, dim) for v in (out, _places(index), values))
    _scatter(adding)(index.size, *arrays, wrong)
    if wrong[0]:
        check_places(index, x.shape[dim], dim)
    return None


def _scatter_rows(x: Array, start: Array, index: Array, source: Any, adding: bool) -> Any:
    """x, where each row begins as a copy (of its own, of the only one, or none) and is then written to."""
    if adding and x.dtype not in KERNEL_TYPES:
        return NotImplemented
    out, values = x, _values(index, source, x.dtype)
    out, start, values = (out, start, values) if adding else _as_words(out, start, values)
    wrong = np.zeros(1, np.int64)
    arrays = (view_as(v, len(v) and -1, v.shape[-1]) for v in (out, start, _places(index), values))
    _scatter_in_rows(adding)(x.size if len(start) else index.size, *arrays, wrong)
    if wrong[0]:
        check_places(index, x.shape[-1], x.ndim - 1)
    return x


@cache
def _scatter_in_rows(adding: bool) -> Callable[..., None]:
    def scatter_in_rows(
        task: int, tasks: int, out: Array, start: Array, index: Array, source: Array, wrong: Array
    ) -> None:
        """out is (rows, n), start (rows, n), (1, n) or (0, n), index and source (rows, count), wrong (1)."""
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
                    row[k] = row[k] + values[j] if adding else values[j]
                else:
                    wrong[0] = 1

    return kernel(scatter_in_rows)


@cache
def _scatter(adding: bool) -> Callable[..., None]:
    def scatter(
        task: int, tasks: int, out: Array, index: Array, source: Array, wrong: Array
    ) -> None:
        before, along, after = index.shape
        first, last, start, stop = _block(task, tasks, before, after)
        size = np.uint64(out.shape[1])
        for b in range(first, last):
            rows, places, values = out[b], index[b], source[b]
            for j in range(along):
                for a in range(start, stop):
                    k = np.uint64(places[j, a])
                    if k < size:
                        rows[k, a] = rows[k, a] + values[j, a] if adding else values[j, a]
                    else:
                        wrong[0] = 1

    return kernel(scatter)
