"""Which numbers of a graph follow from sizes that may change: found by comparing graphs of several sizes.

A program is traced with its example and with two more of other sizes. The graphs must be alike but for numbers. A number
that differs is looked for among the sizes of what was computed before it: it is one of them, a multiple of one with
something added, a part of one, or a product of two. What is none of these is an error: no number that
depends on a size is ever written down as it was.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from ..backends.interface import as_numpy
from ..compiler.exceptions import UserError
from ..fx.graph import Graph
from ..fx.node import Node
from ..fx.recording import overload
from ..tensor import Tensor

Numbers = tuple[int, ...]
"""A number of a graph, in each of the traces."""

Trace = tuple[Graph, dict[str, Any]]
"""A graph and its constants."""


def generalize(traces: list[Trace], names: dict[Numbers, str]) -> Graph:
    """The graph of the first trace, with what differs in the others computed from sizes.

    Args:
        traces: of the same program, with different sizes
        names: of the sizes that change, by what they are in the traces
    """
    graph = traces[0][0]
    rows = [list(g.nodes) for g, _ in traces]
    targets = [[(n.op, n.target if n.op != "get_attr" else "") for n in row] for row in rows]
    if any(each != targets[0] for each in targets[1:]):
        raise UserError("the program does other operations for other sizes: its graph cannot have sizes that change")  # fmt: skip
    sizes = _Sizes(graph, names)
    for nodes in zip(*rows, strict=True):
        first = nodes[0]
        sizes.before = first
        if first.op == "get_attr":
            _generalize_constant(nodes, [constants for _, constants in traces], sizes)
        elif first.op != "placeholder":
            for part in ("args", "kwargs"):
                values = [getattr(node, part) for node in nodes]
                setattr(first, part, _merged(values, sizes, str(first.target)))
        sizes.add(nodes)
    for node in list(graph.nodes):
        if node.op == "call_function" and node.meta.get("size") and not node.users:
            graph.erase_node(node)
    return graph


def _merged(values: list[Any], sizes: _Sizes, where: str) -> Any:
    """Arguments of the first graph, with numbers that differ as nodes."""
    first = values[0]
    if isinstance(first, Node):
        return first
    if isinstance(first, (list, tuple)) and all(isinstance(v, (list, tuple)) for v in values):
        if len({len(v) for v in values}) > 1:
            raise UserError(f"{where}: the number of its arguments depends on a size that changes")  # fmt: skip
        return type(first)(
            [_merged(list(each), sizes, where) for each in zip(*values, strict=True)]
        )
    if isinstance(first, dict):
        return {key: _merged([v[key] for v in values], sizes, where) for key in first}
    if isinstance(first, slice):
        parts = [_merged([getattr(v, p) for v in values], sizes, where) for p in ("start", "stop", "step")]  # fmt: skip
        return slice(*parts)
    if all(v is first or v == first for v in values[1:]):
        return first
    if all(type(v) is int for v in values):
        found = sizes.find(tuple(values))
        if found is not None:
            return found
    raise UserError(f"{where}: {values[0]!r} depends on a size that changes, in a way that is not known")  # fmt: skip


def _generalize_constant(nodes: Any, constants: list[dict[str, Any]], sizes: _Sizes) -> None:
    """A tensor that differs: numbers that count up are counted anew, all else is an error."""
    values = [c[n.target] for n, c in zip(nodes, constants, strict=True) if n.target in c]
    if not values or not isinstance(values[0], Tensor):
        return
    arrays = [v._array for v in values]
    if all(a.shape == arrays[0].shape and np.array_equal(a, arrays[0], equal_nan=a.dtype.kind == "f") for a in arrays):  # fmt: skip
        return
    first = nodes[0]
    counted = [_counting(a) for a in arrays]
    end = None
    if None not in counted and len({(start, step) for start, _, step in counted}) == 1:  # type: ignore[misc]
        end = sizes.find(tuple(int(stop) for _, stop, _ in counted))  # type: ignore[misc]
    if end is None:
        raise UserError("a tensor that the program writes down depends on a size that changes, in a way that is not known")  # fmt: skip
    start, _, step = counted[0]  # type: ignore[misc]
    dtype = values[0].dtype
    with first.graph.inserting_before(first):
        made = first.graph.create_node(
            "call_function", overload("arange.start_step"), (start, end, step), {"dtype": dtype}
        )
    made.meta.update(first.meta)
    first.replace_all_uses_with(made)
    first.graph.erase_node(first)


def _counting(array: Any) -> tuple[int, int, int] | None:
    """Start, end and step of whole numbers that count up or down."""
    if array.ndim != 1 or array.dtype.kind not in "iuf" or len(array) < 1:
        return None
    array = as_numpy(array)
    start = array[0].item()
    step = (array[1] - array[0]).item() if len(array) > 1 else 1
    if start != int(start) or step != int(step) or step == 0:
        return None
    start, step = int(start), int(step)
    stop = start + step * len(array)
    fits = np.array_equal(array, np.arange(start, stop, step).astype(array.dtype))
    return (start, stop, step) if fits else None


class _Sizes:
    """The sizes that change, of all that was computed so far."""

    def __init__(self, graph: Graph, names: dict[Numbers, str]) -> None:
        self.graph, self.names = graph, names
        self.before: Any = None  # where nodes that compute sizes go
        self.known: dict[Numbers, Any] = {}  # a node, or one and which of its dimensions

    def add(self, nodes: tuple[Node, ...]) -> None:
        """Note the sizes of a value that all traces have."""
        values = [node.meta.get("val") for node in nodes]
        if not all(isinstance(v, Tensor) for v in values) or nodes[0]._erased:
            return
        shapes = [v.shape for v in values]  # type: ignore[union-attr]
        for dim in range(len(shapes[0])):
            numbers = tuple(shape[dim] for shape in shapes)
            if len(set(numbers)) > 1:
                nodes[0].meta.setdefault("changing", {})[dim] = self.names.get(
                    numbers, f"{nodes[0].name}_dim_{dim}"
                )
                self.known.setdefault(numbers, (nodes[0], dim))

    def find(self, numbers: Numbers) -> Node | None:
        """The node of a number, made of sizes that are known."""
        if numbers in self.known:
            return self._node(numbers)
        for base in self.known:
            step = base[1] - base[0]
            times, rest = divmod(numbers[1] - numbers[0], step) if step else (0, 1)
            added = numbers[0] - times * base[0]
            if not rest and times and all(n == times * b + added for n, b in zip(numbers, base, strict=True)):  # fmt: skip
                return self._affine(base, times, added)
        for base in self.known:
            for part in range(2, 65):
                if all(n == b // part for n, b in zip(numbers, base, strict=True)):
                    return self._call(operator.floordiv, self._node(base), part)
        for one, other in self._pairs():
            products = [a * b for a, b in zip(one, other, strict=True)]
            times = numbers[0] // products[0] if products[0] else 0
            if times and all(n == times * p for n, p in zip(numbers, products, strict=True)):
                product = self._call(operator.mul, self._node(one), self._node(other))
                return product if times == 1 else self._call(operator.mul, product, times)
        return None

    def _pairs(self) -> Iterator[tuple[Numbers, Numbers]]:
        return combinations_with_replacement(list(self.known), 2)

    def _affine(self, base: Numbers, times: int, added: int) -> Node:
        node = self._node(base)
        node = node if times == 1 else self._call(operator.mul, node, times)
        return self._call(operator.add, node, added) if added else node

    def _node(self, numbers: Numbers) -> Node:
        found = self.known[numbers]
        if isinstance(found, Node):
            return found
        of, dim = found
        last = of
        while last.op == "placeholder" and last.next.op == "placeholder":
            last = last.next
        with self.graph.inserting_after(last):
            node = self.graph.create_node(
                "call_function", overload("sym_size.int"), (of, dim), name="sym_size_int"
            )
        node.meta["size"] = True
        self.known[numbers] = node
        return node

    def _call(self, function: Any, *args: Any) -> Node:
        with self.graph.inserting_before(self.before):
            node = self.graph.create_node("call_function", function, args)
        node.meta["size"] = True
        return node


def resized(tensor: Tensor, dim: int, size: int) -> Tensor:
    """A tensor of another size, with the elements of an example over and over."""
    places = np.arange(size) % tensor.shape[dim]
    made = tensor.detach().index_select(dim, tensor.new_tensor(places).long())
    return made.requires_grad_(tensor.requires_grad) if tensor.requires_grad else made
