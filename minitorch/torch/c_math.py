"""Elementary functions of float64 arrays as the C library computes them, to the last bit.

NumPy chooses its own loops by processor, and those for AVX-512 round otherwise. PyTorch
makes random numbers with the C library; so do Python's `math` and Numba, used here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .generator import compiled_loops

Array = Any
"""A NumPy array."""

LARGEST_EXPONENT = math.log(sys.float_info.max)


def _of_arrays(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one number, applied to every element of a float64 array."""

    def apply(x: Array) -> Array:
        flat = x.reshape(-1)
        if kernels := compiled_loops(x.size):
            return kernels.map_of(function)(flat).reshape(x.shape)
        return np.fromiter(map(function, flat.tolist()), np.float64, x.size).reshape(x.shape)

    return apply


log = _of_arrays(lambda x: math.log(x) if x > 0 else -math.inf)
"""The natural logarithm of numbers from 0 on."""
log1p = _of_arrays(lambda x: math.log1p(x))
"""The natural logarithm of 1 + x, for x above -1."""
exp = _of_arrays(lambda x: math.inf if x > LARGEST_EXPONENT else math.exp(x))
sin = _of_arrays(lambda x: math.sin(x))
cos = _of_arrays(lambda x: math.cos(x))
tan = _of_arrays(lambda x: math.tan(x))
