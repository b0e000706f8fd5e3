"""RMSprop."""

from __future__ import annotations

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT
from .options import as_float, direction, optimizer


@optimizer
class RMSprop(ElementwiseOptimizer):
    """RMSprop: the gradient divided by its root mean square, or its standard deviation (`centered`)."""

    params: ParamsT
    lr: float | Tensor = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0
    momentum: float = 0
    centered: bool = False
    capturable: bool = False
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False

    def _step(self, group: Group, first: bool) -> Step:
        return _STEPS[group["momentum"] > 0, bool(group["centered"])]


def _numbers(options: Options, steps: float) -> Numbers:
    lr, alpha, momentum = as_float(options["lr"]), options["alpha"], options["momentum"]
    fixed = options["weight_decay"], direction(options), alpha, 1 - alpha, options["eps"]
    return (lr, *fixed, *([momentum] if momentum > 0 else [])), (steps + 1,)


_STEPS = {
    (False, False): Step("rmsprop_", formulas.rmsprop, _numbers, ("square_avg",)),
    (False, True): Step(
        "rmsprop_centered_", formulas.rmsprop_centered, _numbers, ("square_avg", "grad_avg")
    ),
    (True, False): Step(
        "rmsprop_momentum_", formulas.rmsprop_momentum, _numbers, ("square_avg", "momentum_buffer")
    ),
    (True, True): Step(
        "rmsprop_centered_momentum_", formulas.rmsprop_centered_momentum, _numbers,
        ("square_avg", "momentum_buffer", "grad_avg"),
    ),
}  # fmt: skip
"""The step for (momentum, centered)."""
