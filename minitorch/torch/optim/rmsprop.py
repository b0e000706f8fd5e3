"""RMSprop: steps in units of the root mean square."""

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


class RMSprop(ElementwiseOptimizer):
    """The gradient in units of its root mean square, or of its standard deviation (`centered`)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range(eps, "Invalid epsilon value")
        check_range(momentum, "Invalid momentum value")
        check_range(weight_decay, "Invalid weight_decay value")
        check_range(alpha, "Invalid alpha value")
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        if group["momentum"] > 0 and group["centered"]:
            names = "square_avg", "momentum_buffer", "grad_avg"
            return formulas.rmsprop_centered_momentum, names
        if group["momentum"] > 0:
            return formulas.rmsprop_momentum, ("square_avg", "momentum_buffer")
        if group["centered"]:
            return formulas.rmsprop_centered, ("square_avg", "grad_avg")
        return formulas.rmsprop, ("square_avg",)

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        alpha, sign = group["alpha"], -1.0 if group["maximize"] else 1.0
        momentum = (group["momentum"],) if group["momentum"] > 0 else ()
        numbers = (
            as_float(group["lr"]), group["weight_decay"], sign, alpha, 1 - alpha, group["eps"],
            *momentum,
        )  # fmt: skip

        def count(state: State) -> tuple[float, ...]:
            counted(state)
            return numbers

        return count
