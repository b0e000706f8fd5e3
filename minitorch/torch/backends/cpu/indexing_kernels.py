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

Array = Any

WORDS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
"""What is only moved is moved as whole numbers of the same size, whatever it is."""


def _as_words(*arrays: Array) -> list[Array]:
    """Arrays seen as whole numbers; complex128 as pairs."""
    size = arrays[0].dtype.itemsize
    return [x.view(WORDS[size]) for x in arrays] if size in WORDS else list(arrays)


def _view(x: Array, dim: int, in_rows: bool = False) -> Array:
    """A contiguous array as (before, along, after), or as rows of the last dimension."""
    after = () if in_rows else (prod(x.shape[dim + 1 :]),)
    return view_as(x, prod(x.shape[:dim]), x.shape[dim], *after)


def _places(index: Array) -> Array:
    return np.ascontiguousarray(index, np.int64)


@inline
def _block(task: int, tasks: int, before: int, along: int) -> Any:
    """A task's share: of the stacks, or where there are few, of what is along each of them."""
    if before < tasks:
        start, stop = share(task, tasks, along)
        return 0, before, start, stop
    first, last = share(task, tasks, before)
    return first, last, 0, along


# --- Whole rows -------------------------------------------------------------------------------------


def add_rows(x: Array, dim: int, index: Array, source: Array) -> Any:
    """x[b, index[j]] += source[b, j]."""
    if not x.flags.c_contiguous:
        return NotImplemented
    rows = _view(np.ascontiguousarray(source), dim)
    _add(source.size, _view(x, dim), _places(index), rows)
    return None


@kernel
def _add(task: int, tasks: int, out: Array, index: Array, source: Array) -> None:
    first, last, start, stop = _block(task, tasks, len(source), source.shape[2])
    for b in range(first, last):
        for j in range(len(index)):
            row, o = source[b, j, start:stop], out[b, index[j], start:stop]
            for i in range(len(o)):
                o[i] += row[i]


# --- Single elements -----------------------------------------------------------------------------------
# Along the last dimension, a lane is a row of memory.


def take_elements(x: Array, dim: int, index: Array) -> Array:
    """out[b, j, a] = x[b, index[b, j, a], a]."""
    out, wrong, in_rows = np.empty(index.shape, x.dtype), np.zeros(1, np.int64), dim == x.ndim - 1
    given = np.ascontiguousarray(x), _places(index), out
    rows, places, o = (_view(v, dim, in_rows) for v in given)
    rows, o = _as_words(rows, o)
    (_gather_in_rows if in_rows else _gather)(out.size, rows, places, o, wrong)
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
        for j in range(len(o)):
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


def put_elements(x: Array, dim: int, index: Array, source: Any, adding: bool) -> Any:
    """x[b, index[b, j, a], a] becomes source[b, j, a], or that is added to it."""
    if not x.flags.c_contiguous or (adding and x.dtype not in KERNEL_TYPES):
        return NotImplemented
    out, values = x, _values(index, source, x.dtype)
    out, values = (out, values) if adding else _as_words(out, values)
    wrong, in_rows = np.zeros(1, np.int64), dim == x.ndim - 1
    arrays = (_view(v, dim, in_rows) for v in (out, _places(index), values))
    (_scatter_in_rows if in_rows else _scatter)(adding)(index.size, *arrays, wrong)
    if wrong[0]:
        check_places(index, x.shape[dim], dim)
    return None


@cache
def _scatter_in_rows(adding: bool) -> Callable[..., None]:
    def scatter_in_rows(
        task: int, tasks: int, out: Array, index: Array, source: Array, wrong: Array
    ) -> None:
        """out is (rows, n), index and source (rows, count), wrong (1)."""
        first, last = share(task, tasks, len(index))
        size = np.uint64(out.shape[1])
        for b in range(first, last):
            row, places, values = out[b], index[b], source[b]
            for j in range(len(places)):
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
