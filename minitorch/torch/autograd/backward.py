"""`backward` and `grad`: from outputs to the gradients of leaves, or of chosen inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ops.joining import stack
from ..tensor import Tensor, edge_of, wrap
from .graph import Edge, GradientEdge, Node, backward_pass, edge_behind, layout_at

NOT_RECORDED = "element {} of tensors does not require grad and does not have a grad_fn"


def _several(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value]
    one = isinstance(value, GradientEdge) or not isinstance(value, (tuple, list))
    return [value] if one else list(value)


def _edge(x: Any) -> Edge | None:
    """Where the gradient of a tensor, or of an edge that stands for one, goes."""
    return edge_behind(x) if isinstance(x, GradientEdge) else edge_of(x)


def _roots(
    outputs: Sequence[Any], gradients: Sequence[Any]
) -> list[tuple[Node | Tensor, int, Tensor]]:
    """Where to start, and with what: ones where an output is a single number."""
    if len(gradients) != len(outputs):
        raise RuntimeError(
            f"got {len(outputs)} tensors and {len(gradients)} gradients: the numbers must match"
        )
    roots = []
    for i, (out, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if not isinstance(out, (Tensor, GradientEdge)):
            raise TypeError(
                f"expected Tensor as element {i} of the outputs, got {type(out).__name__}"
            )
        edge = _edge(out)
        if edge is None:
            raise RuntimeError(NOT_RECORDED.format(i))
        if isinstance(out, GradientEdge):
            out = _like_its_output(edge)
        if gradient is None:
            if out._array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if out._array.dtype.kind == "c":
                raise RuntimeError(
                    "grad can be implicitly created only for real scalar outputs but got "
                    f"{out.dtype}"
                )
            gradient = out._ones()
        elif not isinstance(gradient, Tensor):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
            )
        elif gradient._array.shape != out._array.shape:
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and output[{i}] "
                f"has a shape of {out.shape}."
            )
        elif gradient._array.dtype != out._array.dtype:
            gradient = gradient.to(out.dtype)
        roots.append((*edge, gradient))
    return roots


def _like_its_output(edge: Edge) -> Tensor:
    """A tensor of the shape and type of what an edge stands for; its values do not matter."""
    shape, kind = layout_at(edge) or ((), np.dtype(np.float32))
    return wrap(np.broadcast_to(np.zeros((), kind), shape))


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add to the `grad` of every leaf that the tensors came from, or of the inputs named."""
    outputs = _several(tensors)
    given = grad_tensors if grad_variables is None else grad_variables
    gradients = [None] * len(outputs) if given is None else _several(given)
    keep = create_graph if retain_graph is None else retain_graph
    targets = None
    if inputs is not None:
        named = _several(inputs)
        if not named:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        targets = []
        for i, x in enumerate(named):
            edge = _edge(x)
            if edge is None:
                raise RuntimeError(
                    f"One of the differentiated Tensors does not require grad (input {i})"
                )
            if isinstance(x, Tensor) and x._edge is not None:
                x.retain_grad()
            targets.append(edge)
    backward_pass(_roots(outputs, gradients), targets, keep, create_graph, leaves=True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of outputs with respect to inputs, returned and not accumulated."""
    outs = _several(outputs)
    ins: list[Any] = [inputs] if isinstance(inputs, (Tensor, GradientEdge)) else list(inputs)
    if not ins:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    gradients = [None] * len(outs) if grad_outputs is None else _several(grad_outputs)
    if is_grads_batched:
        return _batched(outs, ins, gradients, create_graph, allow_unused)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True"
        )
    keep = create_graph if retain_graph is None else retain_graph
    targets = []
    for i, x in enumerate(ins):
        edge = _edge(x)
        if edge is None:
            raise RuntimeError(
                f"One of the differentiated Tensors does not require grad (input {i})"
            )
        targets.append(edge)
    found = backward_pass(_roots(outs, gradients), targets, keep, create_graph)
    if materialize_grads:
        if any(f is None and isinstance(x, GradientEdge) for x, f in zip(ins, found, strict=True)):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        return tuple(
            x.new_zeros(x.shape) if f is None else f for x, f in zip(ins, found, strict=True)
        )
    if not allow_unused and any(f is None for f in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return tuple(found)


def _batched(
    outs: list[Tensor],
    ins: list[Tensor],
    gradients: list[Any],
    create_graph: bool,
    allow_unused: Any,
) -> tuple[Any, ...]:
    """One walk for each row of the gradients."""
    rows = [
        grad(outs, ins, [g[i] for g in gradients], True, create_graph, allow_unused=allow_unused)
        for i in range(len(gradients[0]))
    ]
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows, strict=True))


def _backward_method(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add to the `grad` of every leaf that this tensor came from."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_backward_method.__name__ = "backward"
Tensor.backward = _backward_method  # type: ignore[attr-defined]
