"""How the kernels of this folder are compiled, and how they run on all cores.

A kernel is a Python function `body(task, tasks, *args)` that does one of so many tasks. `kernel`
compiles it, for the type of its first argument, when it first meets that type:

* literals such as 0.0 are of that type (Numba would take them for float64)
* functions of this package that it calls are compiled with it, for the same type; `inline` and
  `reduction` say how
* what `by_type` made is replaced by its form for that type

Numba could compile each kernel with a parallel loop around it, but that loop takes four times as
long to compile as the body. So there is one parallel loop for all: it is given the address of a
body and the address of its arguments.

Everything here needs Numba, so the files that use it are imported when the first large
array comes along.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from types import FunctionType
from typing import Any

import numpy as np
from numba import int64, prange, typeof, types, void
from numba.core import cgutils, ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.imputils import impl_ret_borrowed
from numba.core.untyped_passes import FixupArgs
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype

from ....jit import compile_kernel, compile_part
from ....threads import get_num_threads, running
from . import primitives
from .dispatch import Function
from .primitives import FLOAT64, PRIMITIVES

# --- Compiling ------------------------------------------------------------------------------------

EXACT = ("contract",)
"""Products may be added in one step. Nothing is regrouped: range reductions depend on order."""

REGROUPED = ("contract", "reassoc")
"""Sums may be regrouped as well, so that they run in several lanes."""

INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""How functions are compiled that only compiled functions call."""

_KERNELS = __name__.rpartition(".")[0]
_PACKAGE = _KERNELS.partition(".backends")[0]
_inlined: set[Any] = set()
_reductions: set[Any] = set()


def inline(fn: Callable[..., Any]) -> Any:
    """Mark a function that is to become part of the kernels that call it."""
    _inlined.add(fn)
    return fn


def reduction(fn: Callable[..., Any]) -> Any:
    """Mark a function that sums along contiguous memory, in any order."""
    _reductions.add(fn)
    return fn


class by_type:  # noqa: N801
    """Something that kernels use and that is made for each type: a function of the type gives it."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.make = make

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.make.__name__} is for kernels only")


def scalar_function(fn: Function) -> Any:
    """For use in kernels: a scalar function, compiled."""
    own = PRIMITIVES[fn].body if fn in PRIMITIVES else fn
    return by_type(lambda real: compiled(own, real))


number: Any = by_type(lambda real: real)
"""For use in kernels: a number as one of the kernel's type."""


@cache
def compiled(fn: Any, real: Any) -> Any:
    """A function that kernels call, compiled for numbers of a type."""
    if real is np.float64:
        fn = FLOAT64.get(fn, fn)
    if not isinstance(fn, FunctionType):
        return fn
    if _is_scalar(fn) or fn.__module__ == primitives.__name__ or fn in _inlined:
        return compile_part(
            fn, EXACT, forceinline=True, **INSIDE, pipeline_class=for_type(fn, real)
        )
    flags = REGROUPED if fn in _reductions else EXACT
    return compile_part(fn, flags, **INSIDE, pipeline_class=for_type(fn, real))


def compile_for(fn: Callable[..., Any], signature: Any, real: Any = None) -> Any:
    """Compile a function for one signature, and for numbers of a type if one is given."""
    made = compile_kernel(fn, fastmath=EXACT, pipeline_class=real and for_type(fn, real))
    made.compile(signature)
    made.disable_compile()
    return made


def from_source(source: str, **names: Any) -> Any:
    """A function for kernels from its source, `def f(...): ...`, and what that names."""
    around = {"__name__": __name__, "np": np, **names}
    exec(compile(source, "<kernel>", "exec"), around)
    return around[source[4 : source.index("(")]]


def for_type(fn: Any, real: Any) -> type[CompilerBase]:
    """What compiles a function for numbers of one type: its literals, and what it calls, are of that type."""
    kinds = (
        () if not issubclass(real, np.floating) else (float, int) if _is_scalar(fn) else (float,)
    )

    def convert(value: Any) -> Any:
        return _literal(value, kinds, real)

    around = {name: value for name, value in fn.__globals__.items() if value is not fn}
    known = {name: around[name] for name in fn.__code__.co_names if name in around}
    known |= zip(
        fn.__code__.co_freevars, (c.cell_contents for c in fn.__closure__ or ()), strict=True
    )
    names = {name: _for_type(value, real) for name, value in known.items()}
    if _is_scalar(fn):
        names = {name: convert(value) for name, value in names.items()}

    class Compiler(CompilerBase):
        literal, known_as = staticmethod(convert), (real, names)

        def define_pipelines(self) -> list[Any]:
            passes: Any = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(_ForType, FixupArgs)
            passes.finalize()
            return [passes]

    return Compiler


@register_pass(mutates_CFG=False, analysis_only=False)
class _ForType(FunctionPass):
    """A pass of Numba's compiler that puts what a type needs in the place of literals and names."""

    _name = "for_type"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Look at all assignments."""
        _, names = state.pipeline.known_as
        for block in state.func_ir.blocks.values():
            for step in block.find_insts(ir.Assign):
                found = step.value
                if isinstance(found, ir.Const):
                    found.value = state.pipeline.literal(found.value)
                elif isinstance(found, (ir.Global, ir.FreeVar)) and found.name in names:
                    found.value = names[found.name]
        return True


def _is_scalar(fn: FunctionType) -> bool:
    """Whether a function is a scalar function, in which whole numbers too are of the type."""
    return not fn.__module__.startswith(_KERNELS)


def _literal(value: Any, kinds: tuple[type, ...], real: Any) -> Any:
    """A constant, or a tuple of them, as a number of a type if it is of one of these kinds."""
    if type(value) is tuple:
        return tuple(_literal(v, kinds, real) for v in value)
    return real(value) if type(value) in kinds else value


def _for_type(value: Any, real: Any) -> Any:
    if isinstance(value, by_type):
        return value.make(real)
    if callable(value) and value in PRIMITIVES:
        return compiled(PRIMITIVES[value].body, real)
    if isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE):
        return compiled(value, real)
    return value


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
    """A function `(address, count)`: the array of `count` contiguous numbers of a type at an address."""
    number = from_dtype(np.dtype(real))

    @intrinsic
    def run(typing_context: Any, address: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            start, n = args
            array = context.make_array(signature.return_type)(context, builder)
            element = context.get_data_type(number)
            size = context.get_constant(types.intp, context.get_abi_sizeof(element))
            data = builder.inttoptr(start, element.as_pointer())
            populate_array(array, data, [n], [size], size, None)
            return array._getvalue()

        return types.Array(number, 1, "C")(int64, int64), generate

    return run


numbers_at: Any = by_type(run_at)
"""For use in kernels, `numbers_at(address, count)`: the array of `count` contiguous numbers at an address."""


def _copying(typing_context: Any, value: Any) -> Any:
    """The address of a copy of a value; it lives as long as the function that asked."""

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        place = cgutils.alloca_once_value(builder, args[0])
        return builder.ptrtoint(place, context.get_value_type(int64))

    return int64(value), generate


_address_of_copy: Any = intrinsic(_copying)


def _borrowing(typing_context: Any, value: Any) -> Any:
    """The same arrays, without a count of who uses them: cores that count slices of one array wait for each other."""

    def without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            parts = enumerate(kind.types)  # pyright: ignore[reportAttributeAccessIssue]
            made = [without_owner(context, builder, k, builder.extract_value(value, i)) for i, k in parts]  # fmt: skip
            return context.make_tuple(builder, kind, made)
        if not isinstance(kind, types.Array):
            return value
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = array.meminfo.type(None), array.parent.type(None)
        return array._getvalue()

    def generate(context: Any, builder: Any, _: Any, args: Any) -> Any:
        return without_owner(context, builder, value, args[0])

    return value(value), generate


_borrowed: Any = intrinsic(_borrowing)


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


@cache
def _caller(kinds: tuple[Any, ...]) -> tuple[Any, int]:
    """How kernels with arguments of these types are called.

    Returns:
        a function `enter(launch, task, tasks, (body, args))`, and the address of the `task`
        that the parallel loop is to do
    """
    everything = types.Tuple((int64, types.BaseTuple.from_types(kinds)))
    value_at, body_at = _value_at(everything), function_at(void(int64, int64, *kinds))

    def task(address: int, number: int, count: int) -> None:
        body, args = value_at(address)
        body_at(body)(number, count, *args)

    def enter(launch: int, task: int, tasks: int, everything: Any) -> None:
        _launch_at(launch)(task, _address_of_copy(everything), tasks)

    compiled = compile_for(task, TASK)
    return compile_for(enter, void(int64, int64, int64, everything)), address_of(compiled, TASK)


def kernel(body: Callable[..., None]) -> Callable[..., None]:
    """Make a kernel.

    Args:
        body: a function `body(task, tasks, *args)` that does one of so many tasks

    Returns:
        a function `run(work, *args)` that does all: side by side, if the work, counted in
        elements, is worth it. For each type of the first argument it is compiled once, for the
        types that the other arguments then have; others are refused with a TypeError.
    """
    known: dict[Any, _Compiled] = {}

    def learn(args: tuple[Any, ...]) -> _Compiled:
        kinds = tuple(typeof(usable(v)) for v in args)
        known[args[0].dtype] = made = _Compiled(body, args[0].dtype.type, kinds)
        return made

    def run(work: int, *args: Any) -> None:
        made = known.get(args[0].dtype) or learn(args)
        tasks = tasks_for(work)
        try:
            made.run(tasks, args)
        except TypeError:  # perhaps some array is read-only
            made.run(tasks, tuple(map(usable, args)))

    vars(run)["body"] = body
    return run


def body_of(run: Callable[..., None]) -> Any:
    """The function that a kernel was made of, for use in kernels."""
    return vars(run)["body"]


class _Compiled:
    """A kernel for one type."""

    def __init__(self, body: Callable[..., None], real: Any, kinds: tuple[Any, ...]) -> None:
        self.kinds, self.signature = kinds, void(int64, int64, *kinds)
        names = [f"x_{i}" for i in range(len(kinds))]
        entry = from_source(
            f"def {body.__name__}(task, tasks, {', '.join(names)}):\n"
            f"    body(task, tasks, {', '.join(f'borrowed({n})' for n in names)})\n",
            body=body, borrowed=_borrowed,
        )  # fmt: skip
        self.body = compile_for(entry, self.signature, real)

    @cached_property
    def parallel(self) -> tuple[Any, int, int]:
        """What enters the parallel loop, its task, and the body's address."""
        return (*_caller(self.kinds), address_of(self.body, self.signature))

    def run(self, tasks: int, args: tuple[Any, ...]) -> None:
        """Do all tasks, side by side; a single one right away."""
        if tasks == 1:
            self.body(0, 1, *args)
            return
        launch = _launcher()
        enter, address, body = self.parallel
        with running():
            enter(launch, address, tasks, (body, args))


@inline
def share(task: Any, tasks: Any, count: Any) -> Any:
    """The first and the last of `count` things that belong to a task."""
    return task * count // tasks, (task + 1) * count // tasks


def over_rows(shared: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a kernel of a function that does one row.

    The kernel takes arrays of as many rows each, of which the function gets one row, or of 1-d arrays one number;
    so many last arguments are `shared` by all rows.
    """

    def make(body: Callable[..., None]) -> Callable[..., None]:
        names = _arguments(body)
        given = [n if n in names[len(names) - shared :] else f"{n}[r]" for n in names]
        return kernel(from_source(
            f"def {body.__name__}(task, tasks, {', '.join(names)}):\n"
            f"    first, last = share(task, tasks, len({names[0]}))\n"
            f"    for r in range(first, last):\n"
            f"        body({', '.join(given)})\n",
            share=share, body=body if body in _reductions else inline(body),
        ))  # fmt: skip

    return make


COLUMNS = 256
"""How many columns are taken side by side."""


def over_columns(body: Callable[..., None]) -> Callable[..., None]:
    """Make a kernel of a function that does a few columns, side by side.

    The kernel takes arrays of shape (before, along, after), or (before, after). The function is given
    (along, after) or (after) of each, the first column that it is to do, and how many.
    """
    names = _arguments(body)[:-2]
    return kernel(from_source(
        f"def {body.__name__}(task, tasks, {', '.join(names)}):\n"
        f"    after = {names[0]}.shape[2]\n"
        f"    blocks = (after + COLUMNS - 1) // COLUMNS\n"
        f"    first, last = share(task, tasks, len({names[0]}) * blocks)\n"
        f"    for unit in range(first, last):\n"
        f"        b, c = unit // blocks, unit % blocks * COLUMNS\n"
        f"        body({', '.join(f'{n}[b]' for n in names)}, c, min(COLUMNS, after - c))\n",
        share=share, body=inline(body), COLUMNS=COLUMNS,
    ))  # fmt: skip


def _arguments(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments."""
    code = fn.__code__
    return code.co_varnames[: code.co_argcount]


def usable(x: Any) -> Any:
    """What kernels take for an argument: an array that is aligned and writable, if only by name."""
    if isinstance(x, tuple):
        return tuple(map(usable, x))
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
