"""Adamax."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Options, ParamsT
from .options import as_float, direction, optimizer


def _numbers(options: Options, steps: float) -> Numbers:
    beta1, beta2 = options["betas"]
    steps = float(steps) + 1
    rate = as_float(options["lr"]) / (1 - beta1**steps)
    rest = options["weight_decay"], direction(options), 1 - beta1, beta2, options["eps"]
    return (rate, *rest), (steps,)


@optimizer
class Adamax(ElementwiseOptimizer):
    """Adamax: the mean gradient divided by its infinity norm (Kingma and Ba, 2014)."""

    _operation = Step("adamax_", formulas.adamax, _numbers, ("exp_avg", "exp_inf"))

    params: ParamsT
    lr: float | Tensor = 2e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    foreach: bool | None = None
    _: KW_ONLY
    maximize: bool = False
    differentiable: bool = False
    capturable: bool = False
