"""Adam: steps in units of the gradient's root mean square."""

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
    check_switches,
    counted,
)


class Adam(ElementwiseOptimizer):
    """Along the mean gradient, in units of its root mean square (Kingma and Ba, 2014)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_lr(lr)
        check_range(eps, "Invalid epsilon value")
        check_betas(betas)
        check_range(weight_decay, "Invalid weight_decay value")
        if not all(isinstance(b, float) for b in betas) and not all(
            isinstance(b, Tensor) for b in betas
        ):
            raise ValueError("betas must be either both floats or both Tensors")
        check_switches(fused, foreach, differentiable)
        defaults = {
            "lr": lr, "betas": tuple(map(as_float, betas)), "eps": eps,
            "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        if group["amsgrad"]:
            return formulas.amsgrad, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return formulas.adam, ("exp_avg", "exp_avg_sq")

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr = as_float(group["lr"])
        beta1, beta2 = map(as_float, group["betas"])
        decay, keep = weight_decay(group, lr)
        sign = -1.0 if group["maximize"] else 1.0
        eps = group["eps"]

        def numbers(state: State) -> tuple[float, ...]:
            steps = counted(state)
            rate, root = lr / (1 - beta1**steps), (1 - beta2**steps) ** 0.5
            return rate, decay, keep, sign, 1 - beta1, beta2, 1 - beta2, root, eps

        return numbers


def weight_decay(group: Group, lr: float) -> tuple[float, float]:
    """What decay adds to the gradient, and what it leaves of the parameter itself."""
    decay = as_float(group["weight_decay"])
    return (0.0, 1 - lr * decay) if group["decoupled_weight_decay"] else (decay, 1.0)
