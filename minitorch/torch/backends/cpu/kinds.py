"""Which arrays kernels take, and which are computed in a wider type."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

Array = Any

KERNEL_TYPES = (np.dtype(np.float32), np.dtype(np.float64))
"""The types that kernels are compiled for."""

COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether Numba compiles. Told not to, it would run kernels as Python: NumPy is faster."""


def kernels_from(size: int) -> int:
    """The size from which on kernels compute: the one given, or one that no array has."""
    return size if COMPILES else sys.maxsize


def is_large(x: Array, start: int) -> bool:
    """Whether an array has at least so many elements, of a type that kernels take."""
    return x.size >= start and x.dtype in KERNEL_TYPES


def is_half(x: Array) -> bool:
    """Whether an array is of float16 or bfloat16, which is computed in float32 and rounded once."""
    return x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def widen(*arrays: Array | None) -> list[Any]:
    """Arrays of half precision as float32, others as they are."""
    return [v.astype(np.float32) if v is not None and is_half(v) else v for v in arrays]
