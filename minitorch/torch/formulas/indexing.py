"""Rows and elements picked and put by index.

Arrays are seen as (before, along, after) the dimension that indices count in. Indices are
checked before anything is written; negative ones are out of bounds.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..backends.interface import accelerated, formula_of
from .half_precision import in_single

Array = Any

LARGE = 32_768
"""From so many elements on it pays to ask for kernels."""


def add_at(x: Array, at: Any, values: Array) -> None:
    """Add values to the elements of x at indices, which may repeat."""
    add = formula_of(x, "add_at") or np.add.at
    add(x, at, values)


# --- Whole rows: one list of indices for all --------------------------------------------------------


def embedding(weight: Array, index: Array) -> Array:
    """The row of a table that each index names."""
    check_rows(index, len(weight))
    return np.take(weight, index.reshape(-1), axis=0).reshape(*index.shape, weight.shape[1])


@in_single
def embedding_backward(
    g: Array, index: Array, rows: int, padding_idx: int | None = None, by_frequency: bool = False
) -> Array:
    """The gradient by the table: each row's gradients added up, in order.

    Args:
        g: of shape (*index.shape, width)
        index: which row each was taken from
        rows: of the table
        padding_idx: a row that gets no gradient
        by_frequency: whether to divide by how often each row was taken
    """
    flat, gs = index.reshape(-1), g.reshape(index.size, g.shape[-1])
    if by_frequency:
        gs = gs / np.bincount(flat, minlength=rows)[flat][:, None].astype(g.dtype)
    if padding_idx is not None:
        counts = flat != padding_idx
        flat, gs = flat[counts], gs[counts]
    table = np.zeros((rows, g.shape[-1]), g.dtype, like=g)
    index_add(table, 0, flat, gs)
    return table


def index_add(x: Array, dim: int, index: Array, source: Array) -> None:
    """Add slices of source to those of x that a list of indices names, in order."""
    check_rows(index, x.shape[dim])
    add_rows(x, dim % x.ndim, index, source)


@accelerated
def add_rows(x: Array, dim: int, index: Array, source: Array) -> None:
    """The same for indices that are in range, and single or double precision."""
    add_rows_in_place(x, dim, index, source)


def add_rows_in_place(x: Array, dim: int, index: Array, source: Array) -> None:
    """The same in any precision."""
    rows, values = (
        (x, source) if dim == 0 else (np.moveaxis(x, dim, 0), np.moveaxis(source, dim, 0))
    )
    width = prod(rows.shape[1:])
    if type(x) is not np.ndarray or not rows.flags.c_contiguous:
        add_at(rows, index, values)
    elif width < _WIDE:
        places = (index[:, None] * width + np.arange(width)).reshape(-1)
        np.add.at(x.reshape(-1), places, values.reshape(-1))
    else:
        for i, row in zip(index.tolist(), values, strict=True):
            rows[i] += row


_WIDE = 400
"""From this many elements on, NumPy adds rows faster one by one than element by element."""


# --- Single elements: an index for each -------------------------------------------------------------


def flat_places(index: Array, shape: tuple[int, ...], dim: int) -> Array:
    """Where in contiguous memory of a shape the elements lie that indices along a dimension name."""
    if index.ndim == 1:
        return index
    return index * prod(shape[dim + 1 :]) + _first_places(index.shape, shape, dim)


def take_along(x: Array, index: Array, dim: int) -> Array:
    """`np.take_along_axis` of an index with the size of x in the other dimensions: sooner in contiguous memory."""
    if type(x) is np.ndarray and x.flags.c_contiguous and index.size < LARGE:
        return x.reshape(-1)[flat_places(index, x.shape, dim)]
    return np.take_along_axis(x, index, dim)


@lru_cache(64)
def _first_places(counts: tuple[int, ...], shape: tuple[int, ...], dim: int) -> Array:
    """The same for indices of 0, of size 1 along the dimension."""
    sizes = [n if d != dim else 1 for d, n in enumerate(counts)]
    return sum(
        place * prod(shape[d + 1 :]) for d, place in enumerate(np.ogrid[tuple(map(slice, sizes))])
    )


def gather(x: Array, dim: int, index: Array) -> Array:
    """For each index the element of x at that place along a dimension, else at the index's own."""
    dim %= x.ndim
    return take_elements(_crop(x, index.shape, dim), dim, index)


@accelerated
def take_elements(x: Array, dim: int, index: Array) -> Array:
    """The same where only one dimension of x and index differs."""
    check_places(index, x.shape[dim], dim)
    return np.take_along_axis(x, index, dim)


def scatter(x: Array, dim: int, index: Array, source: Any, in_place: bool = False) -> Array:
    """x, with elements of source (or one number) put where an array of indices says."""
    return _scatter(x, dim, index, source, in_place, adding=False)


def scatter_add(x: Array, dim: int, index: Array, source: Any, in_place: bool = False) -> Array:
    """x, with elements of source added where an array of indices says, in order."""
    return _scatter(x, dim, index, source, in_place, adding=True)


def _scatter(x: Array, dim: int, index: Array, source: Any, in_place: bool, adding: bool) -> Array:
    dim %= x.ndim
    if isinstance(source, np.ndarray):
        source = source[tuple(slice(n) for n in index.shape)]
    if in_place:
        check_places(index, x.shape[dim], dim)  # before anything is written
    out = x if in_place else x.copy()
    put_elements(_crop(out, index.shape, dim), dim, index, source, adding)
    return out


@accelerated
def put_elements(x: Array, dim: int, index: Array, source: Any, adding: bool) -> None:
    """Put elements of source, or add them, where only one dimension of x and index differs."""
    check_places(index, x.shape[dim], dim)
    if adding:
        add_at(x, _grid(index, dim), source)
    else:
        np.put_along_axis(x, index, np.asarray(source, x.dtype, like=x), dim)


def _grid(index: Array, dim: int) -> tuple[Array, ...]:
    """An index array for every dimension: the given one, and each element's own place."""
    grid = [np.asarray(g, like=index) for g in np.ogrid[tuple(slice(n) for n in index.shape)]]
    grid[dim] = index
    return tuple(grid)


def _crop(x: Array, shape: tuple[int, ...], dim: int) -> Array:
    """x, cut to a shape in all dimensions but one."""
    return x[tuple(slice(None if d == dim else n) for d, n in enumerate(shape))]


# --- Bounds -------------------------------------------------------------------------------------------


def check_places(index: Array, size: int, dim: int) -> None:
    """RuntimeError if some index is out of range along its dimension."""
    message = "index {} is out of bounds for dimension {} with size {}"
    _check(index, size, RuntimeError, message, dim)


def all_within(index: Array, size: int) -> bool:
    """Whether all indices are at least 0 and below a size."""
    if type(index) is np.ndarray and index.dtype == np.int64:  # unsigned, negative ones are large
        return not index.size or bool(index.view(np.uint64).max() < size)
    return not index.size or bool(index.min() >= 0 and index.max() < size)


def check_rows(index: Array, rows: int) -> None:
    """IndexError if some index is out of range."""
    _check(index, rows, IndexError, "index out of range in self")


def _check(index: Array, size: int, error: type[Exception], message: str, dim: int = 0) -> None:
    """Raise an error if some index is out of range."""
    if not all_within(index, size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise error(message.format(wrong, dim, size))
