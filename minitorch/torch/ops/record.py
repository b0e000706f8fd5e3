"""An operation is one record, and every call passes one door.

`Op` says how to compute from arrays and how each argument is differentiated. A derivative
is a function whose parameters name what it needs: `g` (the gradient of the output), the
operation's arguments and parameters, `out`. Only what some derivative names is saved.
Derivatives are written with tensor operations, so they can be differentiated in turn;
un-broadcasting and casting happen here, once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from ..autograd.graph import Edge, Layout, Node, modes, numbers
from ..autograd.saved import FREED, Saved, SavedOutputs, save
from ..backends.interface import ARRAYS, as_array, implementation, others
from ..dtypes import from_numpy_dtype
from ..interpreters import installed, interpret
from ..numpy_warnings import SILENCE, silence
from ..tensor import (
    Array,
    Tensor,
    blank,
    edge_of,
    make_view,
    mark_inference,
    tracks,
)

REGISTRY: dict[str, Op] = {}
"""All operations, by name."""

Rule = Callable[..., Any] | None
"""A derivative; None where there is none, and asking for it is an error that says so."""


Scalar = Callable[..., Any]
"""A function of single numbers, as `scalars.py` describes it."""

ELEMENTWISE, REDUCTION, MOVEMENT, PRODUCT, OPAQUE = [
    "elementwise",
    "reduction",
    "movement",
    "product",
    "opaque",
]
"""The kinds of operations: what a compiler may do with them.

- elementwise: each element of the result is `scalar` of the elements of the inputs at its place, which
  broadcast together and are first cast to one type: that of the result, or, where the result is
  boolean, the one they promote to
- reduction: along some dimensions, to one element or to as many
- movement: elements are copied, or looked at, in another order or shape; nothing is computed
- product: sums of products, as of matrices and in convolutions
- opaque: all else. Only the operation itself, as a whole, knows what it does
"""


class Op:
    """One operation.

    Attributes:
        name: as in Torch
        args: the names of the arguments that may be tensors, in order; a last one that
            starts with `*` stands for all that follow
        compute: from arrays and parameters to an array, or a tuple of them
        gradients: for each argument its derivative, or None where there is none. It is a
            function of any of: `g`, arguments, parameters, `out` (or `outs`), `shapes` (of
            the inputs), `needs` (which inputs want a gradient). That of a `*` argument
            returns a sequence. With several outputs that have derivatives, `g` is a list.
            Where all are computed at once: one function that returns a sequence of them all.
        kind: one of the kinds above
        scalar: of an elementwise operation, the function of single numbers: of the elements of the inputs, then
            of the parameter `constants`, if the operation has one. None where nobody wrote one: the operation is
            a call of NumPy's or SciPy's
        view: whether the output looks at the first argument's memory
        differentiable: of several outputs, how many (the first ones) have a derivative
        outputs: names of several outputs, for derivatives that need some of them
        ufunc: where the operation is one: what computes it straight into given memory
        write: of an operation whose twin changes part of its first argument, or casts: how it
            does that, `write(target, *others, **params)`
        keeps_tensors: whether what it keeps counts as tensors, as in Torch: a number beside one, an index
        overlapping: whether its twin may write to memory that a tensor shows more than once
        crosses: whether its result may be on another device than its inputs
        node: what its node in the graph is called, where Torch does not call it by the operation's name
        doc: one line
        writes: which inputs it changes: none
    """

    def __init__(
        self,
        name: str,
        args: tuple[str, ...],
        compute: Callable[..., Any],
        gradients: dict[str, Rule] | Callable[..., Any],
        *,
        kind: str = "",
        scalar: Scalar | None = None,
        view: bool = False,
        differentiable: int | None = None,
        outputs: tuple[str, ...] = (),
        ufunc: Callable[..., Array] | None = None,
        write: Callable[..., None] | None = None,
        keeps_tensors: bool = False,
        overlapping: bool = False,
        crosses: bool = False,
        node: str = "",
        doc: str = "",
    ) -> None:
        self.name = name
        self.args = tuple(a.removeprefix("*") for a in args)
        self.many = bool(args) and args[-1].startswith("*")
        self.compute = compute
        self.gradients = gradients
        self.kind = kind or (ELEMENTWISE if scalar else MOVEMENT if view else OPAQUE)
        self.scalar = scalar
        self.view = view
        self.differentiable = differentiable
        self.outputs = outputs
        self.ufunc = ufunc
        self.write = write
        self.keeps_tensors = keeps_tensors
        self.overlapping = overlapping
        self.crosses = crosses
        self.doc = doc
        self.node_name = node or _node_name(name)
        self.last_bit = 1 << max(len(args) - 1, 0)
        self.plans: dict[int, _Plan] = {}
        undeclared = set() if callable(gradients) else set(self.args) - set(gradients)
        if undeclared:
            raise ValueError(f"{name}: no derivative declared for {sorted(undeclared)}")
        REGISTRY[name] = self

    writes: tuple[int, ...] = ()

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        return bind(self, inputs, params)

    def perform(self, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute and record, without asking interpreters."""
        return bind(self, inputs, params, asked=True)

    def __repr__(self) -> str:
        return f"Op({self.name}({', '.join(self.args)}))"


def _node_name(name: str) -> str:
    """The name of an operation's node, as Torch writes it."""
    return "".join(w[:1].upper() + w[1:] for w in name.replace(".", "_").split("_")) + "Backward0"


# --- The door ----------------------------------------------------------------------------


def bind(op: Op, inputs: Sequence[Any], params: dict[str, Any], asked: bool = False) -> Any:
    """Perform an operation: compute it, and record it if a gradient may be wanted.

    Interpreters, if there are any, are asked first.
    """
    if installed and not asked:
        return interpret(op, inputs, params)
    arrays = []
    tracked = False
    for x in inputs:
        if isinstance(x, Tensor):
            arrays.append(x._array)
            if x._requires_grad or (x._base is not None and tracks(x)):
                tracked = True
        else:
            arrays.append(x)
    compute = implementation(op, arrays) if others else op.compute
    filters = warnings.filters
    if not filters or filters[0] is not SILENCE:
        silence()
    try:
        result = compute(*arrays, **params) if params else compute(*arrays)
    except TypeError as error:
        raise in_our_words(error, op, arrays) from None
    if type(result) is not ndarray:
        if type(result) is tuple:
            return _several(op, inputs, params, result, tracked and modes.grad)
        result = as_array(result)
    if op.view:
        out = make_view(result, inputs[0])
    else:
        out = blank(Tensor)
        out._array = result
    if tracked and modes.grad:
        kind = result.dtype
        if kind.kind in "fcV":  # nothing flows through comparisons, indices, counts
            node = make_node(op, inputs, params)
            node.layout = result.shape, kind
            if node.plan.outputs is not None:
                node.save_outputs((out,))
            out._edge = node, 0
            out._requires_grad = True
    elif modes.inference:
        mark_inference(out)
    return out


def in_our_words(error: TypeError, op: Op, arrays: Sequence[Any]) -> Exception:
    """What Torch says where NumPy has no loop for a type; any other error as it is."""
    if not str(error).startswith("ufunc '"):
        return error
    kinds = [x.dtype for x in arrays if type(x) in ARRAYS]
    kinds += [np.result_type(*kinds, x) for x in arrays if isinstance(x, complex)]
    highest = from_numpy_dtype(max(kinds, key=lambda kind: "buiVfc".index(kind.kind)))
    name = highest.type_name.removesuffix("Tensor")
    return NotImplementedError(f"\"{op.name}_cpu\" not implemented for '{name}'")


def _several(
    op: Op,
    inputs: Sequence[Any],
    params: dict[str, Any],
    results: tuple[Array, ...],
    recording: bool,
) -> list[Tensor]:
    """The outputs of an operation that has more than one."""
    outputs: list[Tensor] = []
    for result in results:
        array = result if type(result) is ndarray else as_array(result)
        if op.view:
            out = make_view(array, inputs[0], True)
        else:
            out = blank(Tensor)
            out._array = array
        outputs.append(out)
        if modes.inference:
            mark_inference(out)
    if recording and outputs and outputs[0]._array.dtype.kind in "fcV":
        node = make_node(op, inputs, params)
        node.save_outputs(outputs)
        count = len(outputs) if op.differentiable is None else op.differentiable
        node.layouts = []
        for n, out in enumerate(outputs[:count]):
            kind = out._array.dtype
            node.layouts.append((out._array.shape, kind))
            if kind.kind in "fcV":
                out._edge, out._requires_grad = (node, n), True
    return outputs


def without_derivative(name: str, result: Tensor, *inputs: Any) -> Tensor:
    """A result that is recorded though nobody knows its derivative: asking for it is an error."""
    if not modes.grad or not any(isinstance(x, Tensor) and tracks(x) for x in inputs):
        return result
    key = f"{name}_without_derivative"
    op = REGISTRY.get(key) or Op(
        key, ("result", "*inputs"), lambda result, *inputs: result, {"result": None, "inputs": None}
    )
    return bind(op, (result, *inputs), {})


# --- What a node keeps ---------------------------------------------------------------------


@dataclass(slots=True)  # quicker to read than a named tuple
class _Plan:
    """What to save, for one choice of arguments that want a gradient.

    What a derivative takes is found by its place among: the gradient, which inputs want one,
    saved inputs, the rest of them, parameters, shapes, outputs.
    """

    op: Op
    saved: tuple[str, ...]  # names
    needs: bool  # whether a derivative asks which inputs want one
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


def _plan(op: Op, wanted: int) -> _Plan:
    """Read off the derivatives of the wanted arguments (bits of a number) what they need."""
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
    return _Plan(
        op, tuple(order[2:]), "needs" in needed, tuple(inputs), rest, tuple(params), "shapes" in needed,
        None if outputs is None else outputs == "outs", tuple(named),
        not (inputs or rest or params or "shapes" in needed),
        "shapes" in needed and op.args == ("input",) and not (inputs or rest or params),
        tuple(calls),
    )  # fmt: skip


def _rules(op: Op, wanted: int) -> list[tuple[int | None, Callable[..., Any]]]:
    """The derivatives of the wanted arguments; None stands for all of them at once."""
    if callable(op.gradients):
        return [(None, op.gradients)]
    wants = [(i, arg) for i, arg in enumerate(op.args) if wanted >> i & 1]
    return [(i, op.gradients[arg] or _no_derivative(op.name)) for i, arg in wants]


def _no_derivative(name: str) -> Callable[[Any], Any]:
    """The derivative of what has none: an error when it is asked for, as in Torch."""

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
            edge = x._edge
            if edge is None or x._base is not None:
                edge = edge_of(x)
            if edge is not None:
                wanted |= bit
        edges.append(edge)
        if bit != last:
            bit <<= 1
    plan = op.plans.get(wanted)
    if plan is None:
        plan = op.plans[wanted] = _plan(op, wanted)
    node = blank(OpNode)
    node.plan = plan
    node.edges = edges
    node.number = next(numbers)
    if plan.keeps_nothing:
        node.saved = []
    elif plan.keeps_shape:
        node.saved = [(inputs[0]._array.shape,)]
    else:
        node.saved = _kept(plan, inputs, params)
    if modes.anomaly:
        node.remember_call()
    return node


def _kept(plan: _Plan, inputs: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """What a plan asks for."""
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

    plan: _Plan
    saved: list[Any] | None
    layouts: list[Layout] | None = None  # of several outputs

    def save_outputs(self, outputs: Sequence[Tensor]) -> None:
        """Keep outputs that derivatives name."""
        plan, saved = self.plan, self.saved
        if saved is None:
            return
        if plan.outputs is False:
            saved.append(save(outputs[0], 0))
        elif plan.outputs:
            saved.append(SavedOutputs([save(o, n) for n, o in enumerate(outputs)]))
        if plan.named:
            count = len(outputs) if plan.op.differentiable is None else plan.op.differentiable
            saved += [save(outputs[n], n if n < count else None) for n in plan.named]

    def name(self) -> str:
        return self.plan.op.node_name

    def layout_of(self, output: int) -> Layout | None:
        return self.layout if self.layouts is None else self.layouts[output]

    def keeps_tensors(self) -> bool:
        if self.plan.op.keeps_tensors and self.saved:
            return True
        for value in self.saved or ():
            if isinstance(value, Saved) or type(value) in (SavedOutputs, list):
                return True
        return False

    def release(self) -> None:
        """Forget tensors; a node that kept none can be walked again."""
        if self.keeps_tensors():
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
            known.append(value.unpack(self) if isinstance(value, Saved) else self._plain(value))
        result: list[Tensor | None] = [None] * len(edges)
        for i, rule, places in plan.calls:
            value = rule(*[known[k] for k in places])
            if i is None:
                result = list(value)
            elif op.many and i == len(op.args) - 1:
                result[i:] = value
            else:
                result[i] = value
        return result

    def _incoming(self, gradients: list[Tensor | None], layouts: list[Layout]) -> Any:
        """The gradients of several outputs, zeros where none arrived; of one that has any, that."""
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

    def kept(self, name: str) -> Any:
        """What was saved under a name."""
        if self.saved is None:
            raise RuntimeError(FREED)
        if name not in self.plan.saved[: len(self.saved)]:
            raise AttributeError(f"'{self.name()}' did not save '{name}'")
        value = self.saved[self.plan.saved.index(name)]
        return value.unpack(self) if isinstance(value, Saved) else self._plain(value)


def _name_saved(names: Sequence[str]) -> None:
    """Let nodes show what they saved under Torch's names: `_saved_self`, `_saved_result`."""
    for name in names:
        shown = "_saved_" + {"input": "self", "out": "result"}.get(name, name)
        if not hasattr(OpNode, shown):
            setattr(OpNode, shown, property(partial(OpNode.kept, name=name)))
