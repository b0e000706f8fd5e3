"""Adamax: Adam with the largest recent gradient."""

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
    check_betas,
    check_lr,
    check_range,
    counted,
)


class Adamax(ElementwiseOptimizer):
    """Adam in units of the largest recent gradient (Kingma and Ba, 2014)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range(eps, "Invalid epsilon value")
        check_betas(betas)
        check_range(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.adamax, ("exp_avg", "exp_inf")

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr, (beta1, beta2) = as_float(group["lr"]), group["betas"]
        sign = -1.0 if group["maximize"] else 1.0
        rest = group["weight_decay"], sign, 1 - beta1, beta2, group["eps"]
        return lambda state: (lr / (1 - beta1 ** counted(state)), *rest)
