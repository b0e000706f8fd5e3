"""Values that are not there yet: a proxy notes what is done to it as nodes of a graph.

Functions of this library leave calls with proxies to them (`__torch_function__`); operators and
methods are theirs by name. What a program needs to know at once, such as whether a value is true,
is an error.
"""

from __future__ import annotations

import dis
import inspect
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ..device import device
from ..dtypes import dtype
from ..environment import layout, memory_format
from ..nn.parameter import Parameter
from ..overrides import is_tensor_method_or_property
from ..tensor import Tensor
from .codegen import MAGIC, REFLECTABLE
from .graph import Graph
from .node import Argument, Node, Target, map_aggregate

BASE_TYPES = (
    str, int, float, bool, complex, dtype, Tensor, device, memory_format, layout, type(None),
    type(...),
)  # fmt: skip
"""Values that may be arguments of nodes as they are."""


class TraceError(ValueError):
    """A program that cannot be traced."""


class TracerBase:
    """Makes nodes and proxies.

    Attributes:
        graph: what nodes are added to
        record_stack_traces: whether nodes note the lines of the program that they come from
    """

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    module_stack: OrderedDict[str, tuple[str, type]]

    def create_node(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None
    ) -> Node:  # fmt: skip
        """Add a node; a subclass may note more about it."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if kind == "call_module" or getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = OrderedDict(getattr(self, "module_stack", {}))
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy of a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args: Any, kwargs: Any, name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:  # fmt: skip
        """Add a node for a call with proxies among its arguments; the proxy of its value."""
        node = self.create_node(
            kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr
        )
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """A value of the program as an argument of nodes; NotImplementedError where that cannot be."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            values = [self.create_arg(x) for x in a]
            return type(a)(*values) if hasattr(a, "_fields") else type(a)(values)
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._plain_key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, (slice, range)):
            return type(a)(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if isinstance(a, BASE_TYPES):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _plain_key(self, key: Any) -> Any:
        made = self.create_arg(key)

        def check(x: Any) -> Any:
            if isinstance(x, Node):
                raise RuntimeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {made}"
                )
            return x

        map_aggregate(made, check)
        return made

    def to_bool(self, obj: Proxy) -> bool:
        """Whether a value is true: unknown."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """The elements of a value: where the program unpacks it, as many as it has names for."""
        value: Any = obj
        frame = inspect.currentframe()
        frame = frame and frame.f_back and frame.f_back.f_back
        if frame is not None:
            for found in dis.get_instructions(frame.f_code):
                if found.offset == frame.f_lasti and found.opname == "UNPACK_SEQUENCE":
                    return (value[i] for i in range(found.argval))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types "
            "of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """The keys of a value, where the program writes `**value`."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there: `Proxy(node)` has one."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.module_stack = OrderedDict()


class Proxy:
    """A value that will be available later."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k.startswith("__") and k.endswith("__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def keys(self) -> Any:
        """The keys, where the program writes `**value`."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Note a call of one of this library's functions."""
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def find(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[a.tracer] = None
            return a

        map_aggregate(args, find)
        map_aggregate(kwargs, find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if is_tensor_method_or_property(orig_method):
            name = orig_method.__name__
            if isinstance(args[0], Parameter) and len(args) == 2 and not kwargs and name in MAGIC:
                # `parameter * proxy`: the parameter has left its operator to the proxy.
                return tracer.create_proxy("call_function", getattr(operator, name), args, kwargs)
            return tracer.create_proxy("call_method", name, args, kwargs)
        name = tracer.graph._target_to_str(orig_method.__name__)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)

    def __hash__(self) -> int:
        return id(self)


class Attribute(Proxy):
    """An attribute of a value; a call of it is a call of a method, and no attribute is read."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made when it is needed."""
        found = self._node
        if found is None:
            found = self._node = self.tracer.create_proxy(
                "call_function", getattr, (self.root, self.attr), {}
            ).node
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(name: str, function: Callable[..., Any]) -> None:
    def call(self: Proxy, *others: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (self, *others), {})

    method = f"__{name.strip('_')}__"
    call.__name__ = method
    setattr(Proxy, method, call)


def _reflected(name: str, function: Callable[..., Any]) -> None:
    def call(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    method = f"__r{name.strip('_')}__"
    call.__name__ = method
    setattr(Proxy, method, call)


for _name in MAGIC:
    if hasattr(operator, _name):
        _operator(_name, getattr(operator, _name))
for _name in REFLECTABLE:
    if hasattr(operator, _name):
        _reflected(_name, getattr(operator, _name))
