"""An operation is one record, and every call passes one door.

`Op` says how to compute from arrays and how each argument is differentiated. A derivative
is a function whose parameters name what it needs: `g` (the gradient of the output), the
operation's arguments and parameters, `out`. Only what some derivative names is saved.
Derivatives are written with tensor operations, so they can be differentiated in turn;
un-broadcasting and casting happen here, once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..autograd.graph import Edge, Node, modes
from ..tensor import Array, Tensor, edge_of, make_view, mark_inference, tracks, wrap

REGISTRY: dict[str, Op] = {}
"""All operations, by name."""

Rule = Callable[..., Any] | None
"""A derivative; None where there is none, and asking for it is an error that says so."""


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
        view: whether the output looks at the first argument's memory
        differentiable: of several outputs, how many (the first ones) have a derivative
        ufunc: where the operation is one: what computes it straight into given memory
        doc: one line
    """

    def __init__(
        self,
        name: str,
        args: tuple[str, ...],
        compute: Callable[..., Any],
        gradients: dict[str, Rule],
        *,
        view: bool = False,
        differentiable: int | None = None,
        ufunc: Callable[..., Array] | None = None,
        doc: str = "",
    ) -> None:
        self.name = name
        self.args = tuple(a.removeprefix("*") for a in args)
        self.many = bool(args) and args[-1].startswith("*")
        self.compute = compute
        self.gradients = gradients
        self.view = view
        self.differentiable = differentiable
        self.ufunc = ufunc
        self.doc = doc
        self.node_name = _node_name(name)
        self.plans: dict[int, _Plan] = {}
        undeclared = set(self.args) - set(gradients)
        if undeclared:
            raise ValueError(f"{name}: no derivative declared for {sorted(undeclared)}")
        REGISTRY[name] = self

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        return bind(self, inputs, params)

    def __repr__(self) -> str:
        return f"Op({self.name}({', '.join(self.args)}))"


def _node_name(name: str) -> str:
    """The name of an operation's node, as Torch writes it."""
    return "".join(w[:1].upper() + w[1:] for w in name.replace(".", "_").split("_")) + "Backward0"


# --- The door ----------------------------------------------------------------------------


def bind(op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
    """Perform an operation: compute it, and record it if a gradient may be wanted."""
    arrays = []
    recording = False
    for x in inputs:
        if isinstance(x, Tensor):
            arrays.append(x._array)
            if not recording and (x._requires_grad or (x._base is not None and tracks(x))):
                recording = modes.grad
        else:
            arrays.append(x)
    result = op.compute(*arrays, **params)
    if type(result) is tuple:
        outputs = [_output(op, r, inputs, several=True) for r in result]
        if recording:
            _record(op, inputs, params, outputs)
        return outputs
    out = _output(op, result, inputs)
    if recording:
        _record(op, inputs, params, (out,))
    return out


def _output(op: Op, array: Array, inputs: Sequence[Any], several: bool = False) -> Tensor:
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if op.view:
        return make_view(array, inputs[0], several)
    out = wrap(array)
    if modes.inference:
        mark_inference(out)
    return out


def _record(
    op: Op, inputs: Sequence[Any], params: dict[str, Any], outputs: Sequence[Tensor]
) -> None:
    """Put an operation into the graph, behind its outputs."""
    count = len(outputs) if op.differentiable is None else op.differentiable
    if outputs[0]._array.dtype.kind not in "fcV":
        return  # comparisons, indices, casts to whole numbers: nothing flows through
    node = OpNode(op, inputs, params)
    node.save_outputs(outputs)
    for n in range(count):
        out = outputs[n]
        out._node, out._output, out._requires_grad = node, n, True


# --- What a node keeps ---------------------------------------------------------------------

_G, _NEEDS = "g", "needs"


class _Plan(NamedTuple):
    """What to save, for one choice of arguments that want a gradient."""

    inputs: list[int]  # which inputs, in the order of `saved`
    rest: bool  # whether all inputs of a `*` argument follow
    params: list[tuple[str, Any]]  # their names and defaults
    shapes: bool
    outputs: bool | None  # None: none; False: the first; True: all of them
    calls: list[tuple[int, Callable[..., Any], list[str]]]  # argument, derivative, what it takes


def _plan(op: Op, wanted: int) -> _Plan:
    """Read off the derivatives of the wanted arguments (bits of a number) what they need."""
    calls = []
    needed: dict[str, None] = {}
    for i, arg in enumerate(op.args):
        if wanted >> i & 1:
            rule = op.gradients[arg]
            if rule is None:
                raise NotImplementedError(f"derivative for '{arg}' of {op.name} is not implemented")
            names = list(inspect.signature(rule).parameters)
            calls.append((i, rule, names))
            needed.update(dict.fromkeys(names))
    defaults = inspect.signature(op.compute).parameters
    last = len(op.args) - 1
    special = {_G, _NEEDS, "out", "outs", "shapes", *op.args}
    return _Plan(
        [i for i, a in enumerate(op.args) if a in needed and not (op.many and i == last)],
        op.many and op.args[last] in needed,
        [(n, defaults[n].default if n in defaults else None) for n in needed if n not in special],
        "shapes" in needed,
        True if "outs" in needed else False if "out" in needed else None,
        calls,
    )


class Saved:
    """A tensor that a derivative will need, and its version when it was saved.

    An output is saved without its node: the node would hold itself.
    """

    __slots__ = ("output", "packed", "tensor", "version")

    def __init__(self, tensor: Tensor, output: int | None = None) -> None:
        if output is not None:
            alias = wrap(tensor._array)
            if tensor._counter is None:
                tensor._counter = [0]
            alias._counter = tensor._counter
            tensor = alias
        counter = tensor._counter
        self.version = 0 if counter is None else counter[0]
        self.output = output
        self.packed = modes.saving
        self.tensor: Any = tensor if self.packed is None else self.packed[0](tensor)

    def unpack(self, node: Node) -> Tensor:
        """The tensor as it was saved; RuntimeError if its memory was written since."""
        tensor: Tensor = self.tensor if self.packed is None else self.packed[1](self.tensor)
        if self.packed is None and tensor._version != self.version:
            raise RuntimeError(_written_since(tensor, node if self.output is not None else None, self.version))
        if self.output is None:
            return tensor
        alias = wrap(tensor._array)
        alias._counter = tensor._counter
        alias._node, alias._output, alias._requires_grad = node, self.output, True
        return alias


def _written_since(tensor: Tensor, node: Node | None, version: int) -> str:
    maker = node or tensor._node
    source = "" if maker is None else f", which is output {tensor._output} of {maker.name()},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{tensor.dtype.type_name} {list(tensor._array.shape)}]{source} is at "
        f"version {tensor._version}; expected version {version} instead. Hint: enable anomaly "
        "detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True)."
    )


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


class OpNode(Node):
    """A recorded operation of the registry."""

    __slots__ = ("layouts", "op", "output_layouts", "plan", "saved")

    def __init__(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> None:
        edges: list[Edge | None] = []
        layouts: list[tuple[tuple[int, ...], Any] | None] = []
        wanted = 0
        last = len(op.args) - 1
        for i, x in enumerate(inputs):
            edge = edge_of(x) if isinstance(x, Tensor) else None
            edges.append(edge)
            if edge is None:
                layouts.append(None)
            else:
                wanted |= 1 << (i if i < last else last)
                layouts.append((x._array.shape, x._array.dtype))
        super().__init__(edges)
        self.op = op
        self.layouts = layouts
        plan = op.plans.get(wanted)
        if plan is None:
            plan = op.plans[wanted] = _plan(op, wanted)
        self.plan = plan
        saved: dict[str, Any] = {}
        for i in plan.inputs:
            x = inputs[i]
            saved[op.args[i]] = Saved(x) if isinstance(x, Tensor) else x
        if plan.rest:
            rest = inputs[last:]
            saved[op.args[last]] = [Saved(x) if isinstance(x, Tensor) else x for x in rest]
        for name, default in plan.params:
            saved[name] = params.get(name, default)
        if plan.shapes:
            saved["shapes"] = [x._array.shape if isinstance(x, Tensor) else None for x in inputs]
        self.saved: dict[str, Any] | None = saved
        self.output_layouts: Any = None

    def save_outputs(self, outputs: Sequence[Tensor]) -> None:
        """Keep outputs that derivatives name, and the layouts of several."""
        which = self.plan.outputs
        if which is not None:
            assert self.saved is not None
            if which:
                self.saved["outs"] = [Saved(o, n) for n, o in enumerate(outputs)]
            else:
                self.saved["out"] = Saved(outputs[0], 0)
        if len(outputs) > 1 and self.op.differentiable != 1:
            self.output_layouts = [(o._array.shape, o._array.dtype) for o in outputs]

    def name(self) -> str:
        return self.op.node_name

    def release(self) -> None:
        self.saved = None

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        known = self.saved
        if known is None:
            raise RuntimeError(FREED)
        known = {name: self._unpacked(value) for name, value in known.items()}
        if self.output_layouts is None:
            known[_G] = gradients[0]
        else:
            given = dict(enumerate(gradients))
            known[_G] = [
                wrap(np.zeros(*layout)) if given.get(n) is None else given[n]
                for n, layout in enumerate(self.output_layouts)
            ]
        edges = self.edges
        known[_NEEDS] = [e is not None for e in edges]
        result: list[Tensor | None] = [None] * len(edges)
        op = self.op
        for i, rule, names in self.plan.calls:
            value = rule(*[known[n] for n in names])
            if op.many and i == len(op.args) - 1:
                for k, gradient in enumerate(value, start=i):
                    result[k] = self._fit(gradient, k)
            else:
                result[i] = self._fit(value, i)
        return result

    def _unpacked(self, value: Any) -> Any:
        if type(value) is Saved:
            return value.unpack(self)
        if type(value) is list:
            return [v.unpack(self) if type(v) is Saved else v for v in value]
        return value

    def _fit(self, gradient: Any, i: int) -> Tensor | None:
        """Undo broadcasting: sum where forward copied; and give the input's type back."""
        layout = self.layouts[i]
        if gradient is None or layout is None:
            return None
        shape, kind = layout
        if gradient._array.shape != shape:
            gradient = gradient.sum_to_size(shape)
        if gradient._array.dtype != kind:
            if gradient._array.dtype.kind == "c" and kind.kind != "c":
                gradient = gradient.real
            gradient = gradient.to(dtypes.from_numpy_dtype(kind))
        return gradient

    def __getattr__(self, name: str) -> Any:
        """`_saved_self`, `_saved_result`: what was kept, under Torch's names."""
        if not name.startswith("_saved_"):
            raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")
        if self.saved is None:
            raise RuntimeError(FREED)
        name = name.removeprefix("_saved_")
        name = {"self": "input", "result": "out"}.get(name, name)
        if name not in self.saved:
            raise AttributeError(f"'{self.name()}' did not save '{name}'")
        return self._unpacked(self.saved[name])
