"""The deprecated package `functorch`: the functions of `torch.func`, and modules as functions of their parameters."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

from .func import check_alike, functional_call, stack_module_state
from .func import grad as grad
from .func import grad_and_value as grad_and_value
from .func import hessian as hessian
from .func import jacfwd as jacfwd
from .func import jacrev as jacrev
from .func import jvp as jvp
from .func import vjp as vjp
from .func import vmap as vmap
from .nn.modules.module import Module
from .tensor import Tensor
from .version import __version__ as __version__

Tensors = tuple[Tensor, ...]


class FunctionalModuleWithBuffers(Module):
    """A module as a function of its parameters, its buffers and its arguments.

    Attributes:
        stateless_model: the module
        param_names: names of the parameters, in order
        buffer_names: names of the buffers
    """

    def __init__(
        self, stateless_model: Module, param_names: tuple[str, ...], buffer_names: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = param_names, buffer_names

    def forward(
        self, params: Iterable[Tensor], buffers: Iterable[Tensor], *args: Any, **kwargs: Any
    ) -> Any:
        names = (*self.param_names, *self.buffer_names)
        state = dict(zip(names, (*params, *buffers), strict=True))
        return functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """The same for a module without buffers."""

    def forward(self, params: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return super().forward(params, (), *args, **kwargs)


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """A copy of a module as a function, with its parameters and buffers."""
    return _functional(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, Tensors]:
    """A copy of a module without buffers as a function, with its parameters."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return _functional(FunctionalModule, model, disable_autograd_tracking)[:2]


def _functional(kind: Any, model: Module, disable_autograd_tracking: bool) -> Any:
    model = copy.deepcopy(model)
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        model.requires_grad_(False)
    return kind(model, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values())  # fmt: skip


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, Tensors, Tensors]:
    """Modules of one class as one function, with their parameters and buffers stacked."""
    check_alike("combine_state_for_ensemble", models)
    params, buffers = stack_module_state(models)
    function = make_functional_with_buffers(models[0])[0]
    return function, tuple(p.detach() for p in params.values()), tuple(buffers.values())
