"""Rows and elements picked and put by index.

Arrays are seen as (before, along, after) the dimension that indices count in. Indices are
checked before anything is written; negative ones are out of bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .arrays import view_as
from .kinds import KERNEL_TYPES, is_half, is_large, kernels_from

Array = Any

LARGE = kernels_from(32_768)
"""The number of elements moved from which on kernels compute."""


# --- Whole rows: one list of indices for all --------------------------------------------------------


def index_select(x: Array, dim: int, index: Array) -> Array:
    """The slices of x along a dimension that a list of indices names."""
    dim %= max(x.ndim, 1)
    _check(index, x.shape[dim] if x.ndim else 1, IndexError, "index out of range in self")
    if not x.ndim:
        return x.reshape(1)[index].reshape(())
    shape = (*x.shape[:dim], len(index), *x.shape[dim + 1 :])
    if prod(shape) < LARGE or not x.flags.c_contiguous:
        return np.take(x, index, axis=dim)
    from . import index_kernels

    out = np.empty(shape, x.dtype)
    index_kernels.take(_view(x, dim), np.ascontiguousarray(index, np.int64), _view(out, dim))
    return out


def embedding(weight: Array, index: Array) -> Array:
    """The row of a table that each index names."""
    return index_select(weight, 0, index.reshape(-1)).reshape(*index.shape, weight.shape[1])


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
    flat, gs = index.reshape(-1), g.reshape(-1, g.shape[-1])
    if by_frequency:
        gs = gs / np.bincount(flat, minlength=rows)[flat][:, None].astype(g.dtype)
    if padding_idx is not None:
        counts = flat != padding_idx
        flat, gs = flat[counts], gs[counts]
    return index_add(_zeros((rows, g.shape[-1]), g.dtype), 0, flat, gs, in_place=True)


def _zeros(shape: tuple[int, ...], kind: Any) -> Array:
    if prod(shape) < LARGE or kind not in KERNEL_TYPES:
        return np.zeros(shape, kind)
    from . import index_kernels

    out = np.empty(shape, kind)
    index_kernels.clear(out)
    return out


def index_add(
    x: Array, dim: int, index: Array, source: Array, alpha: float = 1, in_place: bool = False
) -> Array:
    """x, with slices of source times alpha added where a list of indices says, in order."""
    dim %= max(x.ndim, 1)
    _check(index, x.shape[dim] if x.ndim else 1, IndexError, "index out of range in self")
    if is_half(x):
        wide = index_add(x.astype(np.float32), dim, index, source.astype(np.float32), alpha, True)
        return _finish(x, wide.astype(x.dtype), in_place)
    out = x if in_place else x.copy()
    if alpha != 1:
        source = source * x.dtype.type(alpha)
    if is_large(source, LARGE) and out.flags.c_contiguous:
        from . import index_kernels

        rows = _view(np.ascontiguousarray(source, x.dtype), dim)
        index_kernels.add(_view(out, dim), np.ascontiguousarray(index, np.int64), rows)
    else:
        np.add.at(
            np.moveaxis(out, dim, 0) if x.ndim else out.reshape(1), index, _to_front(source, dim)
        )
    return out


def _to_front(x: Array, dim: int) -> Array:
    return np.moveaxis(x, dim, 0) if x.ndim else x.reshape(1)


def _finish(x: Array, result: Array, in_place: bool) -> Array:
    if not in_place:
        return result
    x[...] = result
    return x


# --- Single elements: an index for each -------------------------------------------------------------


def gather(x: Array, dim: int, index: Array) -> Array:
    """For each index the element of x at that place along a dimension, else at the index's own."""
    if not x.ndim or not index.ndim:
        return gather(np.atleast_1d(x), 0, np.atleast_1d(index)).reshape(index.shape)
    dim %= x.ndim
    x = _crop(x, index.shape, dim)
    if index.size < LARGE:
        _check_places(index, x.shape[dim], dim)
        return np.take_along_axis(x, index, dim)
    from . import index_kernels

    out = np.empty(index.shape, x.dtype)
    compact, places = np.ascontiguousarray(x), np.ascontiguousarray(index, np.int64)
    if not index_kernels.gather(_view(compact, dim), _view(places, dim), _view(out, dim)):
        _check_places(index, x.shape[dim], dim)
    return out


def scatter(x: Array, dim: int, index: Array, source: Any, in_place: bool = False) -> Array:
    """x, with elements of source (or one number) put where an array of indices says."""
    return _scatter("put", x, dim, index, source, in_place)


def scatter_add(x: Array, dim: int, index: Array, source: Any, in_place: bool = False) -> Array:
    """x, with elements of source added where an array of indices says, in order."""
    return _scatter("sum", x, dim, index, source, in_place)


def scatter_reduce(
    x: Array,
    dim: int,
    index: Array,
    source: Any,
    reduce: str,
    include_self: bool = True,
    in_place: bool = False,
) -> Array:
    """x, with elements of source folded in where an array of indices says.

    Args:
        x: what to fold into
        dim: the dimension that indices count in
        index: for each element of source its place along that dimension
        source: an array, or one number
        reduce: "sum", "prod", "mean", "amax" or "amin"
        include_self: whether what x holds at these places takes part
        in_place: whether to change x itself
    """
    if is_half(x):
        wide = source.astype(np.float32) if isinstance(source, np.ndarray) else source
        result = scatter_reduce(x.astype(np.float32), dim, index, wide, reduce, include_self, True)
        return _finish(x, result.astype(x.dtype), in_place)
    out = x if in_place else x.copy()
    if not include_self:
        _scatter("put", out, dim, index, _neutral(reduce, x.dtype), True)
    _scatter("sum" if reduce == "mean" else reduce, out, dim, index, source, True)
    if reduce == "mean":
        start = np.full(x.shape, 1 if include_self else 0, np.int64)
        counts = np.maximum(_scatter("sum", start, dim, index, 1, True), 1)
        whole = x.dtype.kind in "iu"
        out[...] = out // counts if whole else out / counts.astype(x.dtype)
    return out


def _neutral(reduce: str, kind: Any) -> Any:
    """What changes nothing when it is folded in."""
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    if kind.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(kind)
    return limits.min if reduce == "amax" else limits.max


ORDERED: dict[str, Callable[..., None]] = {
    "sum": np.add.at,
    "prod": np.multiply.at,
    "amax": np.maximum.at,
    "amin": np.minimum.at,
}
"""NumPy's folds by index, one element after the other."""


def _scatter(name: str, x: Array, dim: int, index: Array, source: Any, in_place: bool) -> Array:
    if not x.ndim or not index.ndim:
        flat = source.reshape(-1) if isinstance(source, np.ndarray) else source
        one = _scatter(name, np.atleast_1d(x).copy(), 0, np.atleast_1d(index), flat, True)
        return _finish(x, one.reshape(x.shape), in_place)
    dim %= x.ndim
    if is_half(x) and name != "put":
        wide = source.astype(np.float32) if isinstance(source, np.ndarray) else source
        result = _scatter(name, x.astype(np.float32), dim, index, wide, True).astype(x.dtype)
        return _finish(x, result, in_place)
    if isinstance(source, np.ndarray):
        source = source[tuple(slice(n) for n in index.shape)]
    many = index.size >= LARGE and (name == "put" or is_large(x, 0))
    if many and not in_place and dim == x.ndim - 1 and index.shape[:-1] == x.shape[:-1]:
        return _scatter_while_copying(name, x, index, source)
    out = x if in_place else x.copy()
    target = _crop(out, index.shape, dim)
    many = many and target.flags.c_contiguous
    if in_place or not many:
        _check_places(index, x.shape[dim], dim)
    (_scatter_many if many else _scatter_few)(name, target, dim, index, source)
    return out


def _scatter_few(name: str, target: Array, dim: int, index: Array, source: Any) -> None:
    if name == "put":
        np.put_along_axis(target, index, np.asarray(source, target.dtype), dim)
    else:
        ORDERED[name](target, _grid(index, dim), source)


def _scatter_many(name: str, target: Array, dim: int, index: Array, source: Any) -> None:
    from . import index_kernels

    arrays = target, *_places_and_values(index, source, target.dtype)
    if not index_kernels.scatter(name, *(_view(v, dim) for v in arrays)):
        _check_places(index, target.shape[dim], dim)


def _scatter_while_copying(name: str, x: Array, index: Array, source: Any) -> Array:
    """Along the last dimension: each row is copied, and written to while it is near."""
    from . import index_kernels

    out = np.empty(x.shape, x.dtype)
    start = x if any(x.strides) else x[(slice(1),) * (x.ndim - 1)]  # one number: one row of it
    arrays = out, np.ascontiguousarray(start), *_places_and_values(index, source, x.dtype)
    if not index_kernels.scatter_in_rows(name, *(view_as(v, -1, v.shape[-1]) for v in arrays)):
        _check_places(index, x.shape[-1], x.ndim - 1)
    return out


def _places_and_values(index: Array, source: Any, kind: Any) -> tuple[Array, Array]:
    values = np.asarray(source, kind)
    if values.shape != index.shape:
        values = np.broadcast_to(values, index.shape)
    return np.ascontiguousarray(index, np.int64), np.ascontiguousarray(values)


def _grid(index: Array, dim: int) -> tuple[Array, ...]:
    """An index array for every dimension: the given one, and each element's own place."""
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[dim] = index
    return tuple(grid)


def _crop(x: Array, shape: tuple[int, ...], dim: int) -> Array:
    """x, cut to a shape in all dimensions but one."""
    return x[tuple(slice(None if d == dim else n) for d, n in enumerate(shape))]


def _view(x: Array, dim: int) -> Array:
    """A contiguous array as (before, along, after)."""
    return view_as(x, prod(x.shape[:dim]), x.shape[dim], prod(x.shape[dim + 1 :]))


# --- Bounds -------------------------------------------------------------------------------------------


def _check_places(index: Array, size: int, dim: int) -> None:
    message = "index {} is out of bounds for dimension {} with size {}"
    _check(index, size, RuntimeError, message, dim)


def _all_within(index: Array, size: int) -> bool:
    if index.size < LARGE or not index.flags.c_contiguous or index.dtype.kind != "i":
        return not index.size or bool(index.min() >= 0 and index.max() < size)
    from . import index_kernels

    return index_kernels.all_within(index.reshape(-1), size)


def _check(index: Array, size: int, error: type[Exception], message: str, dim: int = 0) -> None:
    """Raise an error if some index is not one of so many places."""
    if not _all_within(index, size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise error(message.format(wrong, dim, size))
