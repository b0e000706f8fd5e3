"""How the kernels of this folder are compiled, and how they run on all cores.

A kernel is a function `body(task, tasks, *args)` that does one of so many tasks. Numba could
compile each with a parallel loop around it, but that loop takes four times as long to compile
as the body. So there is one parallel loop for all: it is given the address of a body and the
address of its arguments.

Everything here needs Numba, so the files that use it are imported when the first large
array comes along.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numba import (
    carray,  # pyright: ignore[reportPrivateImportUsage]
    config,
    get_num_threads,
    int64,
    njit,
    prange,
    typeof,
    types,
    void,
)
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype
from numba.np.ufunc.parallel import threading_layer

from ....jit import compile_kernel

# --- Compiling ------------------------------------------------------------------------------------

EXACT = {"contract"}
"""Products may be added in one step. Nothing is regrouped: range reductions depend on order."""

REGROUPED = {"contract", "reassoc"}
"""Sums may be regrouped as well, so that they run in several lanes."""


INSIDE = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""How functions are compiled that only compiled functions call."""


def part(fn: Callable[..., Any]) -> Any:
    """Compile arithmetic that kernels call; it stays in the order written."""
    return njit(fastmath=EXACT, forceinline=True, **INSIDE)(fn)


def step(fn: Callable[..., Any]) -> Any:
    """Compile a longer function that kernels call."""
    return njit(fastmath=EXACT, **INSIDE)(fn)


def fold(fn: Callable[..., Any]) -> Any:
    """Compile a function that kernels call and that sums along a run of memory."""
    return njit(fastmath=REGROUPED, **INSIDE)(fn)


def compile_for(fn: Callable[..., Any], signature: Any, about: Any = None) -> Any:
    """Compile a function for one signature, cached on disk.

    The cache knows it again by all the code it is made of, by the types and constants that
    this code refers to, and by what it is about.
    """
    functions = list(dict.fromkeys(_functions(fn)))
    values = [v for f in functions for v in _values(f) if isinstance(v, (type, np.generic))]
    compiled = compile_kernel(fn, *functions[1:], _mark(repr((values, about))))
    compiled.targetoptions["fastmath"] = EXACT
    compiled.compile(signature)
    compiled.disable_compile()
    return compiled


def _functions(fn: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A function and those it calls, directly or not."""
    yield fn
    for value in _values(fn):
        if isinstance(value, Dispatcher):
            yield from _functions(value.py_func)


def _values(fn: Callable[..., Any]) -> list[Any]:
    """What a function refers to by name."""
    cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    return cells + [fn.__globals__.get(name) for name in fn.__code__.co_names]


def _mark(text: str) -> Callable[[], int]:
    """A function that differs, in the eyes of the cache, where the text does."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest())
    return lambda: number


# --- Addresses ----------------------------------------------------------------------------------------


def address_of(compiled: Any, signature: Any) -> int:
    """Where in memory the machine code of a compiled function is."""
    result = compiled.get_compile_result(signature)
    return result.library.get_pointer_to_function(result.fndesc.llvm_cfunc_wrapper_name)


@cache
def function_at(signature: Any) -> Any:
    """For use in kernels: turn the address of a function with this signature into something to call."""
    function = types.FunctionType(signature)

    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
            empty = context.get_constant_null(function)
            value: Any = cgutils.create_struct_proxy(function)(context, builder, value=empty)
            value.c_addr = builder.inttoptr(args[0], cgutils.voidptr_t)
            return value._getvalue()

        return function(int64), generate

    return at


@cache
def run_at(real: Any) -> Any:
    """For use in kernels: the array of so many numbers at an address."""
    number = from_dtype(np.dtype(real))

    @intrinsic
    def pointer_at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(number)(int64), generate

    @part
    def run(address: int, count: int) -> Any:
        return carray(pointer_at(address), (count,))  # pyright: ignore[reportCallIssue]

    return run


def _copying(typing_context: Any, value: Any) -> Any:
    """The address of a copy of a value; it lives as long as the function that asked."""

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        place = cgutils.alloca_once_value(builder, args[0])
        return builder.ptrtoint(place, context.get_value_type(int64))

    return int64(value), generate


_address_of_copy: Any = intrinsic(_copying)


def _value_at(kind: Any) -> Any:
    """For use in kernels: the value of this type at an address."""

    @intrinsic
    def value_at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
            place = builder.inttoptr(args[0], context.get_value_type(kind).as_pointer())
            return impl_ret_borrowed(context, builder, kind, builder.load(place))

        return kind(int64), generate

    return value_at


# --- The parallel loop -----------------------------------------------------------------------------------

TASK = LAUNCH = void(int64, int64, int64)
_task_at = _launch_at = function_at(TASK)


@cache
def _launcher() -> tuple[int, AbstractContextManager[Any]]:
    """The address of the parallel loop, and what to hold while it runs."""

    def launch(address: int, arguments: int, tasks: int) -> None:
        body = _task_at(address)
        for task in prange(tasks):
            body(arguments, np.int64(task), tasks)

    compiled = compile_kernel(launch, parallel=True)
    address = address_of(compiled, LAUNCH)
    get_num_threads()  # starts the threads
    alone = threading_layer() == "workqueue"  # which takes one caller at a time
    return address, Lock() if alone else nullcontext()


def _tuple_of(kinds: tuple[Any, ...]) -> Any:
    return types.BaseTuple.from_types(kinds)


@cache
def _caller(kinds: tuple[Any, ...]) -> tuple[Any, int]:
    """How kernels with arguments of these types are called.

    Returns:
        a function `enter(launch, task, tasks, (body, args))`, and the address of the `task`
        that it, or the parallel loop, is to do
    """
    arguments = _tuple_of(kinds)
    everything = types.Tuple((int64, arguments))
    value_at, body_at = _value_at(everything), function_at(void(int64, int64, *kinds))

    def task(address: int, number: int, count: int) -> None:
        body, args = value_at(address)
        body_at(body)(number, count, *args)

    def enter(launch: int, task: int, tasks: int, everything: Any) -> None:
        address = _address_of_copy(everything)
        if tasks == 1:
            _task_at(task)(address, 0, 1)
        else:
            _launch_at(launch)(task, address, tasks)

    compiled = compile_for(task, TASK, about=kinds)
    return compile_for(enter, void(int64, int64, int64, everything)), address_of(compiled, TASK)


def parallel(body: Callable[..., None]) -> Callable[..., None]:
    """Make a kernel.

    Args:
        body: a function `body(task, tasks, *args)` that does one of so many tasks

    Returns:
        a function `run(work, *args)` that does all: side by side, if the work, counted in
        elements, is worth it. It is compiled for the types of its first arguments and
        refuses others with a TypeError.
    """
    if config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        return lambda work, *args: body(0, 1, *args)

    known: list[Any] = []

    def learn(args: tuple[Any, ...]) -> None:
        kinds = tuple(typeof(usable(v)) for v in args)
        signature = void(int64, int64, *kinds)
        address = address_of(compile_for(body, signature), signature)
        known[:] = (*_caller(kinds), address)

    def run(work: int, *args: Any) -> None:
        if not known:
            learn(args)
        tasks = tasks_for(work)
        try:
            start(tasks, args)
        except TypeError:  # perhaps some array is read-only
            start(tasks, tuple(map(usable, args)))

    def start(tasks: int, args: tuple[Any, ...]) -> None:
        enter, task, address = known
        if tasks == 1:
            enter(0, task, 1, (address, args))
            return
        launch, turn = _launcher()
        with turn:
            enter(launch, task, tasks, (address, args))

    return run


def usable(x: Any) -> Any:
    """What kernels take for an argument: an array that is aligned and writable, if only by name."""
    if not isinstance(x, np.ndarray) or (x.flags.aligned and x.flags.writeable):
        return x
    if not x.flags.aligned:
        return x.copy()
    return np.asarray(_Writable(x))


class _Writable:
    """An array's memory, presented to NumPy as writable; kernels only read from it."""

    def __init__(self, x: Any) -> None:
        self.owner = x
        address = x.__array_interface__["data"][0]
        self.__array_interface__ = {**x.__array_interface__, "data": (address, False)}


# --- Cores -----------------------------------------------------------------------------------------------

PARALLEL = 131_072
"""From this many elements on, a kernel runs on all cores: waking the others can cost 50 microseconds."""

PRODUCTS = 10
"""How many multiplications of a product of matrices take as long as what most kernels do for an element."""

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
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=lambda: set_cores(1))
