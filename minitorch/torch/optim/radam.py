"""RAdam: Adam that waits until it knows the scale of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.cpu import optim_formulas as formulas
from ..tensor import Tensor
from .adam import weight_decay
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


class RAdam(ElementwiseOptimizer):
    """Adam with a rectified adaptive rate (Liu and others, 2019)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_range(eps, "Invalid epsilon value")
        check_betas(betas)
        check_range(weight_decay, "Invalid weight_decay value")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.radam, ("exp_avg", "exp_avg_sq")

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr, (beta1, beta2) = as_float(group["lr"]), group["betas"]
        decay, keep = weight_decay(group, lr)
        sign = -1.0 if group["maximize"] else 1.0
        fixed = lr, decay, keep, sign, 1 - beta1, beta2, 1 - beta2

        def numbers(state: State) -> tuple[float, ...]:
            steps = counted(state)
            return *fixed, 1 - beta1**steps, *_rectified(steps, beta2), group["eps"]

        return numbers


def _rectified(steps: float, beta2: float) -> tuple[float, float]:
    """The factor of an adaptive step, and of a plain one: one of the two is 0."""
    correction = 1 - beta2**steps
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * steps * beta2**steps / correction
    if length <= 5.0:
        return 0.0, 1.0
    spread = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return spread**0.5 * correction**0.5, 0.0
