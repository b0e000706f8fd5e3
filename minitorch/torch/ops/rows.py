"""Slices at indices along a dimension, and elements at flat indices: index_..., take, put."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS
from ..environment import contiguous_format
from ..formulas import indexing as kernels
from ..tensor import Array, Tensor, wrap
from .creation import zeros_like
from .movement import wrap_dim
from .parts import diagonal, select, slice_view
from .precision import kind_name, require_floats
from .promotion import broadcast_shapes, exact_cast, exact_number, wide_type
from .record import MOVEMENT, Op, bind
from .scattering import (
    check_bounds,
    check_index,
    check_out,
    gather,
    on_copy,
    scatter_reduce,
    size_of,
)
from .strides import as_strided, memory_of
from .surface import check_tensor, function_and_method, into, only_method
from .writes import bind_in_place

# --- Slices along a dimension -------------------------------------------------------------------------


def check_vector(name: str, index: Tensor) -> None:
    """IndexError unless an index is a vector or zero-dimensional."""
    check_index(name, index)
    if index.dtype not in (dtypes.int32, dtypes.int64):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if index._array.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")


def _index_select(input: Array, index: Array, dim: int) -> Array:
    error = RuntimeError if dim else IndexError
    check_bounds("index_select", index, size_of(input, dim), dim, error)
    rows = np.take(input.reshape(input.shape or (1,)), index.reshape(-1), axis=dim)
    return rows if input.ndim else rows.reshape(())


INDEX_SELECT = Op("index_select", ("input", "index"), _index_select, {
    "input": lambda g, shapes, index, dim: g.new_zeros(shapes[0]).index_add(dim, index, g), "index": None,
}, doc="The slices at indices along a dimension.", kind=MOVEMENT)  # fmt: skip


@function_and_method
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    """The slices at indices along a dimension."""
    check_vector("index_select", index)
    if not input.ndim and index.numel() != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)"
        )
    result = bind(INDEX_SELECT, (input, index), {"dim": wrap_dim(dim, input.ndim)})
    check_out(out, result, input, index)
    return result if out is None else into(out, result, "index_select")


def _rows(target: Array, index: Array, source: Any, dim: int) -> tuple[Array, Array, Any]:
    """The target and the source with a dimension moved to the front, and the indices in it."""
    check_bounds(
        "index", index, size_of(target, dim), dim, IndexError if target.size else RuntimeError
    )
    if not target.ndim:
        return target.reshape(1), index.reshape(-1), source
    beside = type(source) in ARRAYS and source.ndim > 0
    return (
        np.moveaxis(target, dim, 0),
        index.reshape(-1),
        np.moveaxis(source, dim, 0) if beside else source,
    )


def _add_rows(target: Array, index: Array, source: Array, dim: int) -> None:
    if not target.size and (target.ndim > 1 or target.shape[dim]):
        return  # no elements are written
    error = RuntimeError if target.ndim > 1 else IndexError
    check_bounds("index_add", index, size_of(target, dim), dim, error)
    if source.ndim == target.ndim and target.ndim:
        add = kernels.add_rows if target.dtype.char in "fd" else kernels.add_rows_in_place
        add(target, dim, index.reshape(-1), source)
        return
    rows, at, values = _rows(target, index, source, dim)
    kernels.add_at(rows, at, np.broadcast_to(values, (len(at), *rows.shape[1:])))


def _set_rows(target: Array, index: Array, source: Any, dim: int) -> None:
    if not target.size and target.shape[dim]:
        return
    rows, at, values = _rows(target, index, source, dim)
    rows[at] = values


def _to_rows(g: Any, index: Any, dim: int, shapes: Any) -> Any:
    return g.index_select(dim, index).reshape(shapes[2])


def _to_value(g: Any, index: Any, dim: int) -> Any:
    """The gradient of the fill value: an index that occurs twice counts once."""
    return g.index_select(dim, index.unique()).sum()


def _not_there(g: Any, index: Any, dim: int) -> Any:
    return g.index_fill(dim, index, 0)


INDEX_ADD = Op("index_add", ("input", "index", "source"), on_copy(_add_rows), {
    "input": lambda g: g, "index": None, "source": _to_rows,
}, write=_add_rows, doc="Slices added at indices along a dimension.")  # fmt: skip
INDEX_COPY = Op("index_copy", ("input", "index", "source"), on_copy(_set_rows), {
    "input": _not_there, "index": None, "source": _to_rows,
}, write=_set_rows, doc="Slices written at indices along a dimension.")  # fmt: skip
INDEX_FILL = Op("index_fill", ("input", "index", "value"), on_copy(_set_rows), {
    "input": _not_there, "index": None, "value": _to_value,
}, write=_set_rows, doc="A number written at indices along a dimension.")  # fmt: skip


def _check_source(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    check_vector(name, index)
    check_tensor(name, source, "source")
    own, given, count = input._array.shape, source._array.shape, index._array.size
    if given == (*own[:dim], count, *own[dim + 1 :]) and own and source.dtype is input.dtype:
        return
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}(): self ({kind_name(input._array)}) and source ({kind_name(source._array)}) must have the same scalar type"
        )
    want = list(input.shape)
    if want:
        want[dim] = index.numel()
    copying = name == "index_copy_"  # numbers are vectors of one element, and vice versa
    alike = copying and input.ndim < 2 and source.numel() == index.numel() and source.ndim < 2
    if not alike and (list(source.shape) != want or (copying and not want)):
        error = IndexError if copying else RuntimeError
        raise error(
            f"{name}(): source {list(source.shape)} must have the shape of self {list(input.shape)} but for "
            f"dimension {dim}, where the index has {index.numel()}"
        )


def _index_add_call(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Any = 1) -> Any:
    d = wrap_dim(dim, input.ndim)
    _check_source("index_add", input, d, index, source)
    if not input.ndim and index.numel() != 1:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    factor = exact_number(alpha, wide_type(input.dtype))
    return INDEX_ADD, (index, source if factor == 1 else (source * factor).to(source.dtype)), d


def _index_copy_call(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    d = wrap_dim(dim, input.ndim)
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            f"index_copy_(): Expected a long tensor for index, but got {kind_name(index._array)}"
        )
    _check_source("index_copy_", input, d, index, source)
    return INDEX_COPY, (index, source), d


def _index_fill_call(input: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    check_tensor("index_fill_", index, "index")
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"Only supports 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    is_complex = value.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)
    if is_complex and not input.dtype.is_complex:
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    number = exact_cast(value.item() if isinstance(value, Tensor) else value, input.dtype)
    value = value if isinstance(value, Tensor) else number
    d = wrap_dim(dim, input.ndim)
    if input._array.size:
        index = _from_front("index_fill_", index, size_of(input._array, d), d)
    return INDEX_FILL, (index, value), d


def _from_front(name: str, index: Tensor, size: int, dim: int) -> Tensor:
    """Negative indices made non-negative."""
    places = index._array
    if not places.size or places.min() >= 0:
        return index
    check_bounds(name, places + size, 2 * size, dim, IndexError)
    return wrap(places % size)


def _declare_rows(name: str, prepare: Callable[..., Any], doc: str) -> None:
    """Declare `torch.index_add(x, dim, index, ...)` and `x.index_add_(dim, index, ...)`."""

    def call(
        input: Tensor, dim: int, index: Tensor, *args: Any, out: Any = None, **kwargs: Any
    ) -> Tensor:
        op, others, d = prepare(input, dim, index, *args, **kwargs)
        result = bind(op, (input, *others), {"dim": d})
        return result if out is None else into(out, result, name)

    def call_in_place(self: Tensor, dim: int, index: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        op, others, d = prepare(self, dim, index, *args, **kwargs)
        return bind_in_place(op, self, others, {"dim": d})

    call.__name__, call.__doc__ = name, f"A copy with {doc}."
    call_in_place.__name__, call_in_place.__doc__ = (
        f"{name}_",
        f"`{name}`, in place.",
    )
    function_and_method(call)
    only_method(call_in_place)


_declare_rows("index_add", _index_add_call, "slices added at indices along a dimension")
_declare_rows("index_copy", _index_copy_call, "slices written at indices along a dimension")
_declare_rows("index_fill", _index_fill_call, "a number written at indices along a dimension")


def _as_scatter(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> tuple[int, Tensor]:
    """An index of slices as an index of elements."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax, or amin but got {reduce}."
        )
    d = wrap_dim(dim, input.ndim)
    _check_source("index_reduce", input, d, index, source)
    require_floats(
        "index_func_", input._array, "biufcV" if include_self and input.ndim > 1 else "iufV"
    )
    return d, index.reshape([-1 if k == d else 1 for k in range(input.ndim)]).expand(source.shape)


@function_and_method
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Any = None,
) -> Tensor:
    """A copy with slices reduced into those at indices along a dimension."""
    d, places = _as_scatter(input, dim, index, source, reduce, include_self)
    return scatter_reduce(input, d, places, source, reduce, include_self=include_self, out=out)


@only_method
def index_reduce_(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduce slices into those at indices along a dimension."""
    d, places = _as_scatter(self, dim, index, source, reduce, include_self)
    return self.scatter_reduce_(d, places, source, reduce, include_self=include_self)


# --- Places of the flattened tensor ---------------------------------------------------------------------


def _take(input: Array, index: Array) -> Array:
    count = input.size
    if index.size and not (index.min() >= -count and index.max() < count):
        raise IndexError(
            f"out of range: tried to access index {index.max()} on a tensor of {count} elements."
        )
    return input.reshape(-1)[index]


TAKE = Op("take", ("input", "index"), _take, {
    "input": lambda g, shapes, index: g.new_zeros(shapes[0]).put(index, g, accumulate=True), "index": None,
}, doc="The elements at flat indices.", kind=MOVEMENT)  # fmt: skip


@function_and_method
def take(input: Tensor, index: Tensor, *, out: Any = None) -> Tensor:
    """The elements at flat indices."""
    check_tensor("take", index, "index")
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {kind_name(index._array)}"
        )
    result = TAKE(input, index)
    check_out(out, result, input, index)
    return result if out is None else into(out, result, "take")


def _put_into(target: Array, index: Array, source: Array, accumulate: bool) -> None:
    flat = target.reshape(-1)
    if accumulate:
        kernels.add_at(flat, index.reshape(-1), source.reshape(-1))
    else:
        flat[index.reshape(-1)] = source.reshape(-1)
    if not np.may_share_memory(flat, target):
        target[...] = flat.reshape(target.shape)


def _put_over(g: Any, index: Any, accumulate: bool) -> Any:
    return g if accumulate else g.put(index, zeros_like(index).to(g.dtype))


PUT = Op("put", ("input", "index", "source"), on_copy(_put_into), {
    "input": _put_over, "index": None, "source": lambda g, index, shapes: g.take(index).reshape(shapes[2]),
}, write=_put_into, doc="The elements at flat indices.")  # fmt: skip


def _check_put(input: Tensor, index: Tensor, source: Tensor) -> None:
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            f"put_(): Expected a long tensor for index, but got {kind_name(index._array)}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {kind_name(input._array)} "
            f"and source.dtype = {kind_name(source._array)}"
        )
    if source.numel() != index.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    places, count = index._array, input._array.size
    if places.size and not ((low := places.min()) >= -count and places.max() < count):
        bad = low if low < -count else places.max()
        raise IndexError(
            f"out of range: tried to access index {bad} on a tensor of {count} elements."
        )


@function_and_method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements written at flat indices."""
    _check_put(input, index, source)
    return bind(PUT, (input, index, source), {"accumulate": accumulate})


@only_method
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write elements at flat indices."""
    _check_put(self, index, source)
    return bind_in_place(PUT, self, (index, source), {"accumulate": accumulate})


@function_and_method
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: Any = None
) -> Tensor:
    """`gather` with broadcasting; without a dimension, on the flattened tensor."""
    if indices.dtype is not dtypes.int64 and dim is not None:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {kind_name(indices._array)}"
        )
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1), out=out)
    d = wrap_dim(dim, input.ndim)
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    own, wanted = list(input._array.shape), list(indices._array.shape)
    own[d] = wanted[d] = 1
    shape = list(broadcast_shapes("take_along_dim", tuple(own), tuple(wanted)))
    shape[d] = -1
    places = wrap(
        indices._array % max(input._array.shape[d], 1)
    )  # indices out of range wrap around
    return gather(input.expand(shape), d, places.expand(shape), out=out)


# --- Copies with a view replaced -------------------------------------------------------------------------


def _contiguous_copy(input: Tensor) -> Tensor:
    return input.clone(memory_format=contiguous_format)


def _copy_of_memory(input: Tensor) -> Tensor:
    """A copy of a tensor's whole memory, as a tensor with the same strides and offset."""
    strides, shape = input.stride(), input._array.shape
    repeated = any(s == 0 and n > 1 for s, n in zip(strides, shape, strict=True))
    if repeated or not input._array.size:
        return _contiguous_copy(input)
    memory = input.as_strided((len(memory_of(input)[0]),), (1,), 0).clone()
    return memory.as_strided(shape, strides, input.storage_offset())


def _scattered(name: str, doc: str, copied: Callable[[Tensor], Tensor] = _contiguous_copy) -> None:
    """Declare `x.select_scatter(src, dim, index)`: a copy with the view `name` replaced by `src`."""

    def call(input: Tensor, src: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:
        result = copied(input)
        place = VIEWS[name](result, *args, **kwargs)
        if place.shape != src.shape:
            raise RuntimeError(
                f"expected src to have a size equal to the {name} of self. src size = {list(src.shape)}, "
                f"{name} size = {list(place.shape)}"
            )
        place.copy_(src)
        return result if out is None else into(out, result, call.__name__)

    call.__name__, call.__doc__ = f"{name}_scatter", doc
    function_and_method(call)


VIEWS: dict[str, Callable[..., Tensor]] = {
    "select": select, "diagonal": diagonal, "as_strided": as_strided,
    "slice": slice_view,
}  # fmt: skip
_scattered("select", "A copy with the slice at one index of a dimension replaced.")
_scattered("diagonal", "A copy with a diagonal replaced.")
_scattered("slice", "A copy with a slice replaced.")
_scattered(
    "as_strided", "A copy with a view by size, strides and offset replaced.", _copy_of_memory
)


@only_method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = self.shape[0], self.shape[1]
    size, step, start = min(self.shape), sum(self.stride()), self.storage_offset()
    self.as_strided((size,), (step,), start).fill_(fill_value)
    if wrap and self.ndim == 2 and rows > columns + 1:  # from the row after the next on
        rest = (rows * columns + columns) // (columns + 1) - size
        below = start + self.stride(0) * (columns + 1)
        self.as_strided((rest,), (step,), below).fill_(fill_value)
    return self
