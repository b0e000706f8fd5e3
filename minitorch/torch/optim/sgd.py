"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.cpu import optim_formulas as formulas
from ..tensor import Tensor
from .optimizer import (
    ElementwiseOptimizer,
    Group,
    ParamsT,
    State,
    as_float,
    check_lr,
    check_range,
    check_switches,
    zeros_like,
)


class SGD(ElementwiseOptimizer):
    """Down the gradient, or with momentum down a running sum of gradients."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_range(momentum, "Invalid momentum value")
        check_range(weight_decay, "Invalid weight_decay value")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_switches(fused, foreach, differentiable)
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        if group["momentum"] == 0:
            return formulas.sgd, ()
        return formulas.momentum, ("momentum_buffer",)

    def _start(self, group: Group, p: Tensor, state: State) -> None:
        if group["momentum"] != 0:
            state["momentum_buffer"] = zeros_like(p)
            state["first"] = True

    def _renew(self, state: State) -> None:
        if state.get("momentum_buffer", 0) is None:
            state.clear()

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr, decay = as_float(group["lr"]), as_float(group["weight_decay"])
        sign = -1.0 if group["maximize"] else 1.0
        momentum, common = group["momentum"], (lr, decay, sign)
        if momentum == 0:
            return lambda state: common
        ahead = momentum if group["nesterov"] else 0.0
        first = *common, 0.0, 1.0, ahead
        later = *common, momentum, 1.0 - group["dampening"], ahead
        return lambda state: first if state.pop("first", False) else later
