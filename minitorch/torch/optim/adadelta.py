"""Adadelta: steps in the units of the parameters."""

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
)


class Adadelta(ElementwiseOptimizer):
    """Root mean squares of steps over those of gradients (Zeiler, 2012)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_range(eps, "Invalid epsilon value")
        check_range(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.adadelta, ("square_avg", "acc_delta")

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        rho, sign = group["rho"], -1.0 if group["maximize"] else 1.0
        numbers = as_float(group["lr"]), group["weight_decay"], sign, rho, 1 - rho, group["eps"]

        def count(state: State) -> tuple[float, ...]:
            counted(state)
            return numbers

        return count
