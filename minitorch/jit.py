"""Lesson 3: compiling kernels with Numba, once.

Numba's own disk cache does not recognise a loop that was built around a scalar
function (`tensor_map(neg)`) when it meets it again in a new process, and it does not
notice when a function that it compiled in has changed. This one names each file by a
fingerprint of all the code that went into the kernel: the same code is loaded, other
code is compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

# Sums may be regrouped and multiplied-and-added in one step; NaN and infinity stay right.
FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}


def compile_kernel(
    kernel: Callable[..., Any], *parts: Callable[..., Any], parallel: bool = False
) -> Any:
    """Compile a kernel on its first call, or load it from disk if it was compiled before.

    Args:
        kernel: the loop, in the part of Python that Numba compiles
        parts: the plain-Python functions that the kernel calls, compiled by `compile_part`
        parallel: whether `prange` runs on all cores
    """
    compiler = njit(parallel=parallel, fastmath=FAST_MATH, error_model="numpy", nogil=True)
    compiled: Any = compiler(kernel)
    if compiled is kernel:  # NUMBA_DISABLE_JIT is set
        return kernel

    def parallel_diagnostics(signature: Any = None, level: int = 1) -> None:
        fresh = compiler(kernel)  # what is loaded from disk has no diagnostics
        for compiled_for in compiled.signatures if signature is None else [signature]:
            fresh.compile(compiled_for)
        fresh.parallel_diagnostics(level=level)

    compiled._cache = _KernelCache(kernel, _fingerprint(parallel, kernel, *parts))
    compiled.parallel_diagnostics = parallel_diagnostics
    return compiled


@cache
def compile_part(fn: Callable[..., Any]) -> Any:
    """Compile a function for use inside kernels."""
    return njit(fastmath=FAST_MATH, error_model="numpy")(plain(fn))


def plain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function behind a function that may be compiled already."""
    return getattr(fn, "py_func", fn)


class _KernelCache(FunctionCache):
    """Numba's cache with one index per fingerprint."""

    def __init__(self, kernel: Callable[..., Any], fingerprint: str) -> None:
        super().__init__(kernel)
        # One file name per kernel also keeps two processes that compile at the same
        # time from writing each other's kernels.
        name = f"{kernel.__qualname__.replace('<locals>.', '')}-{fingerprint}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, fingerprint)
        self._fingerprint = fingerprint

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple(), self._fingerprint


def _fingerprint(parallel: bool, *functions: Callable[..., Any]) -> str:
    """A hash of the code of functions and of the numbers they refer to by name."""
    digest = hashlib.sha256(repr((parallel, sorted(FAST_MATH))).encode())
    for fn in functions:
        for code in _codes(fn.__code__):
            constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
            globals_ = {n: fn.__globals__.get(n) for n in code.co_names}
            numbers = {n: v for n, v in globals_.items() if isinstance(v, (int, float))}
            digest.update(repr((code.co_code, constants, code.co_names, numbers)).encode())
        cells = [c.cell_contents for c in fn.__closure__ or ()]
        digest.update(repr([v for v in cells if isinstance(v, (int, float))]).encode())
    return digest.hexdigest()[:20]


def _codes(code: CodeType) -> list[CodeType]:
    """A code object and those nested in it."""
    nested = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [code, *(inner for c in nested for inner in _codes(c))]
