"""One step of a graph: a call, an input, an attribute of the module, or the output."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ..checks import CHECKS
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

Argument = Any
Target = Callable[..., Any] | str

OPS = frozenset(
    ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output", "root")
)
_side_effectful_functions: set[Callable[..., Any]] = {CHECKS["_assert"], setattr, operator.setitem}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Keep calls of a function in graphs though nobody uses their result."""
    _side_effectful_functions.add(fn)
    return fn


class Node:
    """One step.

    Attributes:
        graph: what it is a step of
        name: of its value, unique there
        op: one of "placeholder", "get_attr", "call_function", "call_module", "call_method", "output"
        target: the function, or the name of what is called or read
        args: of the call, with nodes for values of other steps
        kwargs: those by name
        users: the nodes that use its value, as keys
        type: an annotation, if there is one
        meta: what passes have noted about it
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op should be one of {sorted(OPS)}, but got {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is expected"
            )
        if op != "call_function" and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target: Any = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: Any = ()
        self._kwargs: Any = {}
        self._prev = self._next = self
        self._erased = False
        self._update(args, kwargs)

    # --- Arguments ---------------------------------------------------------------------------------------

    def _update(self, args: Any, kwargs: Any) -> None:
        """Take other arguments, and be noted as a user of what is in them."""
        for used in self._input_nodes:
            used.users.pop(self, None)
        self._input_nodes = {}

        def note(used: Node) -> Node:
            self._input_nodes[used] = None
            used.users[self] = None
            return used

        self._args, self._kwargs = map_arg(tuple(args), note), map_arg(dict(kwargs), note)

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by place; assign others to change them."""
        return self._args

    @args.setter
    def args(self, value: tuple[Argument, ...]) -> None:
        self._update(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; assign others to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Argument]) -> None:
        self._update(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose values it uses."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put another argument in a place."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument before a place."""
        args = list(self.args)
        args.insert(idx, arg)
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Give an argument by name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Use another node's value wherever it used one."""

        def chosen(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update(map_arg(self.args, chosen), map_arg(self.kwargs, chosen))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let its users use another node's value.

        Returns:
            those that did
        """
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = [user for user in list(self.users) if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    # --- Place -------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The step after it."""
        return self._next

    @property
    def prev(self) -> Node:
        """The step before it."""
        return self._prev

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move a node before this one."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Move a node behind this one."""
        self._next.prepend(x)

    # --- Questions ---------------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that it comes from, where they were noted."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self) -> bool:
        """Whether it must stay though nobody uses its value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _side_effectful_functions or _writes(self.target)
        if self.op == "call_module" and self.graph.owning_module is not None:
            return getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False)
        return False

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        return self in list(self.graph.nodes)[: list(self.graph.nodes).index(other)]

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
    ) -> str | None:
        """A line about it."""
        annotated = f"{_type_repr(self.type)} " if self.type else ""
        if self.op == "output":
            return f"return {self.args[0]}"
        start = f"%{self.name} : {annotated}[num_users={len(self.users)}] = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "placeholder":
            return start + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return start
        return f"{start}(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"

    def _pretty_print_target(self, target: Any) -> str:
        if isinstance(target, str):
            return target
        if target is getattr or (
            target is getattr(builtins, getattr(target, "__name__", ""), None)
        ):
            return f"builtins.{target.__name__}"
        if getattr(operator, getattr(target, "__name__", ""), None) is target:
            return f"operator.{target.__name__}"
        return qualified_name(target)


def _writes(target: Any) -> bool:
    """Whether an operation of `torch.ops` changes its arguments."""
    packet = getattr(target, "overloadpacket", None)
    return packet is not None and packet.writes


def _format_arg(arg: Any) -> str:
    """An argument as text, with a mark before names of nodes."""
    if isinstance(arg, list):
        return f"[{', '.join(map(_format_arg, arg))}]"
    if isinstance(arg, tuple):
        return f"({', '.join(map(_format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{k}: {_format_arg(v)}' for k, v in arg.items())}}}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


def _type_repr(obj: Any) -> str:
    """The name of a type, as code writes it."""
    if isinstance(obj, type) and not hasattr(obj, "__origin__"):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        return qualified_name(obj)
    return "..." if obj is ... else repr(obj)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Arguments with the nodes in them replaced by what a function gives for them."""
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Arguments with what tuples, lists, dicts and slices hold replaced by what a function gives for it."""
    if isinstance(a, tuple):
        values = [map_aggregate(x, fn) for x in a]
        return type(a)(*values) if hasattr(a, "_fields") else tuple(values)
    if isinstance(a, list):
        return immutable_list(map_aggregate(x, fn) for x in a)
    if isinstance(a, dict):
        return immutable_dict((k, map_aggregate(v, fn)) for k, v in a.items())
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def last_uses(nodes: Any) -> dict[Node, list[Node]]:
    """For each node, those whose values it is the last to use."""
    seen: set[Node] = set()
    last: dict[Node, list[Node]] = {}
    for node in reversed(nodes):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                last.setdefault(node, []).append(used)
    return last


# --- Names of functions --------------------------------------------------------------------------------------

HERE = __name__.rpartition(".fx.")[0]
"""What this library's modules are called; in the code of graphs, it is "torch"."""


def is_from_torch(obj: Any) -> bool:
    """Whether something is this library's."""
    module = obj.__name__ if isinstance(obj, ModuleType) else getattr(obj, "__module__", None)
    name = str(module)
    return name in (HERE, "torch") or name.startswith((f"{HERE}.", "torch."))


def qualified_name(obj: Any) -> str:
    """The name by which code finds a function or class: `torch.nn.functional.relu`."""
    name = getattr(obj, "__name__", repr(obj))
    if hasattr(obj, "overloadpacket"):
        return f"torch.ops.{obj}"
    if getattr(builtins, name, None) is obj:
        return name
    if is_from_torch(obj):
        found = _torch_name(obj, name)
        if found is not None:
            return found
    module = getattr(obj, "__module__", None) or "torch"
    if isinstance(obj, (FunctionType, BuiltinFunctionType, type)) and module != "__main__":
        module = {"_operator": "operator"}.get(module, module)
        return f"{module}.{getattr(obj, '__qualname__', name)}"
    return f"{module}.{name}"


def _torch_name(obj: Any, name: str) -> str | None:
    """Where in this library a function is found, as Torch writes it."""
    from importlib import import_module

    for section in ("", "nn.functional", "special", "linalg", "fft", "nn", "nn.init"):
        module = import_module(f"{HERE}.{section}" if section else HERE)
        if getattr(module, name, None) is obj:
            return ".".join(filter(None, ("torch", section, name)))
    module = str(obj.__module__).replace(HERE, "torch", 1)
    found: Any = import_module(str(obj.__module__))
    return f"{module}.{name}" if getattr(found, name, None) is obj else None
