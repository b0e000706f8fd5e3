"""The base class of optimizers: groups of parameters with options, and a state for each parameter."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from .. import dtypes
from ..autograd.modes import enable_grad, no_grad
from ..handles import RemovableHandle, add_hook
from ..ops.creation import full_like, tensor
from ..tensor import Tensor

Closure = Callable[[], Any] | None
Group = dict[str, Any]
State = dict[str, Any]
Options = dict[str, Any]
ParamsT = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
"""The argument `params`: tensors, groups of them, or tensors with names."""


class _Required:
    """Marks an option that every group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


# --- Hooks --------------------------------------------------------------------------------


_before_every_step: OrderedDict[int, Any] = OrderedDict()
_after_every_step: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    return add_hook(_before_every_step, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return add_hook(_after_every_step, hook)


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` with hooks before and after it."""

    @functools.wraps(step)
    def call(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (before or after or _before_every_step or _after_every_step):
            return step(self, *args, **kwargs)
        for hook in [*_before_every_step.values(), *before.values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in [*after.values(), *_after_every_step.values()]:
            hook(self, args, kwargs)
        return result

    call.hooked = True  # type: ignore[attr-defined]
    return call


_HOOKS = (
    "step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre",
    "load_state_dict_post",
)  # fmt: skip


# --- The base -----------------------------------------------------------------------------


class Optimizer:
    """Updates parameters by their gradients.

    Args:
        params: tensors, or groups: dicts with "params" and options
        defaults: options of groups that do not give them

    Attributes:
        param_groups: dicts with "params" and options
        state: the state of each parameter
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._prepare()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {_type_name(params)}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _prepare(self) -> None:
        """Add the dicts of hooks, and wrap the class's `step` so that it runs them."""
        for name in _HOOKS:
            vars(self).setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()
        self.defaults.setdefault("differentiable", False)
        added = _default_options(type(self))
        for group in self.param_groups:
            for name, value in added.items():
                group.setdefault(name, value)
            for p in group["params"]:
                remembered = self.state.get(p)
                if remembered:
                    self._renew(remembered)

    def _renew(self, state: State) -> None:
        """Convert a parameter's state from an old file."""
        if "step" in state and not isinstance(state["step"], Tensor):
            state["step"] = number(state["step"])

    def __repr__(self) -> str:
        groups = ""
        for i, group in enumerate(self.param_groups):
            options = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            groups += f"\nParameter Group {i}\n{''.join(options)}"
        return f"{type(self).__name__} ({groups})"

    # --- Hooks ---------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other arguments."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # --- State ---------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state and the groups, with integers in place of parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        everyone = chain.from_iterable(group["params"] for group in self.param_groups)
        places: dict[int, int] = {}
        for i, p in enumerate(everyone):
            places.setdefault(id(p), i)
        packed = {
            "state": {
                places[id(key)] if isinstance(key, Tensor) else key: value
                for key, value in self.state.items()
            },
            "param_groups": [
                {
                    **{k: v for k, v in group.items() if k != "params"},
                    "params": [places[id(p)] for p in group["params"]],
                }
                for group in self.param_groups
            ],
        }
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, packed)
            packed = packed if changed is None else changed
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from `state_dict`, of this optimizer or of one with equal groups."""
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        numbers = chain.from_iterable(group["params"] for group in saved)
        params = chain.from_iterable(group["params"] for group in groups)
        param_of = dict(zip(numbers, params, strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _fitted(value, param_of[key])
            else:
                state[key] = value
        for group, new in zip(groups, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # --- Groups --------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters: a dict with "params" and options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _listed(param_group["params"])
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for p in params:
            self._check_param(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        ids = {id(p) for p in params}
        if len(params) != len(ids):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        self._check_names(bool(names))
        if any(id(p) in ids for group in self.param_groups for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_param(self, p: Any) -> None:
        if not isinstance(p, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {_type_name(p)}"
            )
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_names(self, named: bool) -> None:
        if self.param_groups and ("param_names" in self.param_groups[0]) != named:
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with names' if named else 'without names'} to the optimizer"
            )

    # --- Steps ---------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set all gradients to None, or to 0."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._grad = None
                elif p._grad is not None:
                    if p._grad.grad_fn is not None:
                        p._grad.detach_()
                    else:
                        p._grad.requires_grad_(False)
                    p._grad.zero_()

    def step(self, closure: Closure = None) -> Any:
        """Update the parameters once; subclasses implement it."""
        raise NotImplementedError


@functools.cache
def _default_options(kind: type[Optimizer]) -> dict[str, Any]:
    """The defaults of an optimizer's options, for groups in old files that lack some."""
    if not kind.__module__.startswith(__name__.rpartition(".")[0]):
        return {}
    parameters = inspect.signature(kind).parameters.values()
    return {
        p.name: p.default for p in parameters if p.default is not p.empty and p.name != "params"
    }


def _type_name(value: Any) -> str:
    """Torch's name for a value's type."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.type_name}"
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _listed(params: Any) -> tuple[list[Any], list[str]]:
    """The parameters of a group, and their names if they have any."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets will change between runs. Please use a list instead."
        )
    given = list(params)
    names = [p[0] for p in given if isinstance(p, tuple)]
    if names and len(names) != len(given):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [p[1] if isinstance(p, tuple) else p for p in given], names


def _fitted(value: Any, param: Tensor, key: Any = None) -> Any:
    """A copy of a loaded state with its tensors, except step counts, in the parameter's dtype and device."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.cpu()
        if param.dtype.kind < dtypes.FLOATING:
            return value.to(param.device)
        return value.to(param.device, param.dtype)
    if isinstance(value, dict):
        return {k: _fitted(v, param, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_fitted(v, param) for v in value)
    return value


# --- Pieces for optimizers ----------------------------------------------------------------


def number(value: float) -> Tensor:
    """A number in a state: a zero-dimensional tensor, as in Torch's files."""
    double = dtypes.get_default_dtype() is dtypes.float64
    dtype = dtypes.float64 if double else dtypes.float32
    return tensor(float(value), dtype=dtype)


def filled_like(p: Tensor, value: float) -> Tensor:
    """A tensor of a parameter's shape filled with a number, for complex ones in both parts."""
    return full_like(p, complex(value, value) if p.is_complex() else value)


def evaluated(closure: Closure) -> Any:
    """The loss that a closure computes, with gradients."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


class OneByOneOptimizer(Optimizer):
    """An optimizer that updates each parameter that has a gradient by itself."""

    @no_grad()
    def step(self, closure: Closure = None) -> Any:
        """Update the parameters once; return the closure's loss."""
        loss = evaluated(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(group, p, p.grad)
        return loss

    def _update(self, group: Group, p: Any, gradient: Any) -> None:
        raise NotImplementedError


__all__ = [
    "Optimizer", "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]  # fmt: skip
