"""How many threads compute: one number for the kernels of both floors and for the BLAS.

The first parallel kernel starts Numba's threads. They do not survive a fork, and OpenMP ends
a process that asks for them all the same: a process that is forked after that computes on one
thread. A fork waits until no kernel is being compiled, so that the new process finds no lock
held by a thread that it does not have.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from itertools import product
from threading import RLock
from typing import Any

_count = 0  # 0: not set
_forked = False  # from a process that had started threads
_one_caller = RLock()


def get_num_threads() -> int:
    """How many threads compute: the number set, else the environment's, else one per core."""
    return _count or _default()


def set_num_threads(num: int) -> None:
    """Set how many threads compute, in kernels and in products of matrices, for all callers.

    Kernels split their work into so many tasks; there are never more threads than cores. In a
    process that was forked after threads had started it stays at one.
    """
    global _count
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {num}")
    _count = 1 if _forked else num
    tell_blas()


@cache
def _default() -> int:
    """What the environment says to Numba or to OpenMP, or one thread per core."""
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        number = os.environ.get(name, "").split(",")[0].strip()
        if number.isdecimal() and int(number) > 0:
            return int(number)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# --- BLAS ------------------------------------------------------------------------------

NUMPY, SCIPY = "numpy._core._multiarray_umath", "scipy.linalg._fblas"
"""The modules that use a BLAS, each its own."""


@cache
def blas_of(module: str) -> tuple[Callable[[int], Any], Callable[[], int]] | None:
    """What sets and what tells the threads of a loaded module's OpenBLAS; None if it has another."""
    library = ctypes.CDLL(sys.modules[module].__file__)
    for prefix, suffix in product(("scipy_", ""), ("64_", "")):
        names = [f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("set", "get")]
        if all(hasattr(library, name) for name in names):
            return getattr(library, names[0]), getattr(library, names[1])
    return None


def tell_blas() -> None:
    """Give NumPy's and SciPy's BLAS, as far as they are loaded, the number that was set."""
    for module in (NUMPY, SCIPY) if _count else ():
        if module in sys.modules and (found := blas_of(module)):
            found[0](_count)


@contextmanager
def numpy_on_one_thread() -> Iterator[None]:
    """While several threads ask NumPy's BLAS for products, let each be done by the one that asks."""
    set_threads, get_threads = blas_of(NUMPY) or (lambda _: None, lambda: 1)
    before = get_threads()
    if before > 1:
        set_threads(1)
    try:
        yield
    finally:
        if before > 1:
            set_threads(_count or before)


# --- Numba -----------------------------------------------------------------------------


def running() -> AbstractContextManager[Any]:
    """What to hold while a parallel kernel runs: Numba's work queue takes one caller at a time."""
    return _one_caller if _threading_layer() == "workqueue" else _nothing


_nothing = nullcontext()


@cache
def _threading_layer() -> str:
    """What Numba's threads are made with; starts them."""
    from numba.np.ufunc import parallel

    parallel.get_num_threads()
    return parallel.threading_layer()


def _numba(module: str, name: str) -> Any:
    """Something in a module of Numba, if that is loaded."""
    return getattr(sys.modules.get(f"numba.{module}"), name, None)


# --- Forks -----------------------------------------------------------------------------

_held = ExitStack()
_waited_for: list[Any] = [_one_caller]


def fork_waits_for(lock: Any) -> None:
    """Let forks wait until a lock is free, so that it is free in the new process too."""
    _waited_for.insert(0, lock)


def _before_fork() -> None:
    compiling = _numba("core.compiler_lock", "global_compiler_lock")
    # What is no longer needed is freed under LLVM's lock, by any thread and at any time.
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    for lock in filter(None, (*_waited_for, compiling, getattr(library, "_lock", None))):
        _held.enter_context(lock)


def _after_fork_in_child() -> None:
    global _forked
    _held.close()
    _forked = _forked or bool(_numba("np.ufunc.parallel", "_is_initialized"))
    if _forked:
        set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_held.close, after_in_child=_after_fork_in_child
    )
