"""A graph of ONNX operations in the making, and the table of what each of Torch's operations becomes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.interface import ARRAYS, as_numpy
from ..dtypes import dtype, int64
from ..fx.node import Node
from ..tensor import Tensor
from . import protobuf
from .errors import UnsupportedOperatorError

Form = Callable[["Builder", Node], Any]
"""Adds what a node of a graph is in ONNX; the name of its result, or of its results."""

FORMS: dict[str, Form] = {}
"""What Torch's operations become, by their names in `torch.ops.aten`."""


def form(*names: str) -> Callable[[Form], Form]:
    """Note what operations of these names become."""

    def note(function: Form) -> Form:
        FORMS.update(dict.fromkeys(names, function))
        return function

    return note


class Builder:
    """Operations, weights and names of values.

    Attributes:
        opset: the version of ONNX's operations
        names: of the values of nodes: a name, or a list of them
        arrays: of inputs that are weights, their values
    """

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.names: dict[Node, Any] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.nodes: list[bytes] = []
        self.weights: dict[str, bytes] = {}
        self._constants: dict[Any, str] = {}
        self._used: set[str] = set()
        self._current = ""
        self._read: set[str] = set()

    # --- Adding ----------------------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        """A name that nothing has."""
        made, n = wanted, 0
        while made in self._used:
            n += 1
            made = f"{wanted}_{n}"
        self._used.add(made)
        return made

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add an operation; the name of its result, or the names of several."""
        made = [self.name(self._current or kind.lower()) for _ in range(outputs)]
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        self.write(kind, given, made, attributes)
        return made[0] if outputs == 1 else made

    def write(
        self, kind: str, inputs: list[str], outputs: list[str], attributes: dict[str, Any]
    ) -> None:
        """Add an operation whose results have names."""
        self.nodes.append(protobuf.node(kind, inputs, outputs, f"node_{outputs[0]}", attributes))
        self._read.update(inputs)

    def read_weights(self) -> list[bytes]:
        """The constants and weights that operations take."""
        return [raw for name, raw in self.weights.items() if name in self._read]

    def translate(self, node: Node) -> None:
        """Add what a node of a graph is."""
        if node.target is operator.getitem:
            self.names[node] = self.names[node.args[0]][node.args[1]]
            return
        packet = getattr(node.target, "overloadpacket", None)
        name = f"size_{node.target.__name__}" if packet is None else packet.__name__
        if packet is not None and packet.writes:
            check_write(node)
            name = name.removesuffix("_")
        found = FORMS.get(name) if packet is None or packet.name().startswith("aten::") else None
        if found is None:
            raise UnsupportedOperatorError(f"{node.target} has no ONNX form (node {node.name!r})")
        self._current = node.name
        self.names[node] = found(self, node)
        self._current = ""

    # --- Values ----------------------------------------------------------------------------------------------

    def constant(self, value: Any, kind: dtype = int64) -> str:
        """A constant, by its name; equal ones are one."""
        given = as_numpy(value) if type(value) in ARRAYS else value
        array = np.asarray(given, dtype=kind.numpy)
        key = kind.name, array.shape, array.tobytes()
        if key not in self._constants:
            made = self._constants[key] = self.name("constant")
            self.arrays[made] = array
            self.weights[made] = protobuf.tensor(made, array, kind.name)
        return self._constants[key]

    def weight(self, name: str, tensor: Tensor) -> str:
        """A tensor of the model, by its name."""
        made = self.name(name)
        array = self.arrays[made] = tensor.detach().contiguous()._array
        self.weights[made] = protobuf.tensor(made, array, tensor.dtype.name)
        return made

    def of(self, value: Any, kind: dtype | None = None) -> str:
        """The name of an argument: a node's value, cast to a type if one is given, or a number as a constant."""
        if not isinstance(value, Node):
            return self.constant(value, kind or int64)
        name = self.names[value]
        if kind is not None and type_of(value) is not kind:
            return self.cast(name, kind)
        return name

    def cast(self, name: str, kind: dtype) -> str:
        """A value in another type."""
        return self.add("Cast", name, to=protobuf.DATA_TYPES[kind.name])

    def ints(self, values: Sequence[Any]) -> str:
        """Whole numbers as one tensor; some may be computed."""
        if not any(isinstance(v, Node) for v in values):
            return self.constant(list(values))
        return self.add("Concat", *map(self.as_list, values), axis=0)

    def as_list(self, value: Any) -> str:
        """A whole number as a tensor of one element."""
        return self.names[value] if isinstance(value, Node) else self.constant([value])

    def size(self, node: Node, dim: int) -> str:
        """The size of a dimension, as a tensor of one element."""
        shape = self.add("Shape", self.names[node])
        return self.add("Gather", shape, self.constant([dim % rank(node)]), axis=0)


def check_write(node: Node) -> None:
    """An error if somebody sees what a node writes by another name: values in ONNX are never written."""
    memory = node.meta.get("memory")
    before: set[Node] = set()
    for each in node.graph.nodes:
        if each is node:
            break
        if each.meta.get("memory") == memory:
            before.add(each)
    later = node.next
    while later.op != "root":
        if before.intersection(later.all_input_nodes):
            raise UnsupportedOperatorError(
                f"{node.target} writes into memory that {later.name!r} reads as a view or its base: no ONNX form"
            )
        later = later.next


def type_of(node: Node) -> dtype:
    """The type of a node's value; that of a size is int64."""
    found = node.meta.get("val")
    return found.dtype if isinstance(found, Tensor) else int64


def shape_of(node: Node) -> list[int]:
    """The shape of a node's value in the example."""
    return list(node.meta["val"].shape)


def rank(node: Node) -> int:
    """How many dimensions a node's value has."""
    return len(shape_of(node))


def argument(node: Node, place: int, default: Any = None, name: str = "") -> Any:
    """An argument of a node, by its place or name."""
    if len(node.args) > place:
        return node.args[place]
    return node.kwargs.get(name, default)


def arguments(node: Node, *defaults: Any) -> Any:
    """The arguments of a node by place; those at the end that were not given are the defaults in their places."""
    return (*node.args, *defaults[len(node.args) :])
