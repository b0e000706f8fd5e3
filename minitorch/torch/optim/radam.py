"""RAdam: Adam with a rectified adaptive rate."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Options, ParamsT
from .options import as_float, direction, optimizer, weight_decay


def _numbers(options: Options, steps: float) -> Numbers:
    lr, (beta1, beta2) = as_float(options["lr"]), options["betas"]
    steps = float(steps) + 1
    fixed = *weight_decay(options, lr), direction(options), 1 - beta1, beta2, 1 - beta2
    rectified = 1 - beta1**steps, *_rectified(steps, beta2)
    return (lr, *fixed, *rectified, options["eps"]), (steps,)


def _rectified(steps: float, beta2: float) -> tuple[float, float]:
    """The factor of an adaptive step, and of a plain one: one of the two is 0."""
    correction = 1 - beta2**steps
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * steps * beta2**steps / correction
    if length <= 5.0:
        return 0.0, 1.0
    spread = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return spread**0.5 * correction**0.5, 0.0


@optimizer
class RAdam(ElementwiseOptimizer):
    """RAdam: the rate adapts only once the mean square is reliable (Liu and others, 2019)."""

    _operation = Step("radam_", formulas.radam, _numbers, ("exp_avg", "exp_avg_sq"))

    params: ParamsT
    lr: float | Tensor = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    decoupled_weight_decay: bool = False
    _: KW_ONLY
    foreach: bool | None = None
    maximize: bool = False
    capturable: bool = False
    differentiable: bool = False
