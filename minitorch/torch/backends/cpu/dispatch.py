"""How the CPU chooses between a formula and a kernel of the same name and arguments.

Half precision is computed in float32 and rounded once; large arrays of float32 or float64 go to
the kernel, which is imported (and Numba with it) when it is first needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from typing import Any

import numpy as np

from ...formulas.half_precision import is_half, rounded_to, widened

Array = Any
Function = Callable[..., Any]

KERNEL_TYPES = (np.dtype(np.float32), np.dtype(np.float64))
"""The types that kernels are compiled for."""

COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
"""Whether Numba compiles. Told not to, it would run kernels as Python: NumPy is faster."""

DISPATCHED: list[Function] = []
"""All functions that choose; each has its threshold in its closure, as `start`."""


def kernels_from(size: int) -> int:
    """The size from which on kernels compute: the one given, or one that no array has."""
    return size if COMPILES else sys.maxsize


CALLS_BEFORE_COMPILING = {True: 300, False: 30_000}
"""After so many calls of a formula it pays to load a kernel for small arrays: soon, where Numba is loaded already."""


def dispatch(
    formula: Function, kernel: Callable[[], Function], start: int, *, of: int = 0,
    count: Callable[..., int] | None = None, rounded: int | None = None, any_type: bool = False,
    small: Callable[[], Function] | None = None,
) -> Function:  # fmt: skip
    """Let a formula of NumPy's compute small arrays, and a kernel large ones.

    Args:
        formula: what defines the function
        kernel: what gives the kernel, as for `chooser`
        start: the size from which on the kernel is faster
        of: which argument's size counts, and whose precision
        count: what counts instead of a size, as a function of the positional arguments
        rounded: how many of several results are rounded to half precision; by default all
        any_type: whether the kernel takes arrays of every type, half precision as it is
        small: what gives a kernel for small arrays, which computes the formula to the bit, or calls it
    """
    start, calls = kernels_from(start), 0
    choose = chooser(formula, kernel, rounded, any_type)

    def by_size(*args: Any, **options: Any) -> Any:
        x = args[of]
        if x.size >= start or x.itemsize == 2:
            return choose(x, x.size >= start, args, options)
        return few(*args, **options) if options else few(*args)  # the second is sooner

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal few, calls
        calls += 1
        if calls > CALLS_BEFORE_COMPILING["numba" in sys.modules]:
            few = partial(small(), formula)  # type: ignore[misc]
        return formula(*args, **options)

    few = counted if small is not None and COMPILES else formula

    def by_count(*args: Any, **options: Any) -> Any:
        return choose(args[0], count(*args) >= start, args, options)  # type: ignore[misc]

    apply = by_count if count else by_size
    DISPATCHED.append(apply)
    return wraps(formula)(apply)


def chooser(
    formula: Function, kernel: Callable[[], Function], rounded: int | None = None, any_type: bool = False
) -> Function:  # fmt: skip
    """A function `choose(x, large, args, options, out=None)`: by the kernel, if x is large and all arguments are for it.

    Args:
        formula: what computes the rest
        kernel: what gives the kernel, which may return NotImplemented for arguments that it does not take
        rounded: as in `dispatch`
        any_type: as in `dispatch`
    """
    find = cache(kernel)

    def choose(x: Array, large: bool, args: Any, options: Any, out: Array | None = None) -> Any:
        if x.itemsize == 2 and is_half(x) and not any_type:
            result = choose(widened(x), large, [*map(widened, args)], options)
            return put(out, rounded_to(x.dtype, result, rounded))
        if large and type(x) is np.ndarray and (any_type or _is_for_kernels(args, out)):
            result = find()(*args, **options, **({} if out is None else {"out": out}))
            if result is not NotImplemented:
                return result
        return put(out, formula(*args, **options))

    return choose


def _is_for_kernels(args: Sequence[Any], out: Array | None) -> bool:
    """Whether all floating point numbers are of one type that there are kernels for."""
    found = None
    for x in (*args, out):
        if isinstance(x, np.ndarray) and x.dtype.kind in "fcV":
            if found is not None and x.dtype != found:
                return False
            found = x.dtype
    return found is not None and found in KERNEL_TYPES  # NumPy takes None for float64


def put(out: Array | None, result: Any) -> Any:
    """A result, written into an array if one is given."""
    if out is None:
        return result
    out[...] = result
    return out
