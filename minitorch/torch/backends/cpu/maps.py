"""Scalar functions of arrays: by NumPy where these are small or of unusual types, else on all cores.

They take arrays of one type (and plain numbers) that broadcast together, and `out=`.
"""

from __future__ import annotations

from functools import partial
from types import FunctionType

import numpy as np

from .dispatch import Array, Function, dispatch
from .primitives import ANGLES, CHEAP, LARGEST_ANGLE, start_of


def map_of(scalar: Function, formula: Function) -> Function | None:
    """A scalar function of arrays, by a kernel where they are large; None where there can be no kernel.

    Args:
        scalar: the function
        formula: the same for NumPy's arrays
    """
    start = start_of(scalar)
    if start is None or not _gives_numbers(scalar):
        return None

    def kernel() -> Function:
        from .loops import elementwise

        loop = partial(elementwise, scalar)
        return partial(_below_largest_angle, loop) if scalar in ANGLES else loop

    # NumPy writes what is cheap into an operand's memory without a detour by a block.
    cheap = start >= CHEAP and isinstance(formula, np.ufunc)
    return dispatch(formula, kernel, start, of=None, in_place=formula if cheap else None)


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
