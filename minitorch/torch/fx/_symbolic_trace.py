"""Writing a program down as a graph: it is called once, with proxies in the place of its arguments."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

from ..checks import CHECKS
from ..nn.modules.calls import CallInterpreter
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .graph import Graph
from .graph_module import GraphModule
from .node import HERE, Argument
from .proxy import Proxy, TracerBase

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
"""The functions that `wrap` was told of: their names, and the globals that have them."""


class PHBase:
    """A mark in `concrete_args`: an argument that stays one."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function of this module be nodes of their own; it is not traced into.

    Args:
        fn_or_name: the function, or its name in the module that calls `wrap`, as of `len`
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    if frame.f_back.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(frame.f_back.f_globals), name] = frame.f_back.f_globals
    return fn_or_name


def _noted(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose calls with proxies are nodes."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return call


def _find_proxy(*values: Any) -> Proxy | None:
    for value in values:
        if isinstance(value, Proxy):
            return value
        inside = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, (tuple, list))
            else ()
        )
        found = _find_proxy(*inside)
        if found is not None:
            return found
    return None


def _by_place(fn: Any, count: int) -> Callable[..., Any]:
    """A function that takes arguments by place which it took by name, and `*args` and `**kwargs` as values."""
    bound = [fn.__self__] if inspect.ismethod(fn) else []
    fn = fn.__func__ if bound else fn
    code = fn.__code__.replace(
        co_argcount=count + len(bound), co_posonlyargcount=0, co_kwonlyargcount=0,
        co_flags=fn.__code__.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
    )  # fmt: skip
    return functools.partial(
        FunctionType(code, fn.__globals__, fn.__name__, None, fn.__closure__), *bound
    )


class _ModuleCalls(CallInterpreter):
    """Shows calls of modules to a tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def call(self, module: Any, perform: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return self.tracer.call_module(module, perform, args, kwargs)


class Tracer(TracerBase):
    """Traces modules and functions; a subclass may choose which modules are steps of their own.

    Attributes:
        root: the module that is traced, or an empty one beside a function
    """

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (), param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        self._autowrap_modules = autowrap_modules
        self._autowrap_functions = autowrap_functions
        self.module_stack: OrderedDict[str, tuple[str, type]] = OrderedDict()
        self.submodule_paths: dict[Module, str] | None = None
        self._count: dict[str, int] = {}

    # --- What a subclass may change --------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one step: layers of this library are, but for containers."""
        from_here = m.__module__.startswith((f"{HERE}.nn", "torch.nn", "torch.ao.nn"))
        return from_here and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Where a module is in the root."""
        for name, found in self.root.named_modules():
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a module: one step, or the steps of its `forward`."""
        path = self.path_of_module(m)
        before = self.module_stack.copy()
        self.module_stack[path] = (path, type(m))
        try:
            if not self.is_leaf_module(m, path):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", path, args, kwargs)
        finally:
            self.module_stack = before

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name for an attribute of the root that nothing has."""
        i = self._count.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        self._count[prefix] = i
        return f"{prefix}{i}"

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument; the root's tensors are read by name, and others become its attributes."""
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            return self.create_node("get_attr", self._name_of_tensor(a), (), {})
        if isinstance(a, Module):
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _name_of_tensor(self, tensor: Tensor) -> str:
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if value is tensor:
                    return f"{path}.{name}" if path else name
        name = self.get_fresh_qualname("_tensor_constant")
        setattr(self.root, name, tensor)
        return name

    # --- Tracing -----------------------------------------------------------------------------------------------

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """The graph of a module or a function.

        Args:
            root: what to trace
            concrete_args: values of arguments that the graph is for
        """
        is_module = isinstance(root, Module)
        self.root = root if isinstance(root, Module) else Module()
        self.graph = Graph(tracer_cls=type(self))
        own: Any = vars(root).get("forward") if is_module else root
        fn: Any = type(self.root).forward if own is None else own
        run, args = self.create_args_for_root(fn, own is None, concrete_args)
        with self._patched(fn), _ModuleCalls(self):
            result = run(*args)
        returned = getattr(fn, "__annotations__", {}).get("return")
        kind = None if isinstance(returned, str) else returned
        self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        return self.graph

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """A function that takes all arguments by place, `*args` as one, and proxies for them."""
        own = inspect.unwrap(root_fn)
        found = inspect.signature(own).parameters.values()
        late = [
            inspect.Parameter.KEYWORD_ONLY,
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        ]
        parameters = sorted(found, key=lambda p: late.index(p.kind) + 1 if p.kind in late else 0)
        args: list[Any] = [self.root] if is_module else []
        for p in parameters[len(args) :]:
            fixed = {} if concrete_args is None else concrete_args
            if p.name in fixed and fixed[p.name] is not PH:
                args.append(self._concrete(p.name, fixed[p.name]))
                continue
            prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            kind = (
                None if p.annotation is p.empty or isinstance(p.annotation, str) else p.annotation
            )
            default = () if p.default is p.empty else (p.default,)
            args.append(
                self.create_proxy("placeholder", prefix + p.name, default, {}, type_expr=kind)
            )
        return (
            _by_place(own, len(args)) if any(p.kind in late for p in parameters) else root_fn
        ), args

    def _concrete(self, name: str, value: Any) -> Any:
        """An argument with a fixed value; the graph says so, and checks it."""
        if not isinstance(value, (int, float, str, bool, type(None))):
            raise NotImplementedError(
                f"concrete_args: {name} is a {type(value).__name__}; numbers, strings, booleans and None can be fixed"
            )
        given = self.create_proxy("placeholder", f"{name}_1", (), {})
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, message), {})
        else:
            self.create_proxy("call_function", CHECKS["_assert"], (given == value, message), {})
        return value

    @contextmanager
    def _patched(self, fn: Any) -> Iterator[None]:
        """Within `with`, functions that `wrap` was told of, and those of some modules, are nodes."""
        places: list[tuple[dict[str, Any], str]] = [
            (found, name) for (_, name), found in _wrapped.items()
        ]
        for module in self._autowrap_modules:
            places += [
                (vars(module), name)
                for name, f in vars(module).items()
                if callable(f) and not name.startswith("_")
            ]
        own = inspect.unwrap(fn)
        if isinstance(own, FunctionType):
            functions = [f for f in self._autowrap_functions if callable(f)]
            places += [
                (own.__globals__, n)
                for n, f in own.__globals__.items()
                if any(f is g for g in functions)
            ]
        missing = object()
        before = []
        for found, name in places:
            old = found.get(name, missing)
            before.append((found, name, old))
            found[name] = _noted(getattr(builtins, name) if old is missing else old)
        try:
            yield
        finally:
            for found, name, old in reversed(before):
                if old is missing:
                    del found[name]
                else:
                    found[name] = old


def _assert_is_none(value: Any, msg: str) -> None:
    """AssertionError unless a value is None."""
    assert value is None, msg


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module or a function as a module with a graph, which can be read and changed.

    >>> import minitorch.torch as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add

    Args:
        root: what to trace
        concrete_args: values of arguments that the graph is for
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
