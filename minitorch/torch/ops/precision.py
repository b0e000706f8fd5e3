"""In which types arrays are computed: two-byte floats in four bytes, others as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import ARRAYS, as_array
from ..tensor import Array


def is_half(array: Array) -> bool:
    """Whether an array holds two-byte floats (float16, bfloat16)."""
    return array.dtype.itemsize == 2 and array.dtype.kind in "fV"


def widened(array: Any) -> Any:
    """Two-byte floats as float32; anything else as it is."""
    return array.astype(np.float32) if type(array) in ARRAYS and is_half(array) else array


def in_single(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let a computation on arrays see two-byte floats as float32, and round what it returns."""

    @wraps(compute)
    def run(first: Array, *rest: Any, **params: Any) -> Any:
        if not is_half(first):
            return compute(first, *rest, **params)
        result = compute(first.astype(np.float32), *map(widened, rest), **params)
        if isinstance(result, tuple):
            return tuple(r.astype(first.dtype) if r.dtype == np.float32 else r for r in result)
        return as_array(result).astype(first.dtype)

    return run


def kind_name(array: Array) -> str:
    """What Torch calls an array's type in errors: Float, Long, Bool."""
    return dtypes.from_numpy_dtype(array.dtype).type_name.removesuffix("Tensor")


def require_floats(name: str, array: Array, kinds: str = "fV") -> None:
    """NotImplementedError, as Torch words it, for arrays that are not of these NumPy kinds."""
    if array.dtype.kind not in kinds:
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind_name(array)}'")
