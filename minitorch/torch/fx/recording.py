"""A program as a graph of Torch's own operations: what passed the door while it ran once.

`symbolic_trace` sees the functions that a program calls; here the program runs with real tensors, and what it is
made of is seen: no branch, loop or function of its own is left. What reads values while it runs cannot
be part of a graph, and is an error that names the line.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from ..backends.interface import ARRAYS, from_numpy, resolve
from ..compiler.comparing import owner
from ..compiler.reading import Reading
from ..interpreters import Composite, Interpreter
from ..library import called, namespace
from ..nn.parameter import Parameter
from ..ops.aten_calls import FIRST, composite_call, key_steps
from ..ops.creation import LIFT
from ..tensor import Tensor, wrap
from .graph import Graph
from .node import Node, map_aggregate
from .passes.shape_prop import _extract_tensor_metadata
from .proxy import BASE_TYPES

_aten = namespace("aten")


def overload(name: str) -> Any:
    """One of Torch's operations, by its name and that of its overload."""
    packet, way = name.split(".")
    return getattr(getattr(_aten, packet), way)


class ValuesReadError(RuntimeError):
    """A program that cannot be a graph, because it looks at the values of tensors."""


class _Values(Reading):
    """Notices where a program reads values; what else it does is its own business."""

    def _called(self, frame: FrameType, code: CodeType, owner: str) -> None:
        if owner == "library":
            super()._called(frame, code, owner)

    def _called_c(self, frame: FrameType, fn: Any) -> None:
        if isinstance(getattr(fn, "__self__", None), np.ndarray):
            super()._called_c(frame, fn)


class Recorder(Interpreter):
    """Writes what is computed as nodes of a graph.

    Attributes:
        graph: so far
        constants: tensors and other values that nodes refer to, by the names of attributes
        find: of a tensor that nothing made, its node; None: it is a constant
    """

    def __init__(self, find: Callable[[Tensor], Node | None] | None = None) -> None:
        self.graph = Graph()
        self.constants: dict[str, Any] = {}
        self.find = find
        self._nodes: dict[
            int, Any
        ] = {}  # by tensors' addresses: a node, or one and which of its results
        self._arrays: dict[int, Any] = {}
        self._kept: list[Any] = []  # so that no address is given twice
        self._reading = _Values()

    @contextmanager
    def recording(self) -> Any:
        """Write what happens within `with`."""
        self.install_last()
        try:
            with self._reading:
                yield
        finally:
            self.remove()
        if self._reading.reason is not None:
            raise ValuesReadError(f"the program cannot be a graph: {self._reading.reason}")

    def place(self, name: str, tensor: Tensor) -> Node:
        """A placeholder for a tensor."""
        return self._note(self.graph.placeholder(name), tensor)

    # --- What happens ----------------------------------------------------------------------------------------

    def operation(self, op: Any, inputs: Any, params: dict[str, Any], perform: Any) -> Any:
        whole = composite_call(op, inputs, params) if type(op) is Composite else None
        if self._reading.inside or (type(op) is Composite and whole is None):
            return perform(op, inputs, params)
        self._reading.inside += 1
        try:
            result = perform(op, inputs, params)
            self._write(op, inputs, params, whole, result)
        finally:
            self._reading.inside -= 1
        return result

    def _write(self, op: Any, inputs: Any, params: dict[str, Any], whole: Any, result: Any) -> None:
        """Add what was performed."""
        if op is LIFT:
            self._note(self._constant(result.detach().clone(), "_tensor_constant"), result)
        elif whole is not None:
            self._add(overload(whole[0]), whole[1], whole[2], result)
        elif op.name in ("slice_by_key", "index"):
            self._add_indexing(
                inputs[0], params["at" if op.name == "slice_by_key" else "key"], result
            )
        else:
            node = self._add(*called(op, inputs, params), result)
            if op.name in FIRST:
                node.meta["first"] = lambda: FIRST[op.name](
                    *self.argument(list(inputs)), **self.argument(params)
                )

    def _add(self, target: Any, args: Any, kwargs: Any, result: Any) -> Node:
        node = self.graph.create_node(
            "call_function", target, tuple(map(self.argument, args)), {k: self.argument(v) for k, v in kwargs.items()}
        )  # fmt: skip
        results = result if isinstance(result, (list, tuple)) else None
        if results is None:
            return self._note(node, result) if isinstance(result, Tensor) else node
        for place, each in enumerate(results):
            if isinstance(each, Tensor):
                self._note((node, place), each)
        return node

    def _add_indexing(self, input: Tensor, key: tuple[Any, ...], result: Tensor) -> None:
        """An index as the steps it is made of: numbers and slices first, tensors last."""
        at = [slice(None) if _is_array(part) else part for part in key]
        node: Any = self.argument(input)
        value = input
        for name, args in key_steps(input.ndim, tuple(at)):
            value = overload(name)(value, *args)
            node = self._note(
                self.graph.create_node("call_function", overload(name), (node, *args)), value
            )
        if any(_is_array(part) for part in key):
            indices: list[Any] = []
            for part in key:
                if part is Ellipsis:
                    indices += [None] * (input.ndim - sum(p is not None and p is not Ellipsis for p in key))  # fmt: skip
                elif _is_array(part):
                    indices.append(part)
                elif part is None or isinstance(part, slice):
                    indices.append(None)
            while indices[-1] is None:
                indices.pop()
            node = self.graph.create_node(
                "call_function", overload("index.Tensor"), (node, self.argument(indices))
            )
        self._note(node, result)

    # --- Values and nodes ------------------------------------------------------------------------------------

    def argument(self, value: Any) -> Any:
        """A value of the program as an argument of nodes."""
        return map_aggregate(value, self._leaf)

    def _leaf(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.node_of(value)
        if type(value) in ARRAYS:
            known = self._arrays.get(id(value))
            return self._constant(wrap(value), "_tensor_constant") if known is None else self._node(known)  # fmt: skip
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, (*BASE_TYPES, slice, Node)):
            return value
        return self._constant(value, "_constant")

    def node_of(self, tensor: Tensor) -> Node:
        """The node of a tensor; one that nothing made is found outside, or shows memory that is known."""
        known = self._nodes.get(id(tensor))
        if known is not None and known[1] is tensor._array:
            return self._node(known[0])
        same = self._arrays.get(id(tensor._array))
        if same is not None:
            return self._note(
                self.graph.create_node("call_function", overload("detach.default"), (self._node(same),)), tensor
            )  # fmt: skip
        found = self.find(tensor) if self.find is not None else None
        kind = "_param_constant" if isinstance(tensor, Parameter) else "_tensor_constant"
        return self._note(found or self._constant(tensor, kind), tensor)

    def _node(self, known: Any) -> Node:
        """A node, or one of the results of a node, which is taken when it is first asked for."""
        if isinstance(known, Node):
            return known
        node, place = known
        taken = node.meta.setdefault("taken", {})
        if place not in taken:
            with self.graph.inserting_after(([node, *taken.values()])[-1]):
                made = self.graph.create_node("call_function", operator.getitem, (node, place))
            made.meta.update(node.meta["results"][place])
            taken[place] = made
        return taken[place]

    def _constant(self, value: Any, prefix: str) -> Node:
        name = f"{prefix}{sum(key.startswith(prefix) for key in self.constants)}"
        self.constants[name] = value
        node = self.graph.get_attr(name)
        return self._note(node, value) if isinstance(value, Tensor) else node

    def _note(self, node: Any, tensor: Tensor) -> Any:
        """Note whose value a tensor is, and of which shape."""
        meta = {
            "val": shown(tensor),
            "tensor_meta": _extract_tensor_metadata(tensor),
            "memory": id(owner(tensor._array)),
        }
        if isinstance(node, Node):
            node.meta.update(meta)
        else:
            node[0].meta.setdefault("results", {})[node[1]] = meta
        self._nodes[id(tensor)] = node, tensor._array
        self._arrays[id(tensor._array)] = node
        self._kept.append((tensor, tensor._array))
        return node


def _is_array(part: Any) -> bool:
    """Whether a part of an index is an array of any device, or a tensor."""
    return type(part) in ARRAYS or isinstance(part, Tensor)


def shown(tensor: Tensor) -> Tensor:
    """A tensor's shape, strides and type without its elements."""
    array = tensor._array
    return (
        wrap(from_numpy(array, resolve("meta")))
        if isinstance(array, np.ndarray)
        else tensor.detach()
    )


def take_first_results(graph: Graph) -> None:
    """Let nodes of which only the first result is wanted be the operations that give nothing else."""
    changed = []
    for node in reversed(
        list(graph.nodes)
    ):  # so that what a node reads is still what it was when it was written
        taken = node.meta.get("taken", {})
        if "first" not in node.meta or set(taken) - {0} or set(node.users) - set(taken.values()):
            continue
        name, args, kwargs = node.meta["first"]()
        node.target, node.args, node.kwargs = overload(name), args, kwargs
        node.meta.update(node.meta["results"][0])
        if 0 in taken:
            taken[0].replace_all_uses_with(node)
            graph.erase_node(taken[0])
        del node.meta["first"]
        changed.append(node)
    for node in reversed(changed):
        node.name = graph._graph_namespace.create_name(graph._target_to_str(node.target))
