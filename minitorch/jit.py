"""Lesson 3: compiling kernels with Numba, once.

Numba's own disk cache does not recognise a loop that was built around a scalar
function (`tensor_map(neg)`) when it meets it again in a new process, and it does not
notice when a function that it compiled in has changed. The one in `kernel_cache` names
each file by a fingerprint of all the code that a kernel reaches: the same code is loaded,
other code is compiled.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numba
from numba import config, njit
from numba.core.registry import CPUDispatcher
from numba.np import linalg

from . import threads
from .kernel_cache import KernelCache

FAST_MATH = ("contract", "reassoc", "nsz", "arcp")
"""Sums may be regrouped and multiplied-and-added in one step; NaN and infinity stay right."""


def compile_kernel(
    kernel: Callable[..., Any],
    *,
    parallel: bool = False,
    fastmath: Collection[str] = FAST_MATH,
    **options: Any,
) -> Any:
    """Compile a kernel on its first call, or load it from disk if it was compiled before.

    Args:
        kernel: the loop, in the part of Python that Numba compiles
        parallel: whether `prange` runs on several threads
        fastmath: what the arithmetic may be turned into for speed
        options: more of Numba's
    """
    compiler = njit(
        parallel=parallel, fastmath=set(fastmath), error_model="numpy", nogil=True, **options
    )
    compiled: Any = compiler(kernel)
    if compiled is kernel:  # NUMBA_DISABLE_JIT is set
        return kernel

    compiled._cache = KernelCache(compiled)
    compiled.__class__ = _Kernel
    if not parallel:
        return compiled

    def parallel_diagnostics(signature: Any = None, level: int = 1) -> None:
        fresh = compiler(kernel)  # what is loaded from disk has no diagnostics
        known = compiled.signatures or compiled.on_one_thread.signatures
        for compiled_for in known if signature is None else [signature]:
            fresh.compile(compiled_for)
        fresh.parallel_diagnostics(level=level)

    compiled.__class__ = _ParallelKernel
    compiled.on_one_thread = compile_kernel(kernel, fastmath=fastmath)
    compiled.parallel_diagnostics = parallel_diagnostics
    return compiled


class _Kernel(CPUDispatcher):
    """A kernel that is compiled to its end, also when Ctrl-C is pressed meanwhile."""

    def compile(self, sig: Any) -> Any:
        with interrupts_wait(), unwatched():
            load_array_functions()
            return super().compile(sig)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Hear Ctrl-C when the block has ended.

    LLVM calls back into Python when it has compiled something. An exception there is printed and
    forgotten, and with it the KeyboardInterrupt of whoever pressed Ctrl-C in the seconds before.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[Any] = []
    signal.signal(signal.SIGINT, lambda *arguments: heard.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if heard:
            usual(*heard[0])


@contextmanager
def unwatched() -> Iterator[None]:
    """Let no Python function that watches calls see the block: a compiler makes millions of them."""
    watching = sys.getprofile()
    if not callable(watching):
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watching)


@cache
def load_array_functions() -> None:
    """Load Numba's functions of arrays without SciPy's linear algebra.

    They import all of it just to see whether it is there. Functions that multiply matrices look again
    when they are compiled.
    """
    if find_spec("scipy") is None:
        return
    looks = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = looks


class _ParallelKernel(_Kernel):
    """A kernel that runs on as many threads as `threads` says."""

    on_one_thread: Any

    def __call__(self, *args: Any) -> Any:
        count = threads.get_num_threads()
        if count == 1:
            return self.on_one_thread(*args)
        with threads.running():
            if count >= config.NUMBA_NUM_THREADS:  # pyright: ignore[reportAttributeAccessIssue]
                return super().__call__(*args)
            most = numba.get_num_threads()
            numba.set_num_threads(min(most, count))
            try:
                return super().__call__(*args)
            finally:
                numba.set_num_threads(most)


def compile_part(
    fn: Callable[..., Any], fastmath: Collection[str] = FAST_MATH, **options: Any
) -> Any:
    """Compile a function for use inside kernels; `options` are Numba's."""
    return njit(fastmath=set(fastmath), error_model="numpy", **options)(plain(fn))


def plain(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function behind a function that may be compiled already."""
    return getattr(fn, "py_func", fn)
