"""Operations that programs define: a forward and a backward of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import from_numpy_dtype
from ..interpreters import installed
from ..ops.writes import rebase
from ..tensor import Tensor, edge_of, make_view, tracks
from .graph import Node, layout_at, modes
from .saved import FREED, Saved, save


class FunctionCtx:
    """What forward leaves for backward; programs may set attributes of their own."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True

    def __init__(self) -> None:
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._flat: tuple[Any, ...] = ()
        self._node: FunctionNode | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs or outputs: `saved_tensors` gives them back, and notices writes."""
        for i, x in enumerate(tensors):
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(
                    f"save_for_backward can only save tensors, but argument {i} is of type "
                    f"{type(x).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Accepted for forward-mode differentiation, which is not there."""

    def mark_dirty(self, *args: Any) -> None:
        """Say which inputs forward wrote into."""
        self._dirty = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say which outputs have no derivative."""
        self._flat = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that did not arrive are zeros in backward, or None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept; RuntimeError if it was written since or is freed."""
        node = self._node
        if node is None:
            return self._to_save
        if node.saved is None:
            raise RuntimeError(FREED)
        return tuple(v.unpack(node) if isinstance(v, Saved) else v for v in node.saved)

    saved_variables = saved_tensors


class FunctionNode(Node):
    """A recorded call of a program's own function."""

    def __init__(self, function: type[Function], ctx: FunctionCtx, inputs: Sequence[Any]) -> None:
        super().__init__([edge_of(x) if isinstance(x, Tensor) else None for x in inputs])
        self.function = function
        self.ctx = ctx
        self.saved: list[Any] | None = None
        self.layouts = []

    def name(self) -> str:
        return f"{self.function.__name__}Backward"

    def release(self) -> None:
        self.saved = None

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        given: list[Any] = gradients + [None] * (len(self.layouts) - len(gradients))
        if self.ctx.materialize_grads:
            like = next(g for g in given if g is not None)
            given = [
                like.new_zeros(layout[0], dtype=from_numpy_dtype(layout[1]))
                if g is None and layout is not None
                else g
                for g, layout in zip(given, self.layouts, strict=True)
            ]
        result = self.function.backward(self.ctx, *given)
        found = list(result) if isinstance(result, (tuple, list)) else [result]
        extra = found[len(self.edges) :]
        if len(found) < len(self.edges) or any(e is not None for e in extra):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients "
                f"(expected {len(self.edges)}, got {len(found)})"
            )
        for i, (edge, g) in enumerate(zip(self.edges, found, strict=False)):
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(
                    f"expected Variable or None as gradient {i} of {self.name()} "
                    f"(got {type(g).__name__})"
                )
            self._check_shape(i, edge, g)
        return found[: len(self.edges)]

    def _check_shape(self, i: int, edge: Any, gradient: Tensor | None) -> None:
        layout = None if edge is None else layout_at(edge)
        if gradient is None or layout is None or gradient._array.shape == layout[0]:
            return
        try:
            fits = np.broadcast_shapes(gradient._array.shape, layout[0]) == gradient._array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {i} - got "
                f"{list(gradient.shape)} but expected shape compatible with {list(layout[0])}"
            )


class Function:
    """An operation with a derivative of its own.

    Subclasses define the static methods `forward(ctx, ...)` (or `forward(...)` with
    `setup_context(ctx, inputs, output)`) and `backward(ctx, *gradients)`, and are called
    through `apply`.
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """From inputs to outputs."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep for backward what it needs, where `forward` takes no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """From gradients of the outputs, one for each input."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """From tangents of the inputs, one for each output."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated: "
            f"call {type(self).__name__}.apply, with static forward and backward."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the operation."""
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and tracks(x) for x in args)
        recording = modes.grad and any(ctx.needs_input_grad)
        node = FunctionNode(cls, ctx, args) if recording else None
        before, modes.grad = modes.grad, False
        try:
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args, **kwargs)
            else:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
        finally:
            modes.grad = before
        several = isinstance(result, (tuple, list))
        raw = list(result) if several else [result]
        if node is None:
            outputs = raw
        else:
            outputs = [_as_output(node, n, out, args) for n, out in enumerate(raw)]
            _keep(node, raw, outputs)
        if installed and cls.jvp is not Function.jvp:
            from .forward_ad import follow

            follow(cls.jvp, ctx, args, outputs)
        return tuple(outputs) if several else outputs[0]


def _as_output(node: FunctionNode, n: int, out: Any, inputs: Sequence[Any]) -> Any:
    """What forward returned, as output n of a node; what it wrote into gets the node as history."""
    is_tensor = isinstance(out, Tensor)
    node.layouts.append((out._array.shape, out._array.dtype) if is_tensor else None)
    flat = any(out is f for f in node.ctx._flat)
    if not is_tensor or flat or out._array.dtype.kind not in "fcV":
        return out
    if any(out is d for d in node.ctx._dirty):
        rebase(out, node)
        return out
    if any(out is x for x in inputs):
        out = make_view(out._array, out)
    out._edge, out._requires_grad = (node, n), True
    return out


def _keep(node: FunctionNode, raw: list[Any], outputs: list[Any]) -> None:
    """Save what forward asked for; outputs without their node, which would hold itself."""
    kept = []
    for tensor in node.ctx._to_save:
        at = next((n for n, r in enumerate(raw) if r is tensor), None)
        is_input = at is not None and outputs[at] is not tensor
        made_here = at is not None and not is_input and outputs[at]._edge == (node, at)
        kept.append(save(outputs[at], at) if made_here and at is not None else save(tensor))
    node.saved = kept
    node.ctx._node = node
    node.ctx._to_save = node.ctx._flat = ()


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that cannot itself be differentiated: trying to is an error that says so."""

    @functools.wraps(fn)
    def call(ctx: Any, *gradients: Any) -> Any:
        recording = modes.grad and any(isinstance(g, Tensor) and tracks(g) for g in gradients)
        before, modes.grad = modes.grad, False
        try:
            result = fn(ctx, *gradients)
        finally:
            modes.grad = before
        if not recording:
            return result
        several = result if isinstance(result, tuple) else (result,)
        node = _NotAgain([edge_of(g) for g in gradients if isinstance(g, Tensor)])
        for g in several:
            if isinstance(g, Tensor):
                g._edge, g._requires_grad = (node, 0), True
        return result

    return call


class _NotAgain(Node):
    """Stands behind gradients that cannot be differentiated."""

    def name(self) -> str:
        return "Error"

    def backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
