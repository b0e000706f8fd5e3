"""Functions of functions, and modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn.modules.module import Module
from ..nn.utils.stateless import _functional_call
from ..ops.joining import stack as _stack
from ..tensor import Tensor
from .transforms import grad as grad
from .transforms import grad_and_value as grad_and_value
from .transforms import hessian as hessian
from .transforms import jacfwd as jacfwd
from .transforms import jacrev as jacrev
from .transforms import jvp as jvp
from .transforms import linearize as linearize
from .transforms import vjp as vjp
from .vmapping import vmap as vmap


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with tensors, by name, in the places of its own.

    Args:
        module: what to call
        parameter_and_buffer_dicts: the tensors, in one dict or in several
        args: one argument, or a tuple of them
        kwargs: arguments by name
        tie_weights: whether a tensor with several names takes all of their places
        strict: whether every parameter and buffer must be given
    """
    tensors = _one_dict(parameter_and_buffer_dicts)
    return _functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def _one_dict(given: Any) -> dict[str, Tensor]:
    if isinstance(given, dict):
        return given
    if not isinstance(given, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    if not all(isinstance(each, dict) for each in given):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for each in given for name in each]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: tensor for each in given for name, tensor in each.items()}


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one class, each stacked."""
    check_alike("stack_module_state", models)
    return (
        _stacked([dict(model.named_parameters()) for model in models]),
        _stacked([dict(model.named_buffers()) for model in models]),
    )


def check_alike(name: str, models: Sequence[Module]) -> None:
    """RuntimeError unless there are modules, of one class and in one mode."""
    if not models:
        raise RuntimeError(f"{name}: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(f"{name}: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(f"{name}: Expected all models to be of the same class.")


def _stacked(dicts: list[dict[str, Any]]) -> dict[str, Tensor]:
    made = {}
    for name in dicts[0]:
        tensors = [each[name] for each in dicts]
        tracked = [tensor.requires_grad for tensor in tensors]
        if any(tracked) and not all(tracked):
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        stacked = _stack(tensors).detach()
        made[name] = stacked.requires_grad_() if all(tracked) else stacked
    return made
