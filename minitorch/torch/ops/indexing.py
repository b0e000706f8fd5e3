"""Reading and writing by place: `x[...]`, gather and scatter, masks.

An index is taken in two steps. Whole numbers, slices, None and ... choose a view; tensors
then choose among what the view shows, and copy.
"""

from __future__ import annotations

import builtins
from types import EllipsisType
from typing import Any

import numpy as np

from .. import dtypes
from ..tensor import Array, Tensor, wrap
from .conversion import COPY
from .elementwise import kind_name
from .movement import SELECT, SLICE_BACKWARD, part, wrap_dim
from .promotion import NUMBERS, broadcast_shapes
from .record import Op, bind
from .surface import (
    FUNCTIONS,
    check_tensor,

    function_and_method,
    in_place,
    into,

    only_method,
)
from .writes import OVERLAP, bind_in_place, check_overlap

Key = tuple[Any, ...]


# --- Understanding an index ------------------------------------------------------------------------


def _split_key(shape: tuple[int, ...], key: Any) -> tuple[Key, Key | None]:
    """An index as a basic one, and one of arrays for the view that it gives (None if no array is in it)."""
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [_plain_part(p) for p in parts]
    if builtins.sum(p is Ellipsis for p in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = builtins.sum(p.ndim if _is_mask(p) else 1 for p in parts if p is not None and p is not Ellipsis)
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    whole = [slice(None)] * (len(shape) - used)
    if Ellipsis in [p for p in parts if isinstance(p, EllipsisType)]:
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        parts[at : at + 1] = whole
    elif not all(isinstance(p, int) for p in parts):
        parts += whole
    if not any(isinstance(p, np.ndarray) for p in parts):
        _check_ints(parts, shape)
        return tuple(parts), None
    basic: list[Any] = []
    advanced: list[Any] = []
    d = 0
    for p in parts:
        if isinstance(p, np.ndarray):
            basic += [slice(None)] * (p.ndim if _is_mask(p) else 1)
            advanced.append(_checked_mask(p, shape, d) if _is_mask(p) else p)
            d += p.ndim if _is_mask(p) else 1
            continue
        basic.append(p)
        if p is None:
            advanced.append(slice(None))
            continue
        if not isinstance(p, int):
            advanced.append(slice(None))
        else:
            _check_ints([p], shape[d : d + 1], d)
        d += 1
    return tuple(basic), tuple(advanced)


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == np.bool_


def _plain_part(part: Any) -> Any:
    """One part of an index as None, ..., int, slice, or an array of places or truth values."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        if part.step is not None and part.step <= 0:
            raise ValueError("step must be greater than zero")
        return slice(*(None if v is None else v.__index__() for v in (part.start, part.stop, part.step)))
    if isinstance(part, (builtins.bool, np.bool_)):
        return np.array(part)
    if isinstance(part, (int, np.integer)):
        return int(part)
    array = part._array if isinstance(part, Tensor) else np.asarray(part)
    if isinstance(part, (list, tuple)) and not array.size:
        array = array.astype(np.int64)
    if array.dtype == np.uint8:
        return array.astype(bool)
    if array.dtype.kind not in "biu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if not array.ndim and array.dtype != np.bool_ and isinstance(part, Tensor):
        return int(array)
    return array


def _checked_mask(mask: Array, shape: tuple[int, ...], d: int) -> Array:
    for i, size in enumerate(mask.shape):
        if size != shape[d + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the "
                f"indexed tensor {list(shape)} at index {d + i}"
            )
    return mask


def _check_ints(parts: list[Any], shape: tuple[int, ...], first: int = 0) -> None:
    d = 0
    for p in parts:
        if p is None:
            continue
        if isinstance(p, int) and not -shape[d] <= p < shape[d]:
            raise IndexError(f"index {p} is out of bounds for dimension {first + d} with size {shape[d]}")
        d += 1


# --- x[...] -----------------------------------------------------------------------------------------


BASIC, BASIC_BACKWARD = part("slice_by_key", lambda input, at: input[(*at, ...)])
BASIC.node_name = "SliceBackward0"


def _taken(input: Array, key: Key) -> Array:
    try:
        return np.ascontiguousarray(input[key])
    except IndexError as e:
        raise _index_error(e, input.shape, key) from None


def _index_error(error: IndexError, shape: tuple[int, ...], key: Key) -> IndexError:
    text = str(error).replace("axis", "dimension")
    if "broadcast" in text:
        shapes = ", ".join(str(list(k.shape)) for k in key if isinstance(k, np.ndarray))
        return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")
    return IndexError(f"{text} [index into {list(shape)}]")


def _index_backward(input: Array, shape: tuple[int, ...], key: Key) -> Array:
    """Add what was read back to where it came from; a place read twice gets both."""
    out = np.zeros(shape, input.dtype)
    if all(_is_mask(k) or isinstance(k, slice) for k in key):
        out[key] = input
    else:
        np.add.at(out, key, input)
    return out


INDEX = Op("index", ("input",), _taken,
           {"input": lambda g, shapes, key: INDEX_BACKWARD(g, shape=shapes[0], key=key)})  # fmt: skip
INDEX_BACKWARD = Op("index_backward", ("input",), _index_backward, {"input": lambda g, key: INDEX(g, key=key)})


@only_method
def __getitem__(self: Tensor, key: Any) -> Tensor:  # noqa: N807
    if type(key) is int and self._array.ndim:
        size = self._array.shape[0]
        if not -size <= key < size:
            raise IndexError(f"index {key} is out of bounds for dimension 0 with size {size}")
        return bind(SELECT, (self,), {"at": (0, key % size)})
    if not self._array.ndim and isinstance(key, (int, slice)) and not isinstance(key, builtins.bool):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
            "to convert a 0-dim tensor to a number"
            if isinstance(key, int)
            else "slice() cannot be applied to a 0-dim tensor."
        )
    basic, advanced = _split_key(self._array.shape, key)
    view = self if advanced is not None and _keeps_all(basic) else bind(BASIC, (self,), {"at": basic})
    return view if advanced is None else bind(INDEX, (view,), {"key": advanced})


def _keeps_all(basic: Key) -> bool:
    return all(isinstance(p, slice) and p == slice(None) for p in basic)


# --- x[...] = value ------------------------------------------------------------------------------------


def _put(input: Array, values: Array, key: Key, accumulate: bool) -> Array:
    out = input.copy()
    _put_into(out, values, key, accumulate)
    return out


def _put_into(target: Array, values: Array, key: Key, accumulate: bool) -> None:
    """Write or add values at places, after all of them are known to be there."""
    places = _taken(target, key).shape
    if values.ndim > len(places) or not _broadcasts(values.shape, places):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(places)}"
        )
    if accumulate:
        np.add.at(target, key, values)
    else:
        target[key] = values


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    own = to[len(to) - len(shape) :]
    return all(a in (1, b) for a, b in zip(shape, own, strict=True))


INDEX_PUT = Op(
    "index_put", ("input", "values"), _put,
    {
        "input": lambda g, key, accumulate: g if accumulate else INDEX_PUT(g, g.new_zeros(()), key=key, accumulate=False),
        "values": lambda g, key: INDEX(g, key=key),
    },
    write=_put_into,
)  # fmt: skip


@only_method
def __setitem__(self: Tensor, key: Any, value: Any) -> None:  # noqa: N807
    if not isinstance(value, Tensor):
        if isinstance(value, NUMBERS):
            value = wrap(np.asarray(value, self._array.dtype) if not isinstance(value, builtins.complex) else np.asarray(value))
        else:
            value = FUNCTIONS["as_tensor"](value).to(self.dtype)
    basic, advanced = _split_key(self._array.shape, key)
    view = self if _keeps_all(basic) else bind(BASIC, (self,), {"at": basic})
    if advanced is None:
        bind_in_place(COPY, view, (_without_leading_ones(value, view._array.ndim),), {})
        return
    value = _without_leading_ones(value, _taken(view._array, advanced).ndim)
    _check_same_type(self, value)
    if value is view:
        raise RuntimeError(OVERLAP)
    check_overlap(view._array, value._array, same_allowed=False)
    bind_in_place(INDEX_PUT, view, (value,), {"key": advanced, "accumulate": False})


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """A value may have more dimensions than the place it goes to, if they are 1."""
    extra = value._array.ndim - ndim
    if extra > 0 and value._array.shape[:extra] == (1,) * extra:
        return value.reshape(value._array.shape[extra:])
    return value


def _check_same_type(input: Tensor, values: Tensor) -> None:
    if input.dtype is not values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {kind_name(input._array)} for the "
            f"destination and {kind_name(values._array)} for the source."
        )


def _key_of(indices: Any) -> Key:
    return tuple(slice(None) if i is None else _plain_part(i) for i in indices)


@function_and_method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values at places, written or added."""
    _check_same_type(input, values)
    return INDEX_PUT(input, values, key=_key_of(indices), accumulate=accumulate)


@only_method
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write or add values at places."""
    _check_same_type(self, values)
    return bind_in_place(INDEX_PUT, self, (values,), {"key": _key_of(indices), "accumulate": accumulate})


FUNCTIONS["index_put_"] = index_put_

# --- Along one dimension ----------------------------------------------------------------------------


def check_index(name: str, index: Any) -> None:
    """Indices are whole numbers."""
    check_tensor(name, index, "index")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int64 for index")


def check_bounds(name: str, index: Array, size: int, dim: int) -> None:
    """IndexError, before anything is read or written, if a place is not there."""
    if index.size and not (0 <= (low := index.min()) and (high := index.max()) < size):
        bad = low if low < 0 else high
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {size} [{name}]")


def _grid(index: Array, dim: int) -> Key:
    """An index along one dimension as an index of all dimensions."""
    places = list(np.ogrid[tuple(slice(0, s) for s in index.shape)])
    places[dim] = index
    return tuple(places)


def _gather(input: Array, index: Array, dim: int) -> Array:
    check_bounds("gather", index, input.shape[dim] if input.ndim else 1, dim)
    if not input.ndim:
        return np.broadcast_to(input, index.shape).copy()
    return input[_grid(index, dim)] if index.ndim else input.reshape(-1)[index]


GATHER = Op(
    "gather", ("input", "index"), _gather,
    {"input": lambda g, shapes, index, dim: g.new_zeros(shapes[0]).scatter_add(dim, index, g), "index": None},
    doc="Elements at places along a dimension.",
)  # fmt: skip


def _same_ranks(name: str, input: Tensor, index: Tensor, dim: int, src: Tensor | None = None) -> None:
    """RuntimeError unless the index fits into the input (but for `dim`) and into the source."""
    if (input.ndim or 1) != (index.ndim or 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as input tensor: {list(index.shape)} and {list(input.shape)} [{name}]")
    for d in range(index.ndim if input.ndim else 0):
        if d != dim and index.shape[d] > input.shape[d]:
            raise RuntimeError(f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim} [{name}]")
    if src is not None:
        if (src.ndim or 1) != (index.ndim or 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as src tensor: {list(index.shape)} and {list(src.shape)} [{name}]")
        if any(i > s for i, s in zip(index.shape, src.shape, strict=False)):
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim} and to be no larger size than src {list(src.shape)}")
        if src.dtype is not input.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


@function_and_method
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Any = None) -> Tensor:
    """Elements at places along a dimension."""
    check_index("gather", index)
    d = wrap_dim(dim, input.ndim)
    if index._array.size:
        _same_ranks("gather", input, index, d)
    result = bind(GATHER, (input, index), {"dim": d})
    return result if out is None else into(out, result, "gather")


_REDUCTIONS: dict[str | None, Any] = {
    "sum": np.add, "add": np.add, "prod": np.multiply, "multiply": np.multiply,
    "amax": np.maximum, "amin": np.minimum, "mean": np.add,
}  # fmt: skip


def _scatter(input: Array, index: Array, src: Any, dim: int, reduce: str | None = None, include_self: bool = True) -> Array:
    check_bounds("scatter", index, input.shape[dim] if input.ndim else 1, dim)
    out = input.copy().reshape(input.shape or (1,))
    index = index.reshape(index.shape or (1,))
    if isinstance(src, np.ndarray):
        src = src.reshape(src.shape or (1,))[tuple(slice(0, s) for s in index.shape)]
    at = _grid(index, dim)
    if reduce is None:
        out[at] = src
        return out.reshape(input.shape)
    if not include_self:
        out[at] = _neutral(reduce, input.dtype)
    if reduce == "mean":
        return _scatter_mean(out, at, src, include_self).reshape(input.shape)
    _REDUCTIONS[reduce].at(out, at, src)
    return out.reshape(input.shape)


def _neutral(reduce: str, kind: Any) -> Any:
    """What a reduction starts from."""
    if reduce in ("sum", "add", "mean"):
        return 0
    if reduce in ("prod", "multiply"):
        return 1
    if kind.kind in "fV":
        return -np.inf if reduce == "amax" else np.inf
    return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max


def _scatter_mean(out: Array, at: Key, src: Any, include_self: bool) -> Array:
    count = np.full(out.shape, 1 if include_self else 0, np.int64)
    np.add.at(out, at, src)
    np.add.at(count, at, 1)
    count = np.maximum(count, 1)
    return out // count if out.dtype.kind in "iu" else out / count.astype(out.dtype)


SCATTER = Op(
    "scatter", ("input", "index", "src"), _scatter,
    {
        "input": lambda g, index, dim: g.scatter(dim, index, 0),
        "index": None,
        "src": lambda g, index, dim, shapes: _like_source(g.gather(dim, index), shapes[2]),
    },
)  # fmt: skip
SCATTER_ADD = Op(
    "scatter_add", ("input", "index", "src"), lambda input, index, src, dim: _scatter(input, index, src, dim, "sum"),
    {"input": lambda g: g, "index": None, "src": lambda g, index, dim, shapes: _like_source(g.gather(dim, index), shapes[2])},
)  # fmt: skip


def _like_source(g: Any, shape: Any) -> Any:
    """A gradient for what was used of a source, and 0 for the rest."""
    if shape is None or g._array.shape == shape:
        return g
    for d, (have, want) in enumerate(zip(g._array.shape, shape, strict=True)):
        if have != want:
            full = (*g._array.shape[:d], want, *g._array.shape[d + 1 :])
            g = SLICE_BACKWARD(g, shape=full, at=(d, 0, have, 1))
    return g


@function_and_method
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Tensor:
    """A copy with values written at places along a dimension."""
    source = value if src is None else src
    check_index("scatter", index)
    d = wrap_dim(dim, input.ndim)
    if index._array.size:
        _same_ranks("scatter", input, index, d, source if isinstance(source, Tensor) else None)
    if not index._array.size:
        return input.clone()
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        reduced = input.new_full((), source).expand(index.shape) if not isinstance(source, Tensor) else source
        return SCATTER_REDUCE(input, index, reduced, dim=d, reduce={"add": "sum", "multiply": "prod"}[reduce], include_self=True)
    return bind(SCATTER, (input, index, source), {"dim": d})


@function_and_method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with values added at places along a dimension."""
    check_index("scatter_add", index)
    d = wrap_dim(dim, input.ndim)
    if not index._array.size:
        return input.clone()
    _same_ranks("scatter_add", input, index, d, src)
    return bind(SCATTER_ADD, (input, index, src), {"dim": d})


def _scatter_reduce_rule(g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, reduce: str, include_self: bool) -> tuple[Any, Any]:
    """Gradients of the input and of the source."""
    if reduce == "sum":
        mine, theirs = g, g.gather(dim, index)
    elif reduce == "mean":
        count = FUNCTIONS["ones_like"](g) if include_self else FUNCTIONS["zeros_like"](g)
        count = count.scatter_add(dim, index, FUNCTIONS["ones_like"](src)).clamp(min=1)
        mine, theirs = g / count, (g / count).gather(dim, index)
    elif reduce == "prod":
        mine, theirs = _prod_gradients(g, input, index, src, out, dim, include_self)
    else:
        value = out.gather(dim, index)
        at_self, at_src = (input == out).to(g.dtype), (src == value).to(g.dtype)
        count = (at_self if include_self else at_self.mul(0)).scatter_add(dim, index, at_src)
        shared = g / count.clamp(min=1)
        mine, theirs = at_self * shared, at_src * shared.gather(dim, index)
    if not include_self:
        mine = mine.scatter(dim, index, 0)
    return mine, theirs


def _prod_gradients(g: Any, input: Any, index: Any, src: Any, out: Any, dim: int, include_self: bool) -> tuple[Any, Any]:
    """The product of the others, also where one factor is 0."""
    start = input if include_self else input.scatter(dim, index, 1)
    others = start.clone()
    filled = src.masked_fill(src == 0, 1)
    zeros = (start == 0).to(g.dtype).mul(0).scatter_add(dim, index, (src == 0).to(g.dtype))
    product = SCATTER_REDUCE(others.masked_fill(others == 0, 1), index, filled, dim=dim, reduce="prod", include_self=True)
    total = zeros + (start == 0).to(g.dtype)
    mine = g * (product / start.masked_fill(start == 0, 1)) * (((total - (start == 0).to(g.dtype)) == 0).to(g.dtype))
    theirs = (g * product).gather(dim, index) / filled * ((total.gather(dim, index) - (src == 0).to(g.dtype)) == 0).to(g.dtype)
    return mine, theirs


SCATTER_REDUCE = Op(
    "scatter_reduce", ("input", "index", "src"),
    lambda input, index, src, dim, reduce, include_self: _scatter(input, index, src, dim, reduce, include_self),
    {
        "input": lambda g, input, index, src, out, dim, reduce, include_self: _scatter_reduce_rule(g, input, index, _cropped(src, index), out, dim, reduce, include_self)[0],
        "index": None,
        "src": lambda g, input, index, src, out, dim, reduce, include_self: _like_source(
            _scatter_reduce_rule(g, input, index, _cropped(src, index), out, dim, reduce, include_self)[1], src._array.shape),
    },
)  # fmt: skip


def _cropped(src: Any, index: Any) -> Any:
    if src._array.shape == index._array.shape:
        return src
    return src[tuple(slice(0, s) for s in index._array.shape)]


@function_and_method
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """A copy with values reduced into places along a dimension."""
    check_index("scatter_reduce", index)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    d = wrap_dim(dim, input.ndim)
    if not index._array.size:
        return input.clone()
    _same_ranks("scatter_reduce", input, index, d, src)
    return SCATTER_REDUCE(input, index, src, dim=d, reduce=reduce, include_self=include_self)


for _fn in (scatter, scatter_add, scatter_reduce):
    in_place(f"{_fn.__name__}_", _fn)


INDEX_SELECT = Op(
    "index_select", ("input", "index"), lambda input, index, dim: _index_select(input, index, dim),
    {"input": lambda g, shapes, index, dim: g.new_zeros(shapes[0]).index_add(dim, index, g), "index": None},
    doc="Whole places of a dimension.",
)  # fmt: skip


def _index_select(input: Array, index: Array, dim: int) -> Array:
    if index.size and not (index.min() >= 0 and index.max() < (input.shape[dim] if input.ndim else 1)):
        raise IndexError(f"index out of range in self: index_select of {list(input.shape)} along dimension {dim}")
    return np.take(input.reshape(input.shape or (1,)), index.reshape(-1), axis=dim).reshape(input.shape if not input.ndim else (*input.shape[:dim], index.size, *input.shape[dim + 1 :]))


@function_and_method
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:
    """Whole places of a dimension."""
    check_index("index_select", index)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    result = bind(INDEX_SELECT, (input, index), {"dim": wrap_dim(dim, input.ndim)})
    return result if out is None else into(out, result, "index_select")


def _rows(input: Array, index: Array, source: Any, dim: int, write: Any) -> Array:
    check_bounds("index", index, input.shape[dim] if input.ndim else 1, dim)
    out = input.copy()
    target = np.moveaxis(out, dim, 0) if out.ndim else out.reshape(1)
    write(target, index.reshape(-1), np.moveaxis(source, dim, 0) if isinstance(source, np.ndarray) and source.ndim else source)
    return out


def _set_rows(target: Array, index: Array, source: Any) -> None:
    target[index] = source


INDEX_ADD = Op(
    "index_add", ("input", "index", "source"),
    lambda input, index, source, dim: _rows(input, index, source, dim, np.add.at),
    {"input": lambda g: g, "index": None, "source": lambda g, index, dim, shapes: g.index_select(dim, index).reshape(shapes[2])},
)  # fmt: skip
INDEX_COPY = Op(
    "index_copy", ("input", "index", "source"),
    lambda input, index, source, dim: _rows(input, index, source, dim, _set_rows),
    {"input": lambda g, index, dim: g.index_fill(dim, index, 0), "index": None,
     "source": lambda g, index, dim, shapes: g.index_select(dim, index).reshape(shapes[2])},
)  # fmt: skip
INDEX_FILL = Op(
    "index_fill", ("input", "index", "value"),
    lambda input, index, value, dim: _rows(input, index, value, dim, _set_rows),
    {"input": lambda g, index, dim: g.index_fill(dim, index, 0), "index": None,
     "value": lambda g, index, dim: g.index_select(dim, index).sum()},
)  # fmt: skip


def _check_source(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if source.dtype is not input.dtype:
        raise RuntimeError(f"{name}(): self ({kind_name(input._array)}) and source ({kind_name(source._array)}) must have the same scalar type")
    want = list(input.shape)
    if want:
        want[dim] = index.numel()
    if list(source.shape) != want and source.numel() != 1:
        error = IndexError if name == "index_copy_" else RuntimeError
        raise error(f"{name}(): source {list(source.shape)} must have the shape of self {list(input.shape)} but for dimension {dim}, where the index has {index.numel()}")


@function_and_method
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with slices added at places of a dimension."""
    check_index("index_add", index)
    d = wrap_dim(dim, input.ndim)
    _check_source("index_add", input, d, index, source)
    return INDEX_ADD(input, index, source if alpha == 1 else source * alpha, dim=d)


@function_and_method
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices written at places of a dimension."""
    check_index("index_copy", index)
    d = wrap_dim(dim, input.ndim)
    _check_source("index_copy_", input, d, index, source)
    return INDEX_COPY(input, index, source, dim=d)


@function_and_method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number at places of a dimension."""
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    d = wrap_dim(dim, input.ndim)
    size = input._array.shape[d] if input.ndim else 1
    places = index._array
    if places.size and not (places.min() >= -size and places.max() < size):
        raise IndexError(f"index out of range in index_fill_: dimension {d} has size {size}")
    return INDEX_FILL(input, wrap(places % size if size else places), value, dim=d)


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """A copy with slices reduced into places of a dimension."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax, or amin but got {reduce}.")
    d = wrap_dim(dim, input.ndim)
    shape = [-1 if k == d else 1 for k in range(input.ndim)]
    return scatter_reduce(input, d, index.reshape(shape).expand(source.shape), source, reduce, include_self=include_self)


function_and_method(index_reduce)
for _fn in (index_add, index_copy, index_fill, index_reduce):
    in_place(f"{_fn.__name__}_", _fn)


@function_and_method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather` with shapes broadcast; without a dimension, of the flattened tensor."""
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    d = wrap_dim(dim, input.ndim)
    if input.ndim != indices.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    if indices.dtype is not dtypes.int64:
        raise RuntimeError("torch.take_along_dim(): dtype of indices should be Long but got " + kind_name(indices._array))
    one_sized = lambda x: tuple(1 if k == d else s for k, s in enumerate(x._array.shape))  # noqa: E731
    common = broadcast_shapes("take_along_dim", one_sized(input), one_sized(indices))
    return input.expand([-1 if k == d else s for k, s in enumerate(common)]).gather(
        d, indices.expand([-1 if k == d else s for k, s in enumerate(common)])
    )


def _take(input: Array, index: Array) -> Array:
    if index.size and not (index.min() >= -input.size and index.max() < input.size):
        raise IndexError(f"out of range: tried to access index {index.max()} on a tensor of {input.size} elements.")
    return input.reshape(-1)[index]


TAKE = Op("take", ("input", "index"), _take,
          {"input": lambda g, shapes, index: g.new_zeros(shapes[0]).put(index, g, accumulate=True), "index": None})  # fmt: skip


@function_and_method
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements at places of the flattened tensor."""
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {kind_name(index._array)}")
    return TAKE(input, index)


@function_and_method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements at places of the flattened tensor."""
    if source.numel() != index.numel():
        raise RuntimeError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.numel()}, index.numel() = {index.numel()}")
    if index.numel() and not (index._array.min() >= -input.numel() and index._array.max() < input.numel()):
        raise IndexError(f"out of range: tried to access an index on a tensor of {input.numel()} elements.")
    flat = input.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.view(input.shape)


in_place("put_", put)

# --- Masks ---------------------------------------------------------------------------------------------


def _masked_fill(input: Array, mask: Array, value: Any) -> Array:
    shape = broadcast_shapes("masked_fill", input.shape, mask.shape)
    out = np.broadcast_to(input, shape).copy() if shape != input.shape else input.copy()
    np.copyto(out, np.asarray(value), where=mask, casting="unsafe")
    return out


MASKED_FILL = Op(
    "masked_fill", ("input", "mask", "value"), _masked_fill,
    {
        "input": lambda g, mask: MASKED_FILL(g, mask, 0),
        "mask": None,
        "value": lambda g, mask: MASKED_FILL(g, ~mask, 0).sum(),
    },
    doc="A copy with a number where a mask is true.",
)  # fmt: skip


def _check_mask(name: str, mask: Any) -> None:
    check_tensor(name, mask, "mask")
    if mask._array.dtype != np.bool_:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype}")


def _check_fill(input: Tensor, value: Any) -> None:
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
        value = value.item()
    whole = input.dtype.kind < dtypes.FLOATING
    if (isinstance(value, complex) and not input.dtype.is_complex) or (whole and not np.isfinite(value)):
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow")


@function_and_method
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with a number where a mask is true."""
    _check_mask("masked_fill", mask)
    _check_fill(input, value)
    return bind(MASKED_FILL, (input, mask, value), {})


@only_method
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write a number where a mask is true."""
    _check_mask("masked_fill_", mask)
    _check_fill(self, value)
    return bind_in_place(MASKED_FILL, self, (mask, value), {})


@function_and_method
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:
    """The elements where a mask is true, in a row."""
    _check_mask("masked_select", mask)
    shape = broadcast_shapes("masked_select", input._array.shape, mask._array.shape)
    result = input.expand(shape)[mask.expand(shape)]
    return result if out is None else into(out, result, "masked_select")


@function_and_method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with a source's elements, one after the other, where a mask is true."""
    _check_mask("masked_scatter", mask)
    if source.dtype is not input.dtype:
        raise RuntimeError(f"masked_scatter: expected self and source to have same dtypes but got {kind_name(input._array)} and {kind_name(source._array)}")
    shape = broadcast_shapes("masked_scatter", input._array.shape, mask._array.shape)
    where = mask.expand(shape)
    count = int(where._array.sum())
    if count > source.numel():
        raise RuntimeError(f"masked_scatter: mask selects {count} elements but source has {source.numel()}")
    return INDEX_PUT(input.expand(shape), source.reshape(-1)[:count], key=(where._array,), accumulate=False)


in_place("masked_scatter_", masked_scatter)


@function_and_method
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The places of elements that are not 0: a row each, or a tensor for each dimension."""
    array = input._array
    found = np.nonzero(array.reshape(array.shape or (1,)))
    if as_tuple:
        return tuple(wrap(f.astype(np.int64)) for f in found)
    rows = np.stack(found, axis=1).astype(np.int64) if array.ndim else np.zeros((len(found[0]), 0), np.int64)
    return wrap(rows) if out is None else into(out, wrap(rows), "nonzero")


@function_and_method
def argwhere(input: Tensor) -> Tensor:
    """The places of elements that are not 0, a row each."""
    return nonzero(input)


# --- Scattering views -----------------------------------------------------------------------------------


def _scattered(name: str, view: Any, doc: str) -> None:
    """`x.select_scatter(src, dim, index)`: a copy with `src` where `view` would look."""

    def call(input: Tensor, src: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        out = input.clone(memory_format="contiguous_format")
        place = view(out, *args, **kwargs)
        if place.shape != src.shape:
            raise RuntimeError(f"expected src to have a size equal to the {name} of self. src size = {list(src.shape)}, {name} size = {list(place.shape)}")
        place.copy_(src)
        return out

    call.__name__, call.__doc__ = f"{name}_scatter", doc
    function_and_method(call)


_scattered("select", lambda x, dim, index: x.select(dim, index), "A copy with one place of a dimension replaced.")
_scattered("diagonal", lambda x, offset=0, dim1=0, dim2=1: x.diagonal(offset, dim1, dim2), "A copy with a diagonal replaced.")
_scattered("slice", lambda x, dim=0, start=None, end=None, step=1: x[(slice(None),) * wrap_dim(dim, x.ndim) + (slice(start, end, step),)],
           "A copy with a slice replaced.")  # fmt: skip
_scattered("as_strided", lambda x, size, stride, storage_offset=None: x.as_strided(size, stride, storage_offset),
           "A copy with any view replaced.")  # fmt: skip


@only_method
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal."""
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    rows, columns = self.shape[0], self.shape[1]
    step = builtins.sum(self.stride())
    size = builtins.min(self.shape)
    if wrap and self.ndim == 2 and rows > columns + 1:
        size = (rows * columns + columns) // (columns + 1)
    self.as_strided((size,), (step,), self.storage_offset()).fill_(fill_value)
    return self


