"""States of models and optimizers by the parameters' names, whatever wraps the model and however it is spread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from ...tensor import Tensor
from .. import world
from ..objects import broadcast_object_list
from ..tensor import DTensor, distribute_tensor
from ..tensor.dtensor import spread_as


@dataclass
class StateDictOptions:
    """How states are given and taken.

    Attributes:
        full_state_dict: whole tensors in the place of this rank's parts
        cpu_offload: in main memory; with full_state_dict on rank 0 alone
        ignore_frozen_params: leave out parameters that are not trained
        strict: whether all names must be there
        broadcast_from_rank0: rank 0 has the whole state, and the others get it from there
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False


_WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")

# --- Models -----------------------------------------------------------------------------------


def get_model_state_dict(
    model: Module, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """A model's state, without the names of what wraps it."""
    chosen = options or StateDictOptions()
    frozen = {n for n, p in model.named_parameters() if not p.requires_grad}
    state = {
        plain_name(name): value
        for name, value in model.state_dict().items()
        if not (chosen.ignore_frozen_params and name in frozen)
    }
    return _given(state, chosen)


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Give a model a state that `get_model_state_dict` gave."""
    chosen = options or StateDictOptions()
    given = _taken(model_state_dict, chosen)
    own = model.state_dict()
    names = {plain_name(name): name for name in own}
    renamed = {
        names.get(name, name): as_own(value, own.get(names.get(name, name)))
        for name, value in given.items()
    }
    return model.load_state_dict(renamed, strict=chosen.strict)


def plain_name(name: str) -> str:
    """A parameter's name without those of wrappers: DistributedDataParallel's `module.`, the compiler's, and others."""
    parts = name.split(".")
    if parts[0] == "module":
        parts = parts[1:]
    return ".".join(part for part in parts if part not in _WRAPPERS)


def _given(state: Any, options: StateDictOptions) -> Any:
    """A state as the options want it."""
    if options.full_state_dict:
        state = _mapped(state, lambda t: t.full_tensor() if isinstance(t, DTensor) else t)
        if options.cpu_offload and world.is_initialized() and world.get_rank() != 0:
            return {}
    return _mapped(state, lambda t: t.cpu()) if options.cpu_offload else state


def _taken(state: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state that all ranks have."""
    if not (options.broadcast_from_rank0 and world.is_initialized()):
        return state
    told: list[Any] = [_mapped(state, lambda t: t.cpu()) if world.get_rank() == 0 else None]
    broadcast_object_list(told, 0)
    return told[0]


def as_own(value: Any, own: Any) -> Any:
    """A whole tensor as the part of it that a rank has."""
    if isinstance(own, DTensor) and isinstance(value, Tensor) and not isinstance(value, DTensor):
        return distribute_tensor(value, own.device_mesh, own.placements, src_data_rank=None)
    return value


def _mapped(state: Any, change: Any) -> Any:
    """A state with its tensors changed."""
    if isinstance(state, Tensor):
        return change(state.detach() if not isinstance(state, DTensor) else state)
    if isinstance(state, dict):
        return type(state)((key, _mapped(value, change)) for key, value in state.items())
    if isinstance(state, list):
        return [_mapped(value, change) for value in state]
    return state


# --- Optimizers -------------------------------------------------------------------------------


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """An optimizer's state by the names of the model's parameters, made now where it has none yet."""
    chosen = options or StateDictOptions()
    names = {id(p): plain_name(name) for name, p in model.named_parameters()}
    state: dict[str, Any] = {}
    groups: list[dict[str, Any]] = []
    for optimizer in _listed(optimizers):
        _make_state(optimizer)
        for param, kept in optimizer.state.items():
            state[names[id(param)]] = {k: _like_parameter(v, param) for k, v in kept.items()}
        for group in optimizer.param_groups:
            named = [names[id(p)] for p in group["params"]]
            groups.append({**{k: v for k, v in group.items() if k != "params"}, "params": named})
    found = {"state": state, "param_groups": groups}
    return _given(found, chosen)


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer | Iterable[Optimizer],
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Give an optimizer a state that `get_optimizer_state_dict` gave."""
    given = _taken(optim_state_dict, options or StateDictOptions())
    names = {id(p): plain_name(name) for name, p in model.named_parameters()}
    saved = {name: group for group in given["param_groups"] for name in group["params"]}
    for optimizer in _listed(optimizers):
        for group in optimizer.param_groups:
            of_group = saved[names[id(group["params"][0])]]
            group.update({k: v for k, v in of_group.items() if k not in ("params", "param_names")})
            for param in group["params"]:
                kept = given["state"].get(names[id(param)])
                if kept is not None:
                    optimizer.state[param] = {k: own_part(v, param) for k, v in kept.items()}


def _listed(optimizers: Any) -> list[Any]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _make_state(optimizer: Any) -> None:
    """Let an optimizer that has not stepped yet make its state: a step of rate 0 with gradients of 0."""
    if optimizer.state:
        return
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in params):
        return  # the program is between backward and step
    rates = [group.get("lr") for group in optimizer.param_groups]
    for param in params:
        if param.requires_grad:
            param.grad = param.detach() * 0
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = group["lr"] * 0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if rate is not None:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _like_parameter(value: Any, param: Any) -> Any:
    """A state of a spread parameter is spread as that is."""
    if (
        not isinstance(param, DTensor)
        or not isinstance(value, Tensor)
        or value._array.shape != param._array.shape
        or isinstance(value, DTensor)
    ):
        return value
    return spread_as(value.detach(), param)


def own_part(value: Any, param: Any) -> Any:
    """What a rank remembers of its part of a parameter."""
    if not isinstance(value, Tensor):
        return value
    if isinstance(param, DTensor) and value.shape == param.shape:
        return as_own(value.to(param.device), param).clone()
    return value.clone() if not value.ndim else value.to(param.device).clone()


# --- Both -------------------------------------------------------------------------------------


def get_state_dict(
    model: Module,
    optimizers: Any,
    *,
    submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    of_model = get_model_state_dict(model, options=options)
    return of_model, get_optimizer_state_dict(model, optimizers, options=options)


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Give a model and its optimizers their states."""
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
