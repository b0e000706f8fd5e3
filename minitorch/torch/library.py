"""Operations of a program's own: `custom_op`, and `torch.ops.package.name`, by which they are called.

    >>> @custom_op("shop::double", mutates_args=())
    ... def double(x: Tensor) -> Tensor:
    ...     return x * 2

After that `torch.ops.shop.double(x)` calls it. Derivatives are what `register_autograd` is given;
without that, they are those of the operations that it is made of.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .aten_functions import aten_function
from .autograd.function import Function
from .autograd.graph import modes
from .interpreters import Update, installed, interpret
from .ops.aten_calls import aten_call
from .ops.record import REGISTRY
from .ops.writes import InPlace
from .tensor import Tensor
from .utils._pytree import tree_leaves

_OPERATIONS: dict[str, CustomOpDef] = {}
_KEYS = {"CPU": "cpu", "CUDA": "cuda"}
"""Names of kinds of devices, as those who register a function for one write them."""


class CustomOpDef:
    """An operation of a program's own: called, it is performed."""

    def __init__(self, name: str, fn: Callable[..., Any] | None = None) -> None:
        self._name = self._qualname = name
        self.__name__ = name.rpartition("::")[2]
        self._kernels: dict[str | None, Callable[..., Any]] = {} if fn is None else {None: fn}
        self._function: type[Function] | None = None
        self.mutates_args: str | Iterable[str] = "unknown"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._name})>"

    def name(self) -> str:
        """The name, with that of its package."""
        return self._name

    @property
    def default(self) -> CustomOpDef:
        """The operation itself: there is one way to call it."""
        return self

    _opoverload = default

    def overloads(self) -> list[str]:
        """The names of the ways to call it."""
        return ["default"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        if self._function is not None and modes.grad and any(t.requires_grad for t in tensors):
            return self._function.apply(*self._all_arguments(tensors, args, kwargs))
        return self._perform(tensors, *args, **kwargs)

    def _all_arguments(self, tensors: list[Tensor], args: Any, kwargs: Any) -> tuple[Any, ...]:
        """What a call passes, in order, with the defaults of what it leaves out."""
        given = inspect.signature(self.kernel(tensors)).bind(*args, **kwargs)
        given.apply_defaults()
        return (*given.args, *given.kwargs.values())

    def _perform(self, tensors: list[Tensor], *args: Any, **kwargs: Any) -> Any:
        kernel = self.kernel(tensors)
        if self.mutates_args == () and installed:  # one operation, whatever it does within
            return interpret(Update(self._name, kernel, ()), args, kwargs)
        return kernel(*args, **kwargs)

    def kernel(self, tensors: list[Tensor]) -> Callable[..., Any]:
        """The function that performs it on the device of these tensors."""
        kind = tensors[0].device.type if tensors else "cpu"
        fn = self._kernels.get(kind) or self._kernels.get(None)
        if fn is None:
            raise NotImplementedError(f"Could not run '{self._name}' with arguments on '{kind}'")
        return fn

    # --- What is known of it ---------------------------------------------------------------

    def register_kernel(self, device_types: Any, func: Callable[..., Any] | None = None, /) -> Any:
        """Let a function perform it on a kind of device; a decorator without a function."""
        kinds = (
            [device_types]
            if isinstance(device_types, str) or device_types is None
            else device_types
        )

        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            self._kernels.update(dict.fromkeys(kinds, fn))
            return fn

        return register if func is None else register(func)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Let a function say what shapes results have: it performs the operation on tensors without memory."""
        self._kernels["meta"] = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give it derivatives.

        Args:
            backward: of a context and the gradients of results, the gradients of arguments
            setup_context: of a context, the arguments and the result, which keeps what backward needs
        """

        def forward(ctx: Any, *args: Any) -> Any:
            tensors = [x for x in tree_leaves(args) if isinstance(x, Tensor)]
            result = self._perform(tensors, *args)
            if setup_context is not None:
                setup_context(ctx=ctx, inputs=args, output=result)
            return result

        names = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        self._function = type(self.__name__, (Function,), names)


# --- Declaring ---------------------------------------------------------------------------------------


def _operation(qualname: Any) -> CustomOpDef:
    """An operation by its name."""
    if isinstance(qualname, CustomOpDef):
        return qualname
    if qualname not in _OPERATIONS:
        raise RuntimeError(f"operator {qualname} does not exist")
    return _OPERATIONS[qualname]


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function an operation; a decorator without a function.

    Args:
        name: of the form package::name
        fn: performs it
        mutates_args: the names of arguments that it writes into
        device_types: where the function can perform it; None: everywhere
        schema: unused, as tags: arguments are passed on as they come
        tags: unused
    """
    if name.count("::") != 1:
        raise ValueError(f"expected a name of the form package::name, but got {name!r}")

    def declare(fn: Callable[..., Any]) -> CustomOpDef:
        made = _OPERATIONS[name] = CustomOpDef(name)
        made.__doc__ = fn.__doc__
        made.mutates_args = mutates_args
        made.register_kernel(device_types, fn)
        return made

    return declare if fn is None else declare(fn)


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Declare an operation that functions are given to later."""
    _OPERATIONS[qualname] = CustomOpDef(qualname)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, **_: Any) -> Any:
    """Let a function say what shapes an operation's results have; a decorator without a function."""
    register = _operation(op).register_fake
    return register if func is None else register(func)


def register_kernel(
    op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, **_: Any
) -> Any:
    """Let a function perform an operation on a kind of device; a decorator without a function."""
    return _operation(op).register_kernel(device_types, func)


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """Give an operation derivatives."""
    _operation(op).register_autograd(backward, setup_context=setup_context)


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Let a function perform an operation on kinds of devices; a decorator without a function.

    Also `impl(library, name, key)`, the older form.
    """
    if isinstance(qualname, Library):
        return lambda fn: (qualname.impl(types, fn, func or ""), fn)[1]
    kinds = None if types == "default" else types
    return _operation(qualname).register_kernel(kinds, func)


class Library:
    """A package of operations."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operation, by the name that its schema begins with."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", **_: Any) -> None:
        """Let a function perform an operation."""
        key = dispatch_key or self.dispatch_key
        name = getattr(op_name, "_name", None) or f"{self.ns}::{op_name}"
        _operation(name).register_kernel("meta" if key == "Meta" else _KEYS.get(key), fn)


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A package whose operations are there within `with` only."""
    before = set(_OPERATIONS)
    try:
        yield Library(ns, kind, dispatch_key)
    finally:
        for name in set(_OPERATIONS) - before:
            del _OPERATIONS[name]


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """Whether an operation does what was said of it, on these arguments (`opcheck.py`)."""
    from .opcheck import check

    return check(_operation(op), args, kwargs or {}, **options)


# --- Calling by name -----------------------------------------------------------------------------------


class Namespace:
    """A package of operations, as `torch.ops` has it."""

    def __init__(self, name: str) -> None:
        self.name = self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        found = _OPERATIONS.get(f"{self.name}::{name}")
        if found is None and self.name == "aten":
            fn = aten_function(name)
            found = None if fn is None else Overloads(f"aten::{name}", fn)
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        setattr(self, name, found)
        return found

    def __iter__(self) -> Iterator[str]:
        return (n.partition("::")[2] for n in _OPERATIONS if n.startswith(self.name + "::"))


class Overload:
    """A way to call one of Torch's own operations, such as `aten.add.Tensor`: one object for each name.

    The arguments decide what is done, so each of them can be called as all others.
    """

    def __init__(self, packet: Overloads, name: str) -> None:
        self.overloadpacket = packet
        self._overloadname = name
        self.__name__ = f"{packet.__name__}.{name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.overloadpacket(*args, **kwargs)

    def name(self) -> str:
        """The name, with that of its package."""
        packet, way = self.overloadpacket.name(), self._overloadname
        return packet if way == "default" else f"{packet}.{way}"

    def __str__(self) -> str:
        return ".".join((*self.overloadpacket.name().split("::"), self._overloadname))

    def __repr__(self) -> str:
        packet = ".".join(self.overloadpacket.name().split("::"))
        return f"<OpOverload(op='{packet}', overload='{self._overloadname}')>"


class Overloads(CustomOpDef):
    """One of Torch's own operations, and the ways to call it, which are made when they are asked for.

    Attributes:
        writes: whether it changes arguments, as all do whose names end with an underscore
    """

    def __init__(self, name: str, fn: Callable[..., Any], writes: bool = False) -> None:
        super().__init__(name, fn)
        self.writes = writes or name.endswith("_")

    @property
    def default(self) -> Overload:
        """The first way to call it."""
        return self.__getattr__("default")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        ways = vars(self).setdefault("_ways", {})
        return ways.setdefault(name, Overload(self, name))


def performing(op: Any) -> Callable[..., Any]:
    """A function that performs what is no record: an in-place form, or an update."""
    return lambda *inputs, **params: interpret(op, inputs, params)


class Records(Namespace):
    """The records of this library that are none of Torch's operations, by their names."""

    def __init__(self) -> None:
        super().__init__("minitorch")

    def __getattr__(self, name: str) -> Any:
        op = REGISTRY.get(name.removesuffix("_"))
        if op is None:
            raise AttributeError(f"'_OpNamespace' 'minitorch' object has no attribute '{name}'")
        return self.of(name, op if name == op.name else performing(InPlace.of(op)))

    def of(self, name: str, perform: Callable[..., Any], writes: bool = False) -> Overloads:
        """The operation of a name; made, if it is asked for the first time."""
        return vars(self).setdefault(name, Overloads(f"minitorch::{name}", perform, writes))


_RECORDS = Records()
_NAMESPACES = {"aten": Namespace("aten"), "minitorch": _RECORDS}


def called(
    op: Any, inputs: Any, params: dict[str, Any]
) -> tuple[Overload, tuple[Any, ...], dict[str, Any]]:
    """An operation at the door as a call: which of `torch.ops`, with which arguments."""
    found = aten_call(op, inputs, params)
    if found is None:
        return (
            _RECORDS.of(op.name, performing(op), bool(op.writes)).default,
            tuple(inputs),
            dict(params),
        )
    name, way = found[0].split(".")
    return getattr(getattr(_NAMESPACES["aten"], name), way), *found[1:]


def namespace(name: str) -> Namespace:
    """A package of operations; AttributeError if there is none."""
    if name not in _NAMESPACES:
        if not any(qualname.startswith(f"{name}::") for qualname in _OPERATIONS):
            raise AttributeError(f"torch.ops has no package {name!r}")
        _NAMESPACES[name] = Namespace(name)
    return _NAMESPACES[name]
