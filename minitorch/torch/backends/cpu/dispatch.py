"""How each function of this folder chooses between NumPy and a kernel.

A function is written as a formula of NumPy arrays, which defines it. `dispatch` adds the rest:
half precision is computed in float32 and rounded once; large arrays of float32 or float64 go to
the kernel, a function of the same name and arguments in the module `<this one>_kernels`, which is
imported (and Numba with it) when it is first needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any

import numpy as np

from ..interface import ARRAYS, as_array

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


def is_half(x: Array) -> bool:
    """Whether an array is of float16 or bfloat16, which is computed in float32 and rounded once."""
    return x.dtype.itemsize == 2 and x.dtype.kind in "fV"


def widen(x: Any) -> Any:
    """An array of half precision as float32, anything else as it is."""
    return x.astype(np.float32) if type(x) in ARRAYS and is_half(x) else x


def dispatch(
    size: int | None, *, small: bool = False, of: int | None = 0, count: Callable[..., int] | None = None,
    kernel: Callable[[], Function] | None = None, rounded: int | None = None, any_type: bool = False,
) -> Callable[[Function], Function]:  # fmt: skip
    """Let a NumPy formula compute small arrays, and a kernel large ones.

    Args:
        size: from which on the kernel is faster; None where there is no kernel
        small: whether the kernel, where Numba is loaded already, is faster at any size. The first call
            decides for all that follow, so that equal arguments have equal results
        of: which argument's size counts, and whose precision; None for the largest array
        count: what counts instead of a size, as a function of the positional arguments
        kernel: what gives the kernel; by default it is looked up by the formula's name. It may
            return NotImplemented for arguments that it does not take
        rounded: how many of several results are rounded to half precision; by default all
        any_type: whether the kernel takes arrays of every type, half precision as it is
    """
    start = sys.maxsize if size is None else kernels_from(size)

    def decorate(formula: Function) -> Function:
        find = cache(kernel or _kernel_of(formula))
        undecided = small

        def by_size(*args: Any, **options: Any) -> Any:
            nonlocal start, undecided
            if undecided:
                undecided = False
                start = kernels_from(1) if "numba" in sys.modules else start
            x = args[of]  # type: ignore[index]
            if x.size >= start or x.itemsize == 2:
                return choose(x, x.size, args, options)
            return formula(*args, **options)

        def by_count(*args: Any, **options: Any) -> Any:
            number = count(*args)  # type: ignore[misc]
            if number >= start or args[0].itemsize == 2:
                return choose(args[0], number, args, options)
            return formula(*args, **options)

        def by_largest(*args: Any, out: Array | None = None) -> Any:
            for x in args:
                if isinstance(x, np.ndarray) and (x.size >= start or x.itemsize == 2):
                    arrays = [v for v in args if isinstance(v, np.ndarray)]
                    return choose(arrays[0], max(v.size for v in arrays), args, {"out": out})
            result = formula(*args)
            return result if out is None else _write(out, result)

        def choose(x: Array, size: int, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
            if x.itemsize == 2 and is_half(x) and not any_type:
                out = options.pop("out", None)
                result = _round(apply(*map(widen, args), **options), x.dtype, rounded)
                return result if out is None else _write(out, result)
            if size >= start and (any_type or _is_for_kernels(args, options.get("out"))):
                result = find()(*args, **options)
                if result is not NotImplemented:
                    return result
            out = options.pop("out", None)
            result = formula(*args, **options)
            return result if out is None else _write(out, result)

        apply = by_count if count else by_largest if of is None else by_size
        DISPATCHED.append(apply)
        return wraps(formula)(apply)

    return decorate


def _kernel_of(formula: Function) -> Callable[[], Function]:
    """What finds the function of the same name in the module of kernels."""
    return lambda: getattr(import_module(f"{formula.__module__}_kernels"), formula.__name__)


def _is_for_kernels(args: tuple[Any, ...], out: Array | None) -> bool:
    """Whether all floating point numbers are of one type that there are kernels for."""
    found = None
    for x in (*args, out):
        if isinstance(x, np.ndarray) and x.dtype.kind in "fcV":
            if found is not None and x.dtype != found:
                return False
            found = x.dtype
    return found in KERNEL_TYPES


def _round(result: Any, kind: Any, count: int | None) -> Any:
    """What was computed in float32 as half precision: a single result, or the first of several."""
    if isinstance(result, tuple):
        return tuple(_round(v, kind, None) for v in result[:count]) + result[len(result[:count]) :]
    wide = getattr(result, "dtype", None) == np.float32
    return as_array(result).astype(kind) if wide else result


def _write(out: Array, result: Array) -> Array:
    out[...] = result
    return out
