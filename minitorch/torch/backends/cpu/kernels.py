"""How the kernels of this folder are compiled, and how they run on all cores.

A kernel is a function `body(task, tasks, *args)` that does one of so many tasks. Numba could
compile each with a parallel loop around it, but that loop takes four times as long to compile
as the body. So there is one parallel loop for all: it is given the address of a body and the
address of its arguments.

Everything here needs Numba, so the files that use it are imported when the first large
array comes along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import (
    carray,  # pyright: ignore[reportPrivateImportUsage]
    config,
    int64,
    prange,
    typeof,
    types,
    void,
)
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from ....jit import compile_kernel, compile_part
from ....threads import get_num_threads, running

# --- Compiling ------------------------------------------------------------------------------------

EXACT = ("contract",)
"""Products may be added in one step. Nothing is regrouped: range reductions depend on order."""

REGROUPED = ("contract", "reassoc")
"""Sums may be regrouped as well, so that they run in several lanes."""

INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""How functions are compiled that only compiled functions call."""


def part(fn: Callable[..., Any]) -> Any:
    """Compile arithmetic that kernels call; it stays in the order written."""
    return compile_part(fn, EXACT, forceinline=True, **INSIDE)


def step(fn: Callable[..., Any]) -> Any:
    """Compile a longer function that kernels call."""
    return compile_part(fn, EXACT, **INSIDE)


def fold(fn: Callable[..., Any]) -> Any:
    """Compile a function that kernels call and that sums along a run of memory."""
    return compile_part(fn, REGROUPED, **INSIDE)


def compile_for(fn: Callable[..., Any], signature: Any) -> Any:
    """Compile a function for one signature."""
    compiled = compile_kernel(fn, fastmath=EXACT)
    compiled.compile(signature)
    compiled.disable_compile()
    return compiled


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
def _launcher() -> int:
    """The address of the parallel loop."""

    def launch(address: int, arguments: int, tasks: int) -> None:
        body = _task_at(address)
        for task in prange(tasks):
            body(arguments, np.int64(task), tasks)

    return address_of(compile_kernel(launch, parallel=True), LAUNCH)


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

    compiled = compile_for(task, TASK)
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
        launch = _launcher()
        with running():
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


def tasks_for(work: int) -> int:
    """Into how many tasks so many elements are split: one per thread, or one in all."""
    return get_num_threads() if work >= PARALLEL else 1
