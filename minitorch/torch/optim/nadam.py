"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT, State, number
from .options import as_float, direction, optimizer, weight_decay


def _numbers(options: Options, steps: float, product: Any) -> Numbers:
    lr, (beta1, beta2) = as_float(options["lr"]), options["betas"]
    decay, keep = weight_decay(options, lr)
    steps = float(steps) + 1

    def mu(steps: float) -> float:
        return beta1 * (1.0 - 0.5 * 0.96 ** (steps * options["momentum_decay"]))

    now, after = mu(steps), mu(steps + 1)
    product *= now  # rounded to its own dtype
    so_far = float(product)
    here = lr * (1.0 - now) / (1.0 - so_far)
    ahead = lr * after / (1.0 - so_far * after)
    fixed = decay, keep, direction(options), 1 - beta1, beta2, 1 - beta2
    return (here, ahead, *fixed, 1 - beta2**steps, options["eps"]), (steps, product)


@optimizer
class NAdam(ElementwiseOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016)."""

    _operation = Step(
        "nadam_", formulas.nadam, _numbers, ("exp_avg", "exp_avg_sq"), ("step", "mu_product")
    )

    params: ParamsT
    lr: float | Tensor = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    momentum_decay: float = 4e-3
    decoupled_weight_decay: bool = False
    _: KW_ONLY
    foreach: bool | None = None
    maximize: bool = False
    capturable: bool = False
    differentiable: bool = False

    def _renew(self, state: State) -> None:
        super()._renew(state)
        if not isinstance(state.get("mu_product"), Tensor):
            state["mu_product"] = number(state["mu_product"])

    def _start(self, group: Group, p: Tensor) -> State:
        return {**super()._start(group, p), "mu_product": number(1.0)}
