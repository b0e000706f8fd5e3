"""Functions of functions: gradients, products with Jacobians, and Jacobians of functions of trees of tensors.

A transformed function is differentiable in turn, so they nest: `hessian` is the Jacobian of a Jacobian.
What is traced within has a history of its own; what goes in with a history keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.backward import grad as _gradients
from ..autograd.modes import enable_grad
from ..ops.creation import zeros_like
from ..ops.joining import stack
from ..tensor import Tensor
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten
from .vmapping import in_batches

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def _tracked(tree: Any) -> tuple[Any, list[Tensor]]:
    """A tree whose tensors require gradients, and those."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ValueError(f"expected tensors to differentiate by, but got {type(leaf).__name__}")
    leaves = [in_batches(x) for x in leaves]
    fresh = [x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in leaves]
    return tree_unflatten(fresh, spec), fresh


def _selected(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments to differentiate by."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    picked = tuple(args[number] for number in numbers)
    return picked[0] if isinstance(argnums, int) else picked


def _replaced(args: tuple[Any, ...], argnums: Argnums, new: Any) -> list[Any]:
    """The arguments with others in place of those to differentiate by."""
    changed = list(args)
    pairs = [(argnums, new)] if isinstance(argnums, int) else zip(argnums, new, strict=True)
    for number, value in pairs:
        changed[number] = value
    return changed


def _detached(tree: Any, inputs: list[Tensor]) -> Any:
    """Results, outside the graph unless they depend on more than what was differentiated by."""
    own = {id(x) for x in inputs}
    return tree_map(
        lambda x: x.detach() if isinstance(x, Tensor) and not _reaches_beyond(x, own) else x, tree
    )


def _finished(tree: Any, inputs: list[Tensor]) -> Any:
    """As `_detached`, of the last results: what was differentiated by is no leaf for others."""
    detached = _detached(tree, inputs)
    for x in inputs:
        if x.is_leaf:
            x.requires_grad_(False)
    return detached


def _reaches_beyond(value: Tensor, own: set[int]) -> bool:
    """Whether a tensor was made from leaves that require gradients, other than one's own."""
    if value.grad_fn is None:
        return value.requires_grad and id(value) not in own
    waiting, seen = [value.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and leaf.requires_grad and id(leaf) not in own:
            return True
        waiting += [before for before, _ in node.next_functions]
    return False


def _products(outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor]) -> list[Tensor]:
    """The gradients of weighted outputs, zeros where an output does not depend on an input."""
    pairs = [(y, w) for y, w in zip(outputs, weights, strict=True) if y.requires_grad]
    if not pairs:
        return [zeros_like(x) for x in inputs]
    found = _gradients(
        [y for y, _ in pairs], inputs, [w for _, w in pairs], create_graph=True, allow_unused=True
    )
    return [zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


# --- Gradients --------------------------------------------------------------------------------------


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of another, and its value.

    Args:
        func: returns a tensor with one element
        argnums: which arguments to differentiate by
        has_aux: whether it returns something else beside, which is then returned with the value
    """

    def transformed(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            tree, inputs = _tracked(_selected(args, argnums))
            output = func(*_replaced(args, argnums, tree), **kwargs)
            aux = None
            if has_aux:
                output, aux = output
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    "Expected f(*args) to return a Tensor, but got "
                    f"{type(output).__name__} (grad_and_value)"
                )
            if output.dim() != 0:
                raise RuntimeError(
                    "Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            found = _products([output], inputs, [output.new_ones(())])
        found = tree_unflatten(found, tree_flatten(tree)[1])
        value = (output, aux) if has_aux else output
        return _finished((found, value), inputs)

    return transformed


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of another.

    Args:
        func: returns a tensor with one element
        argnums: which arguments to differentiate by
        has_aux: whether it returns something else beside, which is then returned too
    """
    both = grad_and_value(func, argnums, has_aux)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return transformed


# --- Products with Jacobians ----------------------------------------------------------------------------


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The output of a function, and a function that multiplies vectors with its Jacobian from the left."""
    with enable_grad():
        tree, inputs = _tracked(primals)
        output = func(*tree)
        aux = None
        if has_aux:
            output, aux = output
        outputs, shape = tree_flatten(output)
    spec = tree_flatten(tree)[1]

    def product(cotangents: Any) -> Any:
        weights, given = tree_flatten(cotangents)
        if given != shape:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                f"to the function. cotangents: {given}, primal output: {shape}"
            )
        with enable_grad():
            found = _products(outputs, inputs, weights)
        return tree_unflatten(_detached(found, inputs), spec)

    result = _detached(output, inputs)
    return (result, product, _detached(aux, inputs)) if has_aux else (result, product)


def jvp(func: Function, primals: Any, tangents: Any, *, has_aux: bool = False) -> Any:
    """The output of a function, and its Jacobian times vectors from the right.

    It is the derivative of a product from the left by its weights, which is linear in them.
    """
    if not isinstance(primals, tuple) or not primals:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. It is not.")
    given, tangent_spec = tree_flatten(tangents)
    with enable_grad():
        tree, inputs = _tracked(primals)
        if tree_flatten(tree)[1] != tangent_spec:
            raise RuntimeError(
                "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure."
            )
        output = func(*tree)
        aux = None
        if has_aux:
            output, aux = output
        outputs, spec = tree_flatten(output)
        weights = [in_batches(zeros_like(y)).detach().requires_grad_() for y in outputs]
        back = _products(outputs, inputs, weights)
        found = _products(
            back, weights, [t.to(x.dtype) for t, x in zip(given, inputs, strict=True)]
        )
    own = [*inputs, *weights]
    result = output, tree_unflatten(found, spec)
    return _finished((*result, aux) if has_aux else result, own)


# --- Jacobians --------------------------------------------------------------------------------------------


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    **_: Any,
) -> Function:
    """A function that returns the Jacobian of another, row by row.

    Args:
        func: returns a tensor, or a tree of them
        argnums: which arguments to differentiate by
        has_aux: whether it returns something else beside, which is then returned too
        chunk_size: unused: rows are computed one by one
    """

    def transformed(*args: Any, **kwargs: Any) -> Any:
        with enable_grad():
            tree, inputs = _tracked(_selected(args, argnums))
            output = func(*_replaced(args, argnums, tree), **kwargs)
            aux = None
            if has_aux:
                output, aux = output
            spec = tree_flatten(tree)[1]
            jacobian = tree_map(lambda y: tree_unflatten(_rows(y, inputs), spec), output)
        return _finished((jacobian, aux) if has_aux else jacobian, inputs)

    return transformed


def _rows(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The derivatives of each element of an output by each input."""
    found = [_products([y], inputs, [y.new_ones(())]) for y in output.reshape(-1).unbind()]
    if not found:
        return [x.new_zeros((*output.shape, *x.shape)) for x in inputs]
    columns = zip(*found, strict=True)
    return [
        stack(list(column)).reshape(*output.shape, *x.shape)
        for column, x in zip(columns, inputs, strict=True)
    ]


def jacfwd(
    func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Function:
    """As `jacrev`: the same numbers, found the same way."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """A function that returns the second derivatives of another."""
    return jacrev(jacrev(func, argnums), argnums)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The output of a function, and the linear function that is nearest to it there."""
    output, _ = vjp(func, *primals)
    return output, lambda *tangents: jvp(func, primals, tangents)[1]
