"""Second derivatives of operations with a hand-written backward, by way of a composition.

A record with a hand-written derivative needs a derivative of that, too. Where the record equals a
composition of ordinary operations, the composition is differentiated, twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.backward import grad
from ..autograd.graph import modes
from ..autograd.modes import enable_grad
from ..tensor import Tensor, tracks


def second_gradients(
    compose: Callable[..., Sequence[Tensor]],
    arrived: Sequence[Tensor],
    inputs: Sequence[Tensor | None],
    wanted: Sequence[int],
    g: Sequence[Tensor],
) -> list[Tensor | None]:
    """From gradients of a backward's results to those of what it was computed from.

    Args:
        compose: from the inputs to the outputs, in ordinary operations
        arrived: the gradients of the outputs, which backward was given
        inputs: what the outputs were computed from
        wanted: the numbers of the inputs whose gradients backward returned
        g: the gradients of those results

    Returns:
        gradients of what arrived, then of the inputs
    """
    recording = modes.grad
    with enable_grad():
        own = [_variable(x, recording) for x in (*arrived, *inputs)]
        given, variables = own[: len(arrived)], own[len(arrived) :]
        outs = compose(*variables)
        first = grad(
            list(outs), [variables[i] for i in wanted], given[: len(outs)], create_graph=True
        )
        there = [x for x in own if _is_variable(x)]
        found = iter(grad(first, there, list(g), create_graph=recording, allow_unused=True))
    return [next(found) if _is_variable(x) else None for x in own]


def _is_variable(x: Tensor | None) -> bool:
    return x is not None and x._array.dtype.kind in "fcV"


def _variable(x: Tensor | None, recording: bool) -> Any:
    """A leaf with the same values, to differentiate by."""
    if x is None or not _is_variable(x):
        return x
    return x.view_as(x) if recording and tracks(x) else x.detach().requires_grad_()
