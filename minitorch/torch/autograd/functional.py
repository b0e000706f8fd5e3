"""Jacobians, Hessians, and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.joining import stack
from ..tensor import Tensor, wrap
from .backward import grad
from .modes import enable_grad


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _fresh(inputs: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    """Inputs that require grad and have no history of their own, unless the graph goes on."""
    for x in inputs:
        if not isinstance(x, Tensor):
            raise TypeError(f"The inputs must be Tensors, but got {type(x).__name__}")
    if create_graph:
        return tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs
        )
    return tuple(x.detach().requires_grad_() for x in inputs)


def _call(func: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """What a function makes of inputs: a tensor, or several."""
    result = func(*inputs)
    for out in _tuple(result):
        if not isinstance(out, Tensor):
            raise TypeError(
                "The outputs of the user-provided function must be either a Tensor or a tuple of "
                f"Tensors but got {type(out).__name__}"
            )
    return result


def _finish(value: Any, create_graph: bool) -> Any:
    """Results outside the graph, unless it goes on."""
    if isinstance(value, (tuple, list)):
        return tuple(_finish(v, create_graph) for v in value)
    return value if create_graph else value.detach()


def _zeros_for_none(found: Any, inputs: Any, strict: bool, what: str) -> list[Tensor]:
    if strict and any(f is None for f in found):
        raise RuntimeError(
            f"The {what} is independent of an input. This is not allowed in strict mode."
        )
    return [x.new_zeros(x.shape) if f is None else f for f, x in zip(found, inputs, strict=True)]


def _grad_or_zeros(
    out: Tensor, inputs: Any, weight: Any, create_graph: bool, strict: bool = False
) -> list[Tensor]:
    if not out.requires_grad:
        found: Any = [None] * len(inputs)
    else:
        found = grad(
            out, inputs, weight, retain_graph=True, create_graph=create_graph, allow_unused=True
        )
    return _zeros_for_none(found, inputs, strict, "output")


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: the derivative of each output element by each input element."""
    with enable_grad():
        xs = _fresh(_tuple(inputs), create_graph)
        result = _call(func, xs)
        table = []
        for out in _tuple(result):
            flat = out.reshape(-1)
            rows = [
                _grad_or_zeros(flat[j], xs, None, create_graph, strict) for j in range(flat.numel())
            ]
            table.append(
                tuple(
                    _stacked([row[k] for row in rows], x).reshape((*out.shape, *x.shape))
                    for k, x in enumerate(xs)
                )
            )
    table = _finish(table, create_graph)
    if not isinstance(inputs, (tuple, list)):
        table = tuple(row[0] for row in table)
    return table if isinstance(result, (tuple, list)) else table[0]


def _stacked(rows: list[Tensor], x: Tensor) -> Tensor:
    return stack(rows) if rows else x.new_zeros((0, *x.shape))


def hessian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
    vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Hessian of a function that returns one number."""

    def gradient(*xs: Any) -> Any:
        out = func(*xs)
        if not isinstance(out, Tensor) or out.numel() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single element"
            )
        found = tuple(_grad_or_zeros(out.reshape(()), xs, None, True, strict))
        return found if isinstance(inputs, (tuple, list)) else found[0]

    return jacobian(gradient, inputs, create_graph, strict)


def _vector(v: Any, like: Any, what: str) -> list[Tensor]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {what} is a single Tensor with a single element"
            )
        return [wrap(np.ones_like(like[0]._array))]
    vectors = list(_tuple(v))
    for i, (a, b) in enumerate(zip(vectors, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(
                f"v has invalid size: should be {list(b.shape)} but got {list(a.shape)} (entry {i})"
            )
    return vectors


def _like(results: list[Any], given: Any) -> Any:
    return tuple(results) if isinstance(given, (tuple, list)) else results[0]


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """The outputs, and a vector times the Jacobian."""
    with enable_grad():
        xs = _fresh(_tuple(inputs), create_graph)
        result = _call(func, xs)
        outs = list(_tuple(result))
        weights = _vector(v, outs, "the output")
        found = grad(outs, xs, weights, create_graph=create_graph, allow_unused=True)
        products = _zeros_for_none(found, xs, strict, "output")
    return _finish(result, create_graph), _finish(_like(products, inputs), create_graph)


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """The outputs, and the Jacobian times a vector: the gradient of a vector-Jacobian product."""
    with enable_grad():
        xs = _fresh(_tuple(inputs), create_graph)
        vectors = _vector(v, xs, "the input")
        result = _call(func, xs)
        outs = list(_tuple(result))
        dummies = [wrap(np.zeros_like(o._array)).requires_grad_() for o in outs]
        backwards = _zeros_for_none(
            grad(outs, xs, dummies, create_graph=True, allow_unused=True), xs, strict, "output"
        )
        found = _grad_of_linked(backwards, dummies, vectors, create_graph)
        products = _zeros_for_none(found, outs, strict, "output")
    return _finish(result, create_graph), _finish(_like(products, result), create_graph)


def _grad_of_linked(
    outs: Sequence[Tensor], inputs: Sequence[Tensor], vectors: Sequence[Tensor], create_graph: bool
) -> Sequence[Tensor | None]:
    """The gradients of those outputs that have a history, times vectors; None for each input where none has."""
    linked = [(out, v) for out, v in zip(outs, vectors, strict=True) if out.requires_grad]
    if not linked:
        return [None] * len(inputs)
    given, weights = zip(*linked, strict=True)
    return grad(given, inputs, weights, create_graph=create_graph, allow_unused=True)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """The output, and a vector times the Hessian."""
    with enable_grad():
        xs = _fresh(_tuple(inputs), create_graph)
        vectors = _vector(v, xs, "the input")
        out = _call(func, xs)
        first = _grad_or_zeros(out, xs, None, True, strict)
        found = _grad_of_linked(first, xs, vectors, create_graph)
        products = _zeros_for_none(found, xs, strict, "gradient")
    return _finish(out, create_graph), _finish(_like(products, inputs), create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """The output, and the Hessian times a vector: the same as `vhp`, since it is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)
