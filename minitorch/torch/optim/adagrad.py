"""Adagrad."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ..autograd.modes import no_grad
from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT, State, filled_like, number
from .options import as_float, direction, optimizer


def _numbers(options: Options, steps: float) -> Numbers:
    rate = as_float(options["lr"]) / (1 + float(steps) * options["lr_decay"])
    return (rate, options["weight_decay"], direction(options), options["eps"]), (steps + 1,)


@optimizer
class Adagrad(ElementwiseOptimizer):
    """Adagrad: gradients divided by the root of their sum of squares (Duchi, Hazan and Singer, 2011)."""

    _operation = Step("adagrad_", formulas.adagrad, _numbers, ("sum",))

    params: ParamsT
    lr: float | Tensor = 1e-2
    lr_decay: float = 0
    weight_decay: float = 0
    initial_accumulator_value: float = 0
    eps: float = 1e-10
    foreach: bool | None = None
    _: KW_ONLY
    maximize: bool = False
    differentiable: bool = False
    fused: bool | None = None

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in param_group["params"]:
            self.state[p] = self._start(param_group, p)

    def _start(self, group: Group, p: Tensor) -> State:
        value = self.defaults["initial_accumulator_value"]
        return {"step": number(0.0), "sum": filled_like(p, value)}

    def share_memory(self) -> None:
        """Move the state to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @no_grad()
    def _sparse_step(self, group: Group, p: Any, gradient: Any) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        state = self.state[p]
        g = (gradient.neg() if group["maximize"] else gradient).coalesce()
        (rate, *_), (state["step"]._array[...],) = _numbers(group, state["step"].item())
        state["sum"].add_(g.pow(2))
        roots = state["sum"].sparse_mask(g)._values().sqrt() + group["eps"]
        p.add_(g._with(g._values() / roots), alpha=-rate)
