"""A program as a list of steps: what `symbolic_trace` writes down, and passes change."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .codegen import CodeGen, Namespace, PythonCode
from .node import Argument, Node, Target, map_arg

_Namespace = Namespace


class _NodeList:
    """The nodes of a graph in order; nodes may be added and erased while it is walked."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self._graph, self._backwards = graph, backwards

    def __len__(self) -> int:
        return self._graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev if self._backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self._backwards else node._next

    def __reversed__(self) -> Iterator[Node]:
        return iter(_NodeList(self._graph, not self._backwards))


class Graph:
    """A program as a list of steps.

    >>> import minitorch.torch as torch
    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = Namespace()
        self._codegen = CodeGen()
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self.owning_module = owning_module

    @property
    def nodes(self) -> _NodeList:
        """The steps, in order."""
        return _NodeList(self)

    # --- Making nodes ---------------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a step where nodes are added now: at the end, or where `inserting_before` says."""
        if args is not None and not isinstance(args, (tuple, list)):
            raise AssertionError("args must be a tuple")
        made = self._graph_namespace.create_name(name or self._target_to_str(target))
        node = Node(self, made, op, target, tuple(args or ()), dict(kwargs or {}), type_expr)
        self._graph_namespace.associate(made, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Any) -> str:
        """What a node that calls a target is called at first."""
        if callable(target):
            name = getattr(target, "overloadpacket", target).__name__
        else:
            name = (
                target.removeprefix("__").removesuffix("__")
                if target.startswith("__") and target.endswith("__")
                else target
            )
        return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = Ellipsis) -> Node:
        """Add an input."""
        args = () if default_value is Ellipsis else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Read an attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None, name: str | None = None
    ) -> Node:  # fmt: skip
        """Call a module of the module."""
        return self.create_node("call_module", module_name, args, kwargs, name, type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None, name: str | None = None
    ) -> Node:  # fmt: skip
        """Call a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, name, type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None, type_expr: Any = None, name: str | None = None
    ) -> Node:  # fmt: skip
        """Call a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Return a value."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """Add a copy of a node of another graph."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add copies of all nodes of another graph.

        Args:
            g: the other graph
            val_map: which nodes stand for which of the other's; it is filled
            return_output_node: whether to return the output's node, too

        Returns:
            what the other graph returns, None if nothing
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # --- Changing ---------------------------------------------------------------------------------------------

    def erase_node(self, to_erase: Node) -> None:
        """Remove a step that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update((), {})

    @contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """Within `with`, new nodes are added before a node; None: at the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """Within `with`, new nodes are added after a node, one behind the other; None: at the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return self._inserting(n._next.prepend)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove steps that nobody uses; whether there were some."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind."""
        wanted = op == "call_function" or target is not None
        return [n for n in self.nodes if n.op == op and (not wanted or n.target == target)]

    def output_node(self) -> Node:
        """The step that returns."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def lint(self) -> None:
        """RuntimeError unless names are unique, values are made before they are used, and targets exist."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument!"
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                _check_target(self.owning_module, node)
            seen.add(node)
            names.add(node.name)

    # --- Code ---------------------------------------------------------------------------------------------------

    def python_code(self, root_module: str, **_: Any) -> PythonCode:
        """The graph as a function of Python's; `root_module` is the name of the module in it."""
        return self._codegen.python_code(self, root_module)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let something else write the code."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of a call as placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The results as a call returns them."""
        return self._codegen.process_outputs(out)

    def print_tabular(self) -> None:
        """Print the steps as a table; it takes the package `tabulate`."""
        from tabulate import tabulate  # type: ignore[import-not-found]

        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(  # noqa: T201
            tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"])
        )

    def __str__(self) -> str:
        lines = [f"    {node.format_node()}" for node in self.nodes]
        return "\n".join(["graph():", *lines])

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        values: dict[Node, Node] = {}
        found = made.graph_copy(self, values, return_output_node=True)
        if found is not None:
            result, old = found
            made.output(result, old.type).meta = copy.copy(old.meta)
        made._codegen = copy.deepcopy(self._codegen)
        return made


def _check_target(root: Any, node: Node) -> None:
    found = root
    for name in node.target.split("."):
        if not hasattr(found, name):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {name} of {type(found).__name__}"
            )
        found = getattr(found, name)
