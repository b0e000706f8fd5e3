"""How the kernels of this folder are compiled, and on how many cores they run.

Everything here needs Numba, so the files that use it are imported when the first large
array comes along.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numba import config, njit, prange, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ....jit import compile_kernel

EXACT = {"contract"}
"""Products may be added in one step. Nothing is regrouped: range reductions depend on order."""

REGROUPED = {"contract", "reassoc"}
"""Sums may be regrouped as well, so that they run in several lanes."""


def part(fn: Callable[..., Any]) -> Any:
    """Compile arithmetic that kernels call; it stays in the order written."""
    return njit(fastmath=EXACT, error_model="numpy", forceinline=True)(fn)


def step(fn: Callable[..., Any]) -> Any:
    """Compile a longer function that kernels call."""
    return njit(fastmath=EXACT, error_model="numpy")(fn)


def fold(fn: Callable[..., Any]) -> Any:
    """Compile a function that kernels call and that sums along a run of memory."""
    return njit(fastmath=REGROUPED, error_model="numpy")(fn)


def kernel(fn: Callable[..., Any]) -> Any:
    """Compile a kernel for one core, cached on disk by all the code it is made of."""
    return compile_kernel(fn, *dict.fromkeys(_parts(fn)))


def parallel(body: Callable[..., None]) -> Callable[..., None]:
    """Compile a kernel for all cores.

    Args:
        body: a function `body(task, tasks, *args)` that does one of so many tasks

    Returns:
        a function `run(work, *args)` that does all of them: side by side, if the work,
        counted in elements, is worth it
    """
    do = step(body)

    def launch(tasks: int, *args: Any) -> None:
        if tasks == 1:
            do(0, 1, *args)
        else:
            for task in prange(tasks):
                do(np.int64(task), tasks, *args)

    launch.__qualname__ = body.__qualname__
    compiled = compile_kernel(launch, body, *dict.fromkeys(_parts(body)), parallel=True)
    return lambda work, *args: compiled(tasks_for(work), *args)


def _parts(fn: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The functions that a function calls, directly or not."""
    cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    names = [fn.__globals__.get(name) for name in fn.__code__.co_names]
    for found in [*cells, *names]:
        if isinstance(found, Dispatcher):
            yield found.py_func
            yield from _parts(found.py_func)


# --- Kernels that call what they are given ----------------------------------------------------------
# To compile a parallel loop takes a second, to compile a function for it a third of one: where
# many functions share a loop, the loop is compiled once and gets each function's address.


def address_of(compiled: Any, signature: Any) -> int:
    """Where in memory the machine code of a kernel for this signature is."""
    result = compiled.get_compile_result(signature)
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


@cache
def function_at(signature: Any) -> Any:
    """For use inside kernels: turn the address of such a function into something to call."""
    function = types.FunctionType(signature)

    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
            empty = context.get_constant_null(function)
            value: Any = cgutils.create_struct_proxy(function)(context, builder, value=empty)
            value.c_addr = builder.inttoptr(args[0], cgutils.voidptr_t)
            return value._getvalue()

        return function(types.int64), generate

    return at


# --- Cores ------------------------------------------------------------------------------------

PARALLEL = 32_768
"""From this many elements on, a kernel runs on all cores: waking the others costs some microseconds."""

ALL_CORES: int = config.NUMBA_NUM_THREADS  # pyright: ignore[reportAttributeAccessIssue]
_cores = ALL_CORES


def set_cores(count: int) -> None:
    """Let kernels use so many cores."""
    global _cores
    _cores = max(1, min(count, ALL_CORES))


def tasks_for(work: int) -> int:
    """Into how many tasks so many elements are split: one per core, or one in all."""
    return _cores if work >= PARALLEL else 1


# Threads do not survive a fork, and OpenMP stops a process that asks for them all the same:
# processes that were forked run on one core.
os.register_at_fork(after_in_child=lambda: set_cores(1))
