"""Type promotion: the common dtype and shape of the arguments of an elementwise operation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS, others
from ..dtypes import FLOATING, dtype
from ..tensor import Array, Tensor, tracks

NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def plain_number(value: Any, name: str, argument: str) -> Any:
    """A Python number, from one, a NumPy number or a zero-dimensional tensor."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    single = isinstance(value, Tensor) and not value._array.ndim and not tracks(value)
    if single or isinstance(value, (np.number, np.bool_)):
        return value.item()
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


def plain_integer(value: Any, name: str, argument: str) -> int:
    """A Python int, from one, a NumPy integer or a tensor of one element."""
    if type(value) is int and -(1 << 63) <= value < 1 << 63:
        return value
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = value.__index__()
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        return number
    except (AttributeError, TypeError):
        kind = type(value).__name__
        raise TypeError(f"{name}(): argument '{argument}' must be int, not {kind}") from None


def plain_integers(value: Any, name: str, argument: str) -> tuple[int, ...]:
    """Python ints, from a sequence or a single one."""
    given = value if isinstance(value, (tuple, list)) else (value,)
    return tuple([plain_integer(v, name, argument) for v in given])


def result_type(*values: Any) -> dtype:
    """The dtype of an operation on tensors, arrays and numbers, by Torch's rules of promotion.

    Tensors with dimensions decide; zero-dimensional ones, and plain numbers, only if their kind
    (boolean, integer, floating, complex) is higher.
    """
    dimensioned: dtype | None = None
    zero_dim: dtype | None = None
    number: dtype | None = None
    for value in values:
        array = value._array if isinstance(value, Tensor) else value
        if type(array) in ARRAYS:
            own = dtypes.from_numpy_dtype(array.dtype)
            if array.ndim:
                dimensioned = own if dimensioned is None else dtypes.promote_types(dimensioned, own)
            else:
                zero_dim = own if zero_dim is None else dtypes.promote_types(zero_dim, own)
        elif value is not None:
            own = dtypes.of_number(value.item() if isinstance(value, np.generic) else value)
            number = own if number is None else dtypes.promote_types(number, own)
    return dtypes.result_of(dimensioned, zero_dim, number)


def meet(values: Sequence[Any], to_float: bool = False) -> list[Array]:
    """An operation's arguments as arrays of their common dtype.

    Args:
        values: arrays and plain numbers
        to_float: whether integers are cast to the default floating point dtype
    """
    kind = _only_type(values)
    if kind is not None and (kind.kind not in "iu" or not to_float):
        number = int if kind.kind in "iu" else float
        return [v if type(v) in ARRAYS else _number(np.array(number(v), kind)) for v in values]
    wanted = result_type(*values)
    if to_float and wanted.kind < FLOATING:
        wanted = dtypes.get_default_dtype()
    return [cast(v, wanted) for v in values]


def _only_type(values: Sequence[Any]) -> Any:
    """The dtype of all arrays, if they agree and no number is of a higher kind or perhaps out of range; else None."""
    kind, whole, low = None, True, 0
    for value in values:
        if type(value) in ARRAYS:
            if kind is None:
                kind = value.dtype
            elif value.dtype != kind:
                return None
        elif isinstance(value, (int, float)):
            whole = whole and isinstance(value, int) and -SMALL <= value <= SMALL
            low = min(low, value)
        else:
            return None
    if kind is None or kind.kind in "fV":
        return kind
    return kind if whole and (kind.kind == "i" or (kind.kind == "u" and low == 0)) else None


def cast(value: Any, wanted: dtype) -> Array:
    """An array or number as an array of a dtype."""
    if type(value) in ARRAYS:
        return value if value.dtype == wanted.numpy else value.astype(wanted.numpy)
    if wanted.kind == dtypes.INTEGRAL and isinstance(value, int):
        bits = np.iinfo(wanted.numpy)
        if not bits.min <= value <= bits.max:  # integers wrap around, as in C
            if not -(1 << 63) <= value < 1 << 64:
                raise OverflowError("int too big to convert")
            return _number(np.array(value & (2**bits.bits - 1), np.uint64).astype(wanted.numpy))
    return _number(np.array(value).astype(wanted.numpy))


def _number(array: Array) -> Any:
    """A number of a dtype as an array; for other devices as a NumPy scalar."""
    return array[()] if others else array


SMALL = 127
"""Integers up to this size are represented by all dtypes except bool."""


def fits_floats(value: Any) -> bool:
    """Whether a value is a plain real number that every floating point dtype represents: small, infinite or NaN."""
    if type(value) is float:
        return -SMALL <= value <= SMALL or value - value != 0
    return type(value) is int and -SMALL <= value <= SMALL


def exact_cast(value: Any, wanted: dtype) -> Array:
    """A plain number as an array of a dtype; Torch's RuntimeError if it is out of the dtype's range.

    Unsigned dtypes accept negative integers, too, which wrap around.
    """
    return np.array(exact_number(value, wanted), wanted.numpy)


def exact_number(value: Any, wanted: dtype) -> Any:
    """A plain number as a dtype represents it, with the same errors."""
    if wanted.kind >= FLOATING and fits_floats(value):
        return value
    number: Any = value.item() if isinstance(value, (np.generic, Tensor)) else value
    if wanted.kind == dtypes.BOOL:
        return bool(number)
    if isinstance(number, complex) and not number.imag and wanted.kind != dtypes.COMPLEX:
        number = number.real
    low, high = _limits(wanted)
    if wanted.kind == dtypes.INTEGRAL and not isinstance(number, complex):
        if not low and isinstance(number, int) and -high <= number < 0:
            number += high + 1
        if low <= number <= high:
            return int(number)
    elif wanted.kind == dtypes.COMPLEX or not isinstance(number, complex):
        parts = number.real, number.imag
        if not any(high < abs(part) < math.inf for part in parts):
            return number
    name = f"{wanted.name}_t" if wanted.kind == dtypes.INTEGRAL else wanted.c_name
    raise RuntimeError(f"value cannot be converted to type {name} without overflow")


@cache
def _limits(kind: dtype) -> tuple[Any, Any]:
    """The smallest and the largest number of a dtype."""
    info = dtypes.iinfo(kind) if kind.kind == dtypes.INTEGRAL else dtypes.finfo(kind)
    return info.min, info.max


def wide_type(kind: dtype) -> dtype:
    """The dtype in which a dtype is computed: half precision in float32."""
    return dtypes.float32 if kind.itemsize == 2 and kind.is_floating_point else kind


def rounded_number(number: Any, kind: dtype) -> Any:
    """A number as a floating point dtype holds it: infinite beyond its range, and 0 below it."""
    if isinstance(number, complex):
        return complex(rounded_number(number.real, kind), rounded_number(number.imag, kind))
    if abs(number) > dtypes.finfo(kind).max:
        return math.copysign(math.inf, number)
    return float(wide_type(kind.to_real()).numpy.type(number))


def broadcast_shapes(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to; Torch's RuntimeError if they do not."""
    if all(s == shapes[0] for s in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise broadcast_error(name, shapes) from None


def broadcast_error(name: str, values: Sequence[Any]) -> RuntimeError:
    """Torch's error for arrays or shapes that do not broadcast."""
    shapes = [getattr(v, "shape", v) for v in values if isinstance(v, (np.ndarray, tuple))]
    longest = max(len(s) for s in shapes)
    padded = [(1,) * (longest - len(s)) + tuple(s) for s in shapes]
    for d in range(longest - 1, -1, -1):
        sizes = [s[d] for s in padded if s[d] != 1]
        if len(set(sizes)) > 1:
            return RuntimeError(
                f"The size of tensor a ({sizes[0]}) must match the size of tensor b ({sizes[1]}) at "
                f"non-singleton dimension {d} [{name}: {' and '.join(str(list(s)) for s in shapes)}]"
            )
    return RuntimeError(f"{name}: shapes {shapes} do not broadcast")
