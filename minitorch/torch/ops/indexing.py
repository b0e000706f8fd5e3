"""Reading and writing by index: `x[...]`, `index_put`.

An index is applied in two steps. Integers, slices, None and ... select a view (basic indexing);
tensors then select elements of that view, and copy (advanced indexing).
"""

from __future__ import annotations

import builtins
from types import EllipsisType
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS
from ..backends.interface import others as other_backends
from ..formulas.indexing import add_at
from ..tensor import Array, Tensor, wrap
from .creation import LIFT, as_tensor
from .layout import arranged
from .memory import COPY
from .parts import SELECT, partial_view
from .precision import kind_name
from .promotion import NUMBERS, exact_cast, wide_type
from .record import MOVEMENT, Op, bind
from .surface import (
    FUNCTIONS,
    function_and_method,
    only_method,
)
from .writes import OVERLAP, bind_in_place, check_overlap

Key = tuple[Any, ...]


# --- Understanding an index ------------------------------------------------------------------------


def _split_key(shape: tuple[int, ...], key: Any) -> tuple[Key, Key | None]:
    """An index as a basic one, and an advanced one for the view that it gives (None without arrays)."""
    if type(key) is int and shape:
        _check_ints([key], shape)
        return (key,), None
    parts = [_plain_part(p) for p in (key if isinstance(key, tuple) else (key,))]
    if builtins.sum(p is Ellipsis for p in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = builtins.sum(
        p.ndim if _is_mask(p) else 1 for p in parts if p is not None and p is not Ellipsis
    )
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    whole = [slice(None)] * (len(shape) - used)
    if Ellipsis in [p for p in parts if isinstance(p, EllipsisType)]:
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        parts[at : at + 1] = whole
    elif not all(isinstance(p, int) for p in parts):
        parts += whole
    if not any(type(p) in ARRAYS for p in parts):
        _check_ints(parts, shape)
        return tuple(parts), None
    basic: list[Any] = []
    advanced: list[Any] = []
    d = 0
    for p in parts:
        if type(p) in ARRAYS:
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
    return type(part) in ARRAYS and part.dtype == np.bool_


def _is_host_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype == np.bool_ and part.ndim > 0


def _plain_part(part: Any) -> Any:
    """One part of an index as None, ..., int, slice, or an array of indices or booleans."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        if part.step is not None and part.step <= 0:
            raise ValueError("step must be greater than zero")
        return slice(
            *(None if v is None else v.__index__() for v in (part.start, part.stop, part.step))
        )
    if isinstance(part, (builtins.bool, np.bool_)):
        return np.array(part)
    if isinstance(part, (int, np.integer)):
        return int(part)
    if isinstance(part, (list, tuple)):
        array = _listed_places(part)
    else:
        array = part._array if isinstance(part, Tensor) else np.asarray(part)
    if array.dtype == np.uint8:
        return array.astype(bool)
    if array.dtype.kind == "U":
        raise TypeError("new(): invalid data type 'str'")
    if array.dtype.kind not in "biu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if not array.ndim and array.dtype != np.bool_ and isinstance(part, Tensor):
        return part.__index__()
    if isinstance(part, Tensor) and array.dtype.char not in "?ilq":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return array


def _listed_places(part: Any) -> Array:
    """A list as a read-only array of indices or booleans."""
    array = np.array(part)
    array = array if array.size else np.empty(array.shape, np.int64)
    array.flags.writeable = False
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
            raise IndexError(
                f"index {p} is out of bounds for dimension {first + d} with size {shape[d]}"
            )
        d += 1


# --- x[...] -----------------------------------------------------------------------------------------


def _basic_view(input: Array, at: Key) -> Array:
    """The view that ints, slices, None and ... select; the ellipsis makes a single element a view, too."""
    try:
        return input[at if Ellipsis in at else (*at, ...)]
    except IndexError as e:
        raise _index_error(e, input.shape, at) from None


BASIC, BASIC_BACKWARD = partial_view("slice_by_key", _basic_view, "SliceBackward0")


def _beside(key: Key, array: Array) -> Key:
    """A key whose arrays are on the device of the indexed array.

    On GPUs, indices out of range wrap around, so they are checked here.
    """
    if type(array) is np.ndarray:
        return key
    parts = [p for k in key for p in (np.nonzero(k) if _is_host_mask(k) else (k,))]
    key = tuple([np.asarray(k, like=array) if isinstance(k, np.ndarray) else k for k in parts])
    d = 0
    for k in key:
        if type(k) in ARRAYS and not _is_mask(k) and k.size:
            size = array.shape[d]
            for place, wrong in ((k.min(), k < -size), (k.max(), k >= size)):
                if wrong.any():
                    raise IndexError(
                        f"index {int(place)} is out of bounds for axis {d} with size {size}"
                    )
        d += k.ndim if _is_mask(k) else k is not None
    return key


def _taken(input: Array, key: Key) -> Array:
    try:
        key = _beside(key, input)
        out = input[key]
    except (IndexError, ValueError) as e:  # CuPy's are ValueErrors
        raise _index_error(e, input.shape, key) from None
    arrays = [input, *(k for k in key if type(k) in ARRAYS)]
    if out.ndim > 1 and not all(a.flags.c_contiguous for a in arrays):
        return arranged(out, _strides_in_result(input, key))
    return out if out.flags.c_contiguous else out.copy()


def _strides_in_result(input: Array, key: Key) -> list[tuple[int, ...]]:
    """The strides of the indexed array, and of each index, in the dimensions of the result."""
    parts = [p for k in key for p in (np.nonzero(k) if _is_mask(k) else (k,))]
    parts += [slice(None)] * (input.ndim - len(parts))
    at = [d for d, p in enumerate(parts) if type(p) in ARRAYS]
    indices = np.broadcast_arrays(*(parts[d] for d in at))
    first = at[0] if at == list(range(at[0], at[-1] + 1)) else 0
    kept = tuple(s for s, p in zip(input.strides, parts, strict=True) if isinstance(p, slice))
    none = (0,) * indices[0].ndim
    before, after = (0,) * first, (0,) * (len(kept) - first)
    own = kept[:first] + none + kept[first:]
    return [own, *(before + i.strides + after for i in indices)]


def _index_error(error: Exception, shape: tuple[int, ...], key: Key) -> IndexError:
    text = str(error).replace("axis", "dimension")
    if "broadcast" in text:
        shapes = ", ".join(str(list(k.shape)) for k in key if type(k) in ARRAYS)
        return IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        )
    return IndexError(f"{text} [index into {list(shape)}]")


def _index_backward(input: Array, shape: tuple[int, ...], key: Key) -> Array:
    """The gradient of indexing: gradients added at their indices, which may repeat."""
    out = np.zeros(shape, input.dtype, like=input)
    key = _beside(key, out)
    if all(_is_mask(k) or isinstance(k, slice) for k in key):
        out[key] = input
    else:
        add_at(out, key, input)
    return out


INDEX = Op("index", ("input",), _taken,
           {"input": lambda g, shapes, key: INDEX_BACKWARD(g, shape=shapes[0], key=key)},
           keeps_tensors=True, kind=MOVEMENT)  # fmt: skip
INDEX_BACKWARD = Op(
    "index_backward",
    ("input",),
    _index_backward,
    {"input": lambda g, key: INDEX(g, key=key)},
    keeps_tensors=True,
)


@only_method
def __getitem__(self: Tensor, key: Any) -> Tensor:  # noqa: N807
    array = self._array
    if type(key) is int and array.ndim:
        size = len(array)
        if not -size <= key < size:
            raise IndexError(f"index {key} is out of bounds for dimension 0 with size {size}")
        return bind(SELECT, (self,), {"at": (0, key % size)})
    if not array.ndim and isinstance(key, (int, slice)) and not isinstance(key, builtins.bool):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
            "to convert a 0-dim tensor to a number"
            if isinstance(key, int)
            else "slice() cannot be applied to a 0-dim tensor."
        )
    if isinstance(key, Tensor) and key._array.ndim and key._array.dtype.char in "?ilq":
        return bind(INDEX, (self,), {"key": (key._array,)})
    if type(key) is list and array.ndim:
        key = _plain_part(key)
        if key.dtype.char in "ilq":
            return bind(INDEX, (self,), {"key": (key,)})
    parts = key if type(key) is tuple else (key,)
    if _is_basic(parts):
        return bind(BASIC, (self,), {"at": parts})
    basic, advanced = _split_key(array.shape, key)
    view = (
        self if advanced is not None and _keeps_all(basic) else bind(BASIC, (self,), {"at": basic})
    )
    return view if advanced is None else bind(INDEX, (view,), {"key": advanced})


def _is_basic(parts: Key) -> bool:
    """Whether an index has only parts that NumPy and Torch treat alike."""
    for p in parts:
        kind = type(p)
        if kind is slice:
            if p.step is not None and (type(p.step) is not int or p.step <= 0):
                return False
        elif kind is not int and p is not None and p is not Ellipsis:
            return False
    return True


def _keeps_all(basic: Key) -> bool:
    return all(isinstance(p, slice) and p == slice(None) for p in basic)


# --- x[...] = value ------------------------------------------------------------------------------------


def _put(input: Array, values: Array, key: Key, accumulate: bool) -> Array:
    out = input.copy()
    _put_into(out, values, key, accumulate)
    return out


def _put_into(target: Array, values: Array, key: Key, accumulate: bool) -> None:
    """Write or add values at indices, after all of them have been checked."""
    key = _beside(key, target)
    if any(_is_mask(k) and type(k) is not np.ndarray for k in key) and not values.ndim:
        target[key] = values
        return
    places = _taken(target, key).shape
    if values.size == 1 and len(key) == 1 and _is_mask(key[0]):
        values = values.reshape(())
    if values.ndim > len(places) or not _broadcasts(values.shape, places):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing "
            f"result of shape {list(places)}"
        )
    if accumulate:
        add_at(target, key, values)
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
    write=_put_into, keeps_tensors=True, overlapping=True,
)  # fmt: skip


@only_method
def __setitem__(self: Tensor, key: Any, value: Any) -> None:  # noqa: N807
    is_number = isinstance(value, NUMBERS)
    if not isinstance(value, Tensor):
        if is_number:
            kind = self.dtype
            wide = kind if wide_type(kind) is kind else dtypes.float64
            value = bind(LIFT, (), {"data": exact_cast(value, wide)})
        else:
            value = as_tensor(value).to(self.dtype)
    basic, advanced = _split_key(self._array.shape, key)
    view = self if _keeps_all(basic) else bind(BASIC, (self,), {"at": basic})
    if not value._array.ndim and value._counter is view._counter:
        value = value.clone()  # one element may fill the memory that it is part of
    if advanced is None:
        if other_backends and value.device != view.device:
            value = value.to(view.device)
        bind_in_place(COPY, view, (_without_leading_ones(value, view._array.ndim),), {})
        return
    if not value._array.ndim and len(advanced) == 1 and _is_mask(advanced[0]):
        mask = advanced[0]
        if mask.shape == view._array.shape:
            view.masked_fill_(wrap(mask), value)
            return
    value = _without_leading_ones(value, _taken(view._array, advanced).ndim)
    if is_number:
        value = value.to(self.dtype)
    elif value.dtype is not self.dtype:
        parts = [part for part in advanced if not isinstance(part, slice)]
        value = _filler(self, value) if len(parts) == 1 and _is_mask(parts[0]) else value
    _check_same_type(self, value)
    if value is view and view._array.shape[0] != 1:
        raise RuntimeError(OVERLAP)
    check_overlap(view._array, value._array, same_allowed=False)
    bind_in_place(INDEX_PUT, view, (value,), {"key": advanced, "accumulate": False})


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """The value without leading dimensions of size 1 that the target does not have."""
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


def _filler(input: Tensor, value: Tensor) -> Tensor:
    """A single value for a boolean mask in the target's dtype: it may be of another, as in `masked_fill`."""
    if value._array.size != 1 or (value.dtype.is_complex and not input.dtype.is_complex):
        return value
    return value.reshape(()).to(input.dtype)


def _checked_values(input: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    if not accumulate and len(indices) == 1 and indices[0] is not None:
        values = _filler(input, values) if indices[0].dtype is dtypes.bool_ else values
    _check_same_type(input, values)
    if len(indices) > input.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})"
        )
    return values


def _key_of(indices: Any) -> Key:
    return tuple(slice(None) if i is None else _plain_part(i) for i in indices)


@function_and_method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written, or added, at indices."""
    values = _checked_values(input, indices, values, accumulate)
    return INDEX_PUT(input, values, key=_key_of(indices), accumulate=accumulate)


@only_method
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write, or add, values at indices."""
    values = _checked_values(self, indices, values, accumulate)
    return bind_in_place(
        INDEX_PUT, self, (values,), {"key": _key_of(indices), "accumulate": accumulate}
    )


FUNCTIONS["index_put_"] = index_put_
