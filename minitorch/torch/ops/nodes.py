"""Nodes of the graph: what a recorded call saves for backward, and no more."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from ..autograd.graph import Edge, Layout, Node, as_nodes, modes, numbers
from ..autograd.saved import FREED, Saved, SavedOutput, SavedOutputs, SavedTensor, save
from ..dtypes import from_numpy_dtype
from ..tensor import Tensor, edge_of, new_object

if TYPE_CHECKING:
    from .record import Op


@dataclass(slots=True)  # faster attribute access than a named tuple's
class Plan:
    """What a node saves, for one combination of arguments that need a gradient.

    A derivative's arguments are looked up by position in: the gradient, `needs`, saved inputs,
    the rest of them, parameters, shapes, outputs.
    """

    op: Op
    saved: tuple[str, ...]  # names
    needs: bool  # whether a derivative has the parameter `needs`
    inputs: tuple[int, ...]
    rest: bool  # whether all inputs of a `*` argument are saved too, as a list
    params: tuple[tuple[str, Any], ...]  # names and defaults
    shapes: bool
    outputs: bool | None  # None: none; False: the first; True: a list of all
    named: tuple[int, ...]  # outputs that are saved each by itself
    keeps_nothing: bool  # of inputs and parameters
    keeps_shape: bool  # of the one input, and nothing else
    calls: tuple[
        tuple[int | None, Callable[..., Any], tuple[int, ...]], ...
    ]  # None: for all arguments


def _plan(op: Op, wanted: int) -> Plan:
    """The plan for the needed arguments (a bit mask), from the parameter names of their derivatives."""
    rules = []
    needed: dict[str, None] = {}
    for i, rule in _rules(op, wanted):
        names = list(inspect.signature(rule).parameters)
        rules.append((i, rule, names))
        needed.update(dict.fromkeys(names))
    last = len(op.args) - 1
    inputs = [i for i, a in enumerate(op.args) if a in needed and not (op.many and i == last)]
    rest = op.many and op.args[last] in needed
    special = {"g", "needs", "out", "outs", "shapes", *op.args, *op.outputs}
    defaults = inspect.signature(op.compute).parameters
    params = [
        (n, defaults[n].default if n in defaults else None) for n in needed if n not in special
    ]
    outputs = "outs" if "outs" in needed else "out" if "out" in needed else None
    order = ["g", "needs", *(op.args[i] for i in inputs), *([op.args[last]] if rest else [])]
    order += [*(n for n, _ in params), *(["shapes"] if "shapes" in needed else [])]
    named = [i for i, n in enumerate(op.outputs) if n in needed]
    order += [*([outputs] if outputs else []), *(op.outputs[i] for i in named)]
    place = {name: k for k, name in enumerate(order)}
    calls = [(i, rule, tuple(place[n] for n in names)) for i, rule, names in rules]
    _name_saved(order[2:])
    return Plan(
        op, tuple(order[2:]), "needs" in needed, tuple(inputs), rest, tuple(params), "shapes" in needed,
        None if outputs is None else outputs == "outs", tuple(named),
        not (inputs or rest or params or "shapes" in needed),
        "shapes" in needed and op.args == ("input",) and not (inputs or rest or params),
        tuple(calls),
    )  # fmt: skip


def _rules(op: Op, wanted: int) -> list[tuple[int | None, Callable[..., Any]]]:
    """The derivatives of the needed arguments; under None, one function for all."""
    if callable(op.gradients):
        return [(None, op.gradients)]
    wants = [(i, arg) for i, arg in enumerate(op.args) if wanted >> i & 1]
    return [(i, op.gradients[arg] or _no_derivative(op.name)) for i, arg in wants]


def _no_derivative(name: str) -> Callable[[Any], Any]:
    """A derivative that raises Torch's error: the operation has none."""

    def refuse(g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return refuse


def make_node(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> OpNode:
    """Record an operation: its edges, and what its derivatives need of the inputs."""
    edges: list[Edge | None] = []
    wanted = 0
    bit, last = 1, op.last_bit
    for x in inputs:
        edge = None
        if isinstance(x, Tensor):
            edge = x._edge if x._base is None else edge_of(x)
            if edge is None and x._requires_grad:
                edge = x, 0
            if edge is not None:
                wanted |= bit
        edges.append(edge)
        if bit != last:
            bit <<= 1
    plan = op.plans.get(wanted)
    if plan is None:
        plan = op.plans[wanted] = _plan(op, wanted)
    node = new_object(OpNode)
    node.plan = plan
    node.edges = edges
    node.number = next(numbers)
    if op.last_leaf is not None:  # Torch has one more node in between
        node.last_leaf = op.last_leaf
    if plan.keeps_nothing:
        node.saved = []
    elif plan.keeps_shape:
        node.saved = [(inputs[0]._array.shape,)]
    else:
        node.saved = _kept(plan, inputs, params)
    if modes.anomaly:
        node.remember_call()
    return node


def _kept(plan: Plan, inputs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The values that a plan saves."""
    saved = []
    if plan.inputs:
        keep = Saved.of if modes.saving is None else save
        for i in plan.inputs:
            x = inputs[i]
            saved.append(keep(x) if isinstance(x, Tensor) else x)
    if plan.rest:
        saved.append([save(x) for x in inputs[len(plan.op.args) - 1 :]])
    for name, default in plan.params:
        saved.append(params.get(name, default))
    if plan.shapes and len(inputs) == 1:
        saved.append((inputs[0]._array.shape,))
    elif plan.shapes:
        saved.append(tuple([x._array.shape if isinstance(x, Tensor) else None for x in inputs]))
    return saved


class OpNode(Node):
    """A recorded operation of the registry."""

    plan: Plan
    saved: list[Any] | None
    appearance: tuple[str, Sequence[Edge | None]] | None = None  # that programs see, if another

    def save_outputs(self, outputs: Sequence[Tensor]) -> None:
        """Save outputs that derivatives need."""
        plan, saved = self.plan, self.saved
        if saved is None:
            return
        if plan.outputs is False:
            keep = SavedOutput.of if modes.saving is None else save
            saved.append(keep(outputs[0], 0))
        elif plan.outputs:
            saved.append(SavedOutputs([save(o, n) for n, o in enumerate(outputs)]))
        if plan.named:
            count = len(outputs) if plan.op.differentiable is None else plan.op.differentiable
            saved += [save(outputs[n], n if n < count else None) for n in plan.named]

    def name(self) -> str:
        if self.appearance is None and self.plan.op.shown_as is not None:
            self.appearance = self.plan.op.shown_as(self)
        return self.plan.op.node_name if self.appearance is None else self.appearance[0]

    def shown(self) -> Node:
        """The node, as an instance of a class with its name, made only when a program inspects it."""
        self.__class__ = _node_class(self.name())  # type: ignore[assignment]
        return self

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, without those, such as indices, that never have a gradient."""
        self.name()
        if self.appearance is not None:
            return as_nodes(self.appearance[1])
        op, found = self.plan.op, super().next_functions
        if callable(op.gradients):
            return found
        none = {i for i, arg in enumerate(op.args) if op.gradients[arg] is None}
        return tuple(f for i, f in enumerate(found) if i not in none or f[0] is not None)

    def keeps_tensors(self) -> bool:
        if self.plan.op.keeps_tensors and self.saved:
            return True
        for value in self.saved or ():
            if isinstance(value, Saved) or type(value) in (SavedOutputs, list):
                return True
        return False

    def release(self) -> None:
        """Free saved tensors; a node that saved none can run backward again."""
        if self.saved and self.keeps_tensors():
            self.saved = None

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        saved = self.saved
        if saved is None:
            raise RuntimeError(FREED)
        edges, plan = self.edges, self.plan
        op = plan.op
        g = gradients[0] if self.layouts is None else self._incoming(gradients, self.layouts)
        known: list[Any] = [g, [e is not None for e in edges] if plan.needs else None]
        for value in saved:
            if isinstance(value, Saved):
                value = value.unpack(self)
            elif type(value) in (SavedOutputs, list):
                value = self._plain(value)
            known.append(value)
        result: list[Tensor | None] = [None] * len(edges)
        for i, rule, places in plan.calls:
            value = rule(*map(known.__getitem__, places))
            if i is None:
                result = list(value)
            elif op.many and i == len(op.args) - 1:
                result[i:] = value
            else:
                result[i] = value
        return result

    def _incoming(self, gradients: list[Tensor | None], layouts: list[Layout]) -> Any:
        """The gradients of several outputs, zeros for missing ones; for a single differentiable output, its own."""
        if self.plan.op.differentiable == 1:
            return gradients[0]
        given = gradients + [None] * (len(layouts) - len(gradients))
        like: Any = next(g for g in given if g is not None)
        return [
            like.new_zeros(shape, dtype=from_numpy_dtype(kind)) if g is None else g
            for g, (shape, kind) in zip(given, layouts, strict=True)
        ]

    def _plain(self, value: Any) -> Any:
        if type(value) is SavedOutputs:
            return value.of(self)
        if type(value) is list:
            return [v.unpack(self) if isinstance(v, Saved) else v for v in value]
        return value

    def place_of(self, name: str) -> int:
        """The position of what was saved under a name."""
        if self.saved is None:
            raise RuntimeError(FREED)
        if name not in self.plan.saved[: len(self.saved)]:
            raise AttributeError(f"'{self.name()}' did not save '{name}'")
        return self.plan.saved.index(name)

    def kept(self, name: str) -> Any:
        """What was saved under a name."""
        value = self.saved[self.place_of(name)]  # type: ignore[index]
        return value.unpack(self) if isinstance(value, Saved) else self._plain(value)

    def kept_tensor(self, name: str) -> SavedTensor:
        """The SavedTensor under a name, for hooks."""
        return SavedTensor(self, self.place_of(name))


def as_one(name: str, result: Tensor, *inputs: Any) -> Tensor:
    """A result of several operations that in Torch has a single node: programs see that one."""
    edge = result._edge
    if edge is not None:
        node: Any = edge[0]
        node.appearance = name, [edge_of(x) if isinstance(x, Tensor) else None for x in inputs]
    return result


@cache
def _node_class(name: str) -> type[OpNode]:
    """The class of nodes with a name, for programs that draw graphs."""
    return type(name, (OpNode,), {"__module__": "builtins"})


def _name_saved(names: Sequence[str]) -> None:
    """Give nodes Torch's attributes for saved values: `_saved_self`, `_saved_result`."""
    for name in names:
        shown = {"input": "self", "out": "result"}.get(name, name)
        if f"_saved_{shown}" not in OpNode.__dict__:
            setattr(OpNode, f"_saved_{shown}", property(partial(OpNode.kept, name=name)))
            setattr(OpNode, f"_raw_saved_{shown}", property(partial(OpNode.kept_tensor, name=name)))
