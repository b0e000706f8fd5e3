"""Kinds of arguments, as the table of signatures names them, and how a value is checked against one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..device import device
from ..dtypes import dtype
from ..environment import layout, memory_format
from ..generator import Generator
from ..legacy import TypedTensor
from ..tensor import Tensor

_PYTHON_TYPES = {bool, int, float, complex}
_WHOLE = (int, np.integer)
_REAL = (int, float, np.integer, np.floating)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _is_scalar(value: Any, kinds: str) -> bool:
    """Whether a value is a zero-dimensional tensor that is accepted as a number."""
    if not isinstance(value, Tensor) or value._array.ndim or value.requires_grad:
        return False
    return value._array.dtype.kind in kinds


def _is_int(value: Any) -> bool:
    if isinstance(value, _WHOLE):
        return not isinstance(value, bool)
    return _is_scalar(value, "iu")


def _is_index(value: Any) -> bool:
    """Whether a value can be one of several whole numbers, as a tensor of one of them can."""
    if isinstance(value, Tensor) and value._array.size == 1:
        return value._array.dtype.kind in "iu" and not value.requires_grad
    return _is_int(value)


def _is_float(value: Any) -> bool:
    return isinstance(value, _REAL) or _is_scalar(value, "biufcV")


def _is_number(value: Any) -> bool:
    return isinstance(value, (complex, np.number, np.bool_)) or _is_float(value)


def _all(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (tuple, list)) and all(map(check, value))


def _are_indices(value: Any) -> bool:
    """Whether a list is of whole numbers: only its first decides that True and False are none."""
    if not isinstance(value, (tuple, list)) or (value and not _is_index(value[0])):
        return False
    return all(isinstance(v, bool) or _is_index(v) for v in value)


CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": _is_tensor,
    "Tensors": _all(_is_tensor),
    "int": _is_int,
    "index": _is_index,
    "ints": _are_indices,
    "float": _is_float,
    "floats": _all(_is_float),
    "number": _is_number,
    "numbers": _all(_is_number),
    "bool": lambda value: isinstance(value, (bool, np.bool_)),
    "bools": _all(lambda value: isinstance(value, bool)),
    "str": lambda value: isinstance(value, (str, bytes)),
    "dtype": lambda value: (
        isinstance(value, dtype) or (isinstance(value, type) and value in _PYTHON_TYPES)
    ),
    "type": lambda value: isinstance(value, TypedTensor),
    "device": lambda value: isinstance(value, (device, str, int)) and not isinstance(value, bool),
    "layout": lambda value: isinstance(value, layout),
    "memory_format": lambda value: isinstance(value, memory_format),
    "Generator": lambda value: isinstance(value, Generator),
    "any": lambda value: True,
}
"""Whether a value is of a kind."""
