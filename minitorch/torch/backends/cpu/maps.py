"""Scalar functions of arrays: by NumPy where these are small or of unusual types, else on all cores.

They take arrays of one type (and plain numbers) that broadcast together, and `out=`.
"""

from __future__ import annotations

from functools import partial, wraps
from types import FunctionType
from typing import Any

import numpy as np

from .dispatch import DISPATCHED, Array, Function, chooser, kernels_from, put
from .primitives import ANGLES, CHEAP, LARGEST_ANGLE, start_of


def map_of(scalar: Function, formula: Function) -> Function | None:
    """A scalar function of arrays, by a kernel where they are large; None where there can be no kernel.

    Args:
        scalar: the function
        formula: the same for NumPy's arrays
    """
    first = start_of(scalar)
    if first is None or not _gives_numbers(scalar):
        return None
    start = kernels_from(first)

    def kernel() -> Function:
        from .loops import elementwise

        loop = partial(elementwise, scalar)
        return partial(_below_largest_angle, loop) if scalar in ANGLES else loop

    # NumPy writes what is cheap into an operand's memory without a detour by a block.
    by_numpy = first >= CHEAP and isinstance(formula, np.ufunc)
    choose = chooser(formula, kernel)

    def by_largest(*args: Any, out: Array | None = None) -> Any:
        if out is not None and by_numpy:
            return formula(*args, out=out)
        for x in args:
            if isinstance(x, np.ndarray) and (x.size >= start or x.itemsize == 2):
                arrays = [v for v in args if isinstance(v, np.ndarray)]
                return choose(arrays[0], any(v.size >= start for v in arrays), args, {}, out)
        result = formula(*args)
        return result if out is None else put(out, result)

    DISPATCHED.append(by_largest)
    return wraps(formula)(by_largest)


def _gives_numbers(scalar: Function) -> bool:
    """Whether the result is of the type of the arguments, as kernels have it, and no answer to a question."""
    if not isinstance(scalar, FunctionType):
        return True
    return scalar(*[np.ones(1)] * scalar.__code__.co_argcount).dtype.kind == "f"


def _below_largest_angle(loop: Function, x: Array, out: Array | None = None) -> Array:
    """Sines and cosines: kernels reduce float32 to the circle only up to some size."""
    if x.dtype == np.float32 and np.max(np.abs(x)) >= LARGEST_ANGLE:
        return NotImplemented
    return loop(x, out=out)
