"""Arrays of numbers, nested lists and other arrays, in the dtype that Torch gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import as_numpy
from ..dtypes import dtype as dtype_type
from ..numpy_warnings import without_errors
from ..tensor import Array, Tensor


def array_of(data: Any, dtype: dtype_type | None, copy: bool | None = True) -> Array:
    """Data as an array of the dtype that Torch would give it."""
    dtype = dtypes.given_type(dtype)
    if type(data) is list:
        return _from_python(data, dtype)
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        dtypes.from_numpy_dtype(array.dtype)
    elif hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        array = np.asarray(data)
    else:
        return _from_python(data, dtype)
    if dtype is not None and array.dtype != dtype.numpy:
        return without_errors(array.astype, dtype.numpy)
    return array.copy("C") if copy else array


def _from_python(data: Any, dtype: dtype_type | None) -> Array:
    """An array from numbers or from nested lists of numbers, tensors and arrays."""
    kind = dtype or _kind_of(data)
    plain = _plain(data)
    try:
        return without_errors(np.array, plain, kind.numpy)  # floats too large become infinite
    except OverflowError as e:
        if kind.kind == dtypes.INTEGRAL and not kind.is_signed:  # negative integers wrap around
            whole = np.array(plain, dtype=object)
            fits = np.all(np.abs(whole) <= dtypes.iinfo(kind).max)
            if fits and _kind_of(data).kind <= dtypes.INTEGRAL:
                return whole.astype(np.int64).astype(kind.numpy)
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow") from e
    except (TypeError, ValueError) as e:
        if "float NaN" in str(e):
            raise RuntimeError(
                f"value cannot be converted to type {kind.name} without overflow"
            ) from e
        if not _is_nested(data) or len({_is_nested(v) for v in data}) > 1 or "complex" in str(e):
            raise TypeError(
                f"expected sequences of numbers of type {kind}, got {_lengths(data)}"
            ) from e
        raise ValueError(
            f"expected sequences of one length at every depth, got {_lengths(data)}"
        ) from e


def _kind_of(data: Any) -> dtype_type:
    """The dtype of nested Python data: the highest kind among its numbers."""
    best = None
    stack, last = [data], None
    while stack:
        value = stack.pop()
        if type(value) is last:
            continue
        if isinstance(value, (list, tuple, range)):
            stack.extend(value)
            continue
        last = float if type(value) is float else None
        if isinstance(value, Tensor):
            own = value.dtype
        elif isinstance(value, (np.ndarray, np.generic)):
            own = dtypes.from_numpy_dtype(value.dtype)
        elif isinstance(value, (bool, int, float, complex)):
            own = dtypes.of_number(value)
        else:
            error = TypeError if isinstance(value, str) else RuntimeError
            raise error(f"Could not infer dtype of {value.__class__.__name__}")
        best = own if best is None else dtypes.promote_types(best, own)
    return best or dtypes.get_default_dtype()


_NUMBERS = frozenset({bool, int, float, complex})


def _plain(data: Any) -> Any:
    """Nested data with tensors as arrays; TypeError for objects that only NumPy accepts as numbers."""
    if isinstance(data, (list, tuple)):
        return list(data) if _NUMBERS.issuperset(map(type, data)) else [_plain(v) for v in data]
    if data is None:
        raise TypeError("must be real number, not NoneType")
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return as_numpy(data._array) if isinstance(data, Tensor) else data


def _is_nested(data: Any) -> bool:
    return isinstance(data, (list, tuple))


def _lengths(data: Any) -> list[Any]:
    if not isinstance(data, (list, tuple)):
        return []
    return [len(v) if isinstance(v, (list, tuple)) else type(v).__name__ for v in data]
