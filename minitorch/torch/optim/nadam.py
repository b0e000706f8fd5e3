"""NAdam: Adam that looks ahead."""

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
    number,
    zeros_like,
)


class NAdam(ElementwiseOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_range(momentum_decay, "Invalid momentum_decay value")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _renew(self, state: State) -> None:
        super()._renew(state)
        if not isinstance(state.get("mu_product"), Tensor):
            state["mu_product"] = number(state["mu_product"])

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.nadam, ("exp_avg", "exp_avg_sq")

    def _start(self, group: Group, p: Tensor, state: State) -> None:
        state["step"], state["mu_product"] = number(0.0), number(1.0)
        state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr, (beta1, beta2) = as_float(group["lr"]), group["betas"]
        decay, keep = weight_decay(group, lr)
        sign = -1.0 if group["maximize"] else 1.0
        fixed = decay, keep, sign, 1 - beta1, beta2, 1 - beta2

        def mu(steps: float) -> float:
            return beta1 * (1.0 - 0.5 * 0.96 ** (steps * group["momentum_decay"]))

        def numbers(state: State) -> tuple[float, ...]:
            steps = counted(state)
            now, after = mu(steps), mu(steps + 1)
            product = state["mu_product"]._array
            product[...] = product * product.dtype.type(now)
            so_far = product.item()
            here = lr * (1.0 - now) / (1.0 - so_far)
            ahead = lr * after / (1.0 - so_far * after)
            return here, ahead, *fixed, 1 - beta2**steps, group["eps"]

        return numbers
