"""Lesson 1: derivatives, by difference and by walking the graph backwards.

What is here knows nothing of scalars or tensors: it works on any `Variable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

# --- Task 1.1: numerical derivatives -----------------------------------------


def central_difference(
    f: Callable[..., Any], *vals: Any, arg: int = 0, epsilon: float = 1e-6
) -> Any:
    """Approximate the derivative of f with respect to its argument number `arg`.

    Args:
        f: any function of n numbers
        vals: the n numbers at which to differentiate
        arg: which argument to vary
        epsilon: how far to step to either side

    >>> round(central_difference(lambda x, y: x * y, 3.0, 5.0, arg=0), 6)
    5.0
    """
    if not -len(vals) <= arg < len(vals):
        raise IndexError(f"central_difference: arg={arg} but only {len(vals)} values were given")
    right, left = list(vals), list(vals)
    right[arg] = right[arg] + epsilon
    left[arg] = left[arg] - epsilon
    return (f(*right) - f(*left)) / (2 * epsilon)


def one_sided_slopes(
    f: Callable[..., float], vals: Sequence[float], arg: int, epsilon: float = 1e-6
) -> tuple[float, float]:
    """The slopes of f to the left and to the right of vals[arg]."""
    here = f(*vals)
    left, right = list(vals), list(vals)
    left[arg] -= epsilon
    right[arg] += epsilon
    return (here - f(*left)) / epsilon, (f(*right) - here) / epsilon


def slope_agrees(
    got: float, expected: float, slopes: tuple[float, float], tolerance: float = 1e-2
) -> bool:
    """Whether a derivative matches the central one, or lies between two one-sided ones.

    The tolerance, absolute and relative, is what differences of float64 can resolve.
    """
    margin = tolerance * (1.0 + abs(expected))
    if abs(got - expected) <= margin:
        return True
    low, high = min(slopes), max(slopes)
    return high - low > margin and low - margin <= got <= high + margin


# --- Tasks 1.3 and 1.4: the chain rule over a whole graph ---------------------


class Variable(Protocol):
    """What a value must offer for derivatives to flow through it."""

    def accumulate_derivative(self, x: Any) -> None:
        """Add x to the derivative kept on this leaf."""
        ...

    @property
    def unique_id(self) -> int:
        """A number no other variable has."""
        ...

    def is_leaf(self) -> bool:
        """Whether the user made this variable, rather than an operation."""
        ...

    def is_constant(self) -> bool:
        """Whether no derivative is wanted."""
        ...

    @property
    def parents(self) -> Iterable[Variable]:
        """The variables this one was computed from."""
        ...

    def chain_rule(self, d_output: Any) -> Iterable[tuple[Variable, Any]]:
        """Pair each parent that wants one with its derivative, given this variable's."""
        ...


def topological_sort(variable: Variable) -> list[Variable]:
    """Order the graph so that each variable comes before all it was computed from.

    Starts at `variable`, the right-most; constants are left out. A depth-first
    search with a stack of its own, so that deep graphs do not exhaust Python's.
    """
    finished: list[Variable] = []
    seen: set[int] = set()
    stack = [(variable, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            finished.append(node)
        elif node.unique_id not in seen and not node.is_constant():
            seen.add(node.unique_id)
            stack.append((node, True))
            stack += [(parent, False) for parent in node.parents]
    finished.reverse()
    return finished


def backpropagate(variable: Variable, deriv: Any) -> None:
    """Send `deriv` back from `variable`, leaving each leaf with its derivative.

    In topological order a variable is reached only after all that use it, so the
    derivative waiting for it is complete: it goes to the leaf, or through the
    chain rule to the parents, where contributions add up. Derivatives are added to
    each other and to nothing else: they may be numbers or tensors.
    """
    waiting = {variable.unique_id: deriv}
    for node in topological_sort(variable):
        if node.unique_id not in waiting:
            continue  # every path to it went through a function that gave no derivative
        d_output = waiting.pop(node.unique_id)
        if node.is_leaf():
            node.accumulate_derivative(d_output)
            continue
        for parent, d in node.chain_rule(d_output):
            key = parent.unique_id
            waiting[key] = waiting[key] + d if key in waiting else d


@dataclass
class Context:
    """What a function's forward leaves for its backward."""

    no_grad: bool = False
    saved_values: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = field(default=(), repr=False)

    def save_for_backward(self, *values: Any) -> None:
        """Keep values for backward; with `no_grad` they are not needed and not kept."""
        if not self.no_grad:
            self.saved_values = values

    def needs(self, i: int) -> bool:
        """Whether input i wants a derivative, as all do unless it was said."""
        return not self.needs_input_grad or self.needs_input_grad[i]

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved values, under the name Torch gives them."""
        return self.saved_values
