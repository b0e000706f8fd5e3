"""Running a graph step by step, and making another one on the way."""

from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module
from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, Target, last_uses, map_aggregate, map_arg
from .proxy import Proxy


class Interpreter:
    """Runs a graph; a subclass may do something else at a step.

    Attributes:
        module: whose graph it is
        env: the values of the nodes that were run, while they are needed
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.graph: Any = module.graph if graph is None else graph
        self.garbage_collect_values = garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.extra_traceback = True
        self.name = "Interpreter"

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """What the graph computes of some arguments."""
        self.env = {} if initial_env is None else initial_env
        self.args_iter = iter(self.graph.process_inputs(*args) if enable_io_processing else args)
        last = last_uses(self.graph.nodes) if self.garbage_collect_values else {}
        for node in self.graph.nodes:
            if node not in self.env:
                try:
                    self.env[node] = self.run_node(node)
                except Exception as error:
                    if self.extra_traceback:
                        error.add_note(f"While executing {node.format_node()}")
                    raise
            for used in last.get(node, ()):
                self.env.pop(used, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def run_node(self, n: Node) -> Any:
        """The value of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: Any, kwargs: Any) -> Any:
        """An argument of the call."""
        assert isinstance(target, str)
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: Any, kwargs: Any) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """A function's result."""
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: Any, kwargs: Any) -> Any:
        """A method's result."""
        self_obj, *rest = args
        return getattr(self_obj, str(target))(*rest, **kwargs)

    def call_module(self, target: Target, args: Any, kwargs: Any) -> Any:
        """A module's result."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: Any, kwargs: Any) -> Any:
        """What the graph returns."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module, by its path."""
        found: Any = self.module
        for i, name in enumerate(target.split(".")):
            if not hasattr(found, name):
                raise RuntimeError(
                    f"Node referenced nonexistent target {'.'.join(target.split('.')[: i + 1])}"
                )
            found = getattr(found, name)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[Any, Any]:
        """A node's arguments, with values in the place of nodes."""
        return self.map_nodes_to_values(n.args, n), dict(self.map_nodes_to_values(n.kwargs, n))

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with values in the place of nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value)


class Transformer(Interpreter):
    """Runs a graph on proxies, and so makes another one; a subclass may make other steps."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class _Tracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.root = module

            def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
                return True

        self.tracer = _Tracer(self.new_graph)

    def placeholder(self, target: Target, args: Any, kwargs: Any) -> Proxy:
        node = self.new_graph.placeholder(str(target), default_value=args[0] if args else ...)
        return Proxy(node, self.tracer)

    def get_attr(self, target: Target, args: Any, kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: Any, kwargs: Any) -> Any:
        return self.tracer.call_module(
            self.fetch_attr(str(target)), self.fetch_attr(str(target)).forward, args, kwargs
        )

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module with the new graph."""
        result = super().run(enable_io_processing=False)
        if result is not None:
            old = next(n for n in self.module.graph.nodes if n.op == "output")
            node = self.new_graph.output(map_proxies(result), old.type)
            node.meta = dict(old.meta)
        return GraphModule(self.module, self.new_graph)


def map_proxies(a: Any) -> Any:
    """A value with nodes in the place of proxies."""
    return map_aggregate(a, lambda x: x.node if isinstance(x, Proxy) else x)
