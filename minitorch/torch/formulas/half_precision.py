"""Two-byte floats are computed in four bytes, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..backends.interface import ARRAYS, as_array

Array = Any
Function = Callable[..., Any]


def is_half(x: Array) -> bool:
    """Whether an array is of float16 or bfloat16."""
    return x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def widened(x: Any) -> Any:
    """An array of half precision as float32, anything else as it is."""
    return x.astype(np.float32) if type(x) in ARRAYS and is_half(x) else x


def rounded_to(kind: Any, result: Any, count: int | None = None) -> Any:
    """What was computed in float32 as half precision: a single result, or the first of several."""
    if isinstance(result, tuple):
        return tuple(rounded_to(kind, v) for v in result[:count]) + result[len(result[:count]) :]
    wide = getattr(result, "dtype", None) == np.float32
    return as_array(result).astype(kind) if wide else result


def in_single(formula: Function, rounded: int | None = None) -> Function:
    """Let a formula see two-byte floats as float32, and round what it returns.

    Args:
        formula: from arrays to an array, or several
        rounded: how many of several results are rounded; by default all
    """

    @wraps(formula)
    def run(first: Array, *rest: Any, **params: Any) -> Any:
        if first.itemsize != 2 or not is_half(first):
            return formula(first, *rest, **params)
        result = formula(first.astype(np.float32), *map(widened, rest), **params)
        if isinstance(result, tuple):
            return rounded_to(first.dtype, result, rounded)
        return as_array(result).astype(first.dtype)

    return run
