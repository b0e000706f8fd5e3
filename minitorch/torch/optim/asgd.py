"""ASGD: gradient descent, and the average of where it has been."""

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
    counted,
    number,
    zeros_like,
)


class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _renew(self, state: State) -> None:
        for name in ("step", "eta", "mu"):
            if name in state and not isinstance(state[name], Tensor):
                state[name] = number(state[name])

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.asgd, ("ax",)

    def _start(self, group: Group, p: Tensor, state: State) -> None:
        state["step"], state["eta"] = number(0.0), number(as_float(group["lr"]))
        state["mu"], state["ax"] = number(1.0), zeros_like(p)

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr, lambd = as_float(group["lr"]), group["lambd"]
        sign = -1.0 if group["maximize"] else 1.0

        def numbers(state: State) -> tuple[float, ...]:
            steps = counted(state)
            eta, mu = state["eta"]._array, state["mu"]._array
            now, share = eta.item(), mu.item()
            eta[...] = lr / (1 + lambd * lr * steps) ** group["alpha"]
            mu[...] = 1 / max(1, steps - group["t0"])
            return now, group["weight_decay"], 1 - lambd * now, sign, 1 - share, share

        return numbers
