"""An operation is one record, and every call passes one door.

`Op` says how to compute from arrays and how each argument is differentiated. A derivative
is a function whose parameters name what it needs: `g` (the gradient of the output), the
operation's arguments and parameters, `out`. Only what some derivative names is saved.
Derivatives are written with tensor operations, so they can be differentiated in turn;
un-broadcasting and casting happen here, once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ..autograd.graph import inferring, modes
from ..backends.interface import ARRAYS, as_array, implementation, others
from ..dtypes import from_numpy_dtype
from ..interpreters import installed, interpret, is_seen
from ..numpy_warnings import SILENCE, silence
from ..tensor import (
    Array,
    Tensor,
    make_view,
    mark_inference,
    new_object,
    tracks,
)
from .nodes import Plan, make_node

REGISTRY: dict[str, Op] = {}
"""All operations, by name."""

Rule = Callable[..., Any] | None
"""A derivative; None if there is none: asking for it is an error that says so."""


Scalar = Callable[..., Any]
"""A function of single numbers, as described in `scalars.py`."""

ELEMENTWISE, REDUCTION, MOVEMENT, PRODUCT, OPAQUE = [
    "elementwise",
    "reduction",
    "movement",
    "product",
    "opaque",
]
"""The kinds of operations: what a compiler may do with them.

- elementwise: each element of the result is `scalar` of the corresponding elements of the inputs, which
  broadcast and are first cast to one dtype: that of the result, or, if the result is boolean, the one
  they promote to
- reduction: along some dimensions, to one element each, or a running one
- movement: elements are copied, or viewed, in another order or shape; nothing is computed
- product: sums of products, such as matrix products and convolutions
- opaque: all else; a compiler can only call it as a whole
"""


class Op:
    """One operation.

    Attributes:
        name: as in Torch
        args: the names of the arguments that may be tensors, in order; a last one that
            starts with `*` stands for all that follow
        compute: from arrays and parameters to an array or a tuple of arrays
        gradients: for each argument its derivative, or None if there is none. It is a
            function of any of: `g`, arguments, parameters, `out` (or `outs`), `shapes` (of
            the inputs), `needs` (which inputs need a gradient). That of a `*` argument
            returns a sequence. With several outputs that have derivatives, `g` is a list.
            In place of the dict: one function that returns a sequence of all derivatives.
        kind: one of the kinds above
        scalar: of an elementwise operation, the function of single numbers: of the elements of the inputs, then
            of the parameter `constants`, if the operation has one. None if the operation is a call of NumPy or
            SciPy
        view: whether the output is a view of the first argument
        differentiable: of several outputs, how many (the first ones) have a derivative
        outputs: names of several outputs, for derivatives that need some of them
        ufunc: computes the operation with `out=`, if it is a ufunc
        write: the in-place version, `write(target, *others, **params)`, where it changes only part of its
            first argument, or casts
        keeps_tensors: whether numbers and indices that it saves are tensors for programs, as in Torch
        check: the part of `compute` that raises errors for wrong arguments, for what computes in its place
        overlapping: whether its in-place version may write to a tensor whose elements overlap in memory
        crosses: whether its result may be on another device than its inputs
        node: the name of its node in the graph, where Torch's differs from the operation's name
        last_leaf: the position of the argument that, as a leaf, gets its gradient after the others
        shown_as: from a node to the name and edges that programs see, where Torch has several nodes
        doc: one line
        writes: the positions of inputs that it changes: none
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
        check: Callable[..., None] | None = None,
        overlapping: bool = False,
        crosses: bool = False,
        node: str = "",
        last_leaf: int | None = None,
        shown_as: Callable[[Any], Any] | None = None,
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
        self.check = check
        self.overlapping = overlapping
        self.crosses = crosses
        self.last_leaf = last_leaf
        self.shown_as = shown_as
        self.doc = doc
        self.node_name = node or _node_name(name)
        self.last_bit = 1 << max(len(args) - 1, 0)
        self.plans: dict[int, Plan] = {}
        undeclared = set() if callable(gradients) else set(self.args) - set(gradients)
        if undeclared:
            raise ValueError(f"{name}: no derivative declared for {sorted(undeclared)}")
        REGISTRY[name] = self

    writes: tuple[int, ...] = ()

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        return bind(self, inputs, params)

    def perform(self, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """Compute and record, bypassing interpreters."""
        return bind(self, inputs, params, asked=True)

    def __repr__(self) -> str:
        return f"Op({self.name}({', '.join(self.args)}))"


class Fused(Op):
    """An operation that computes a composition at once: on the CPU, if no interpreter or class has to see the parts.

    Attributes:
        composition: the same function of tensors, composed of other operations
    """

    def __init__(self, composition: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.composition = composition

    def __call__(self, *inputs: Any) -> Any:
        seen = installed and is_seen(inputs)
        if seen or (others and type(inputs[0]._array) is not ndarray):
            return self.composition(*inputs)
        return bind(self, inputs, {})


def _node_name(name: str) -> str:
    """The name that Torch gives an operation's node."""
    return "".join(w[:1].upper() + w[1:] for w in name.replace(".", "_").split("_")) + "Backward0"


# --- The door ----------------------------------------------------------------------------


def bind(op: Op, inputs: Sequence[Any], params: dict[str, Any], asked: bool = False) -> Any:
    """Perform an operation: compute it, and record it if a gradient may be needed.

    Interpreters, if any are active, go first.
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
    view = op.view
    if not view:  # views compute nothing that NumPy could warn of
        filters = warnings.filters
        if not filters or filters[0] is not SILENCE:
            silence()
    try:
        result = compute(*arrays, **params) if params else compute(*arrays)
    except TypeError as error:
        raise in_torch_words(error, op, arrays) from None
    except FloatingPointError:  # as `np.seterr` asked for
        with np.errstate(all="ignore"):
            result = compute(*arrays, **params)
    if type(result) is not ndarray:
        if type(result) is tuple:
            return _several(op, inputs, params, result, tracked and modes.grad)
        result = as_array(result)
    if view:
        out = make_view(result, inputs[0])
    else:
        out = new_object(Tensor)
        out._array = result
    if tracked and modes.grad:
        kind = result.dtype
        if kind.kind in "fcV":  # integers and booleans have no gradient
            node = make_node(op, inputs, params)
            node.layout = result.shape, kind
            if node.plan.outputs is not None:
                node.save_outputs((out,))
            out._edge = node, 0
            out._requires_grad = True
    elif inferring and modes.inference:
        mark_inference(out)
    return out


def in_torch_words(error: TypeError, op: Op, arrays: Sequence[Any]) -> Exception:
    """Torch's error where NumPy has no loop for a dtype; any other error as it is."""
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
    """The outputs of an operation with several, recorded."""
    outputs: list[Tensor] = []
    for result in results:
        array = result if type(result) is ndarray else as_array(result)
        if op.view:
            out = make_view(array, inputs[0], True)
        else:
            out = new_object(Tensor)
            out._array = array
        outputs.append(out)
    if recording and outputs and outputs[0]._array.dtype.kind in "fcV":
        node = make_node(op, inputs, params)
        node.save_outputs(outputs)
        node.layouts = layouts = []
        for n, out in enumerate(outputs[: op.differentiable]):
            kind = out._array.dtype
            layouts.append((out._array.shape, kind))
            if kind.kind in "fcV":
                out._edge, out._requires_grad = (node, n), True
    elif inferring and modes.inference:
        for out in outputs:
            mark_inference(out)
    return outputs


def without_derivative(name: str, result: Tensor, *inputs: Any) -> Tensor:
    """A result that is recorded without a derivative: asking for it is an error."""
    if not modes.grad or not any(isinstance(x, Tensor) and tracks(x) for x in inputs):
        return result
    key = f"{name}_without_derivative"
    op = REGISTRY.get(key) or Op(
        key, ("result", "*inputs"), lambda result, *inputs: result, {"result": None, "inputs": None}
    )
    return bind(op, (result, *inputs), {})
