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
from ..interpreters import installed, interpret
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
        check: what looks at the arguments first, and raises an error where they cannot be: part of `compute`, to be
            called by what computes in its place
        overlapping: whether its twin may write to memory that a tensor shows more than once
        crosses: whether its result may be on another device than its inputs
        node: what its node in the graph is called, where Torch does not call it by the operation's name
        last_leaf: the place of the argument that, as a leaf, gets its gradient after the others
        looks: of a node, the name and the edges that programs see, where Torch takes several steps
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
        check: Callable[..., None] | None = None,
        overlapping: bool = False,
        crosses: bool = False,
        node: str = "",
        last_leaf: int | None = None,
        looks: Callable[[Any], Any] | None = None,
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
        self.looks = looks
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
        """Compute and record, without asking interpreters."""
        return bind(self, inputs, params, asked=True)

    def __repr__(self) -> str:
        return f"Op({self.name}({', '.join(self.args)}))"


class Fused(Op):
    """An operation that computes at once what others are composed to: on the CPU, where no interpreter is to see those.

    Attributes:
        composition: the same of tensors, by those others
    """

    def __init__(self, composition: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.composition = composition

    def __call__(self, *inputs: Any) -> Any:
        if installed or (others and type(inputs[0]._array) is not ndarray):
            return self.composition(*inputs)
        return bind(self, inputs, {})


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
    view = op.view
    if not view:  # what only looks at memory has no numbers to warn of
        filters = warnings.filters
        if not filters or filters[0] is not SILENCE:
            silence()
    try:
        result = compute(*arrays, **params) if params else compute(*arrays)
    except TypeError as error:
        raise in_our_words(error, op, arrays) from None
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
        if kind.kind in "fcV":  # nothing flows through comparisons, indices, counts
            node = make_node(op, inputs, params)
            node.layout = result.shape, kind
            if node.plan.outputs is not None:
                node.save_outputs((out,))
            out._edge = node, 0
            out._requires_grad = True
    elif inferring and modes.inference:
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
    """A result that is recorded though nobody knows its derivative: asking for it is an error."""
    if not modes.grad or not any(isinstance(x, Tensor) and tracks(x) for x in inputs):
        return result
    key = f"{name}_without_derivative"
    op = REGISTRY.get(key) or Op(
        key, ("result", "*inputs"), lambda result, *inputs: result, {"result": None, "inputs": None}
    )
    return bind(op, (result, *inputs), {})
