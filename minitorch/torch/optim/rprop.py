"""Rprop: a step size for each element, which depends on the signs of gradients only."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT, State, filled_like
from .options import as_float, direction, optimizer


def _numbers(options: Options, steps: float) -> Numbers:
    return (direction(options), *options["etas"], *options["step_sizes"], 1.0), (steps + 1,)


@optimizer
class Rprop(ElementwiseOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993)."""

    _operation = Step("rprop_", formulas.rprop, _numbers, ("prev", "step_size"))

    params: ParamsT
    lr: float | Tensor = 1e-2
    etas: tuple[float, float] = (0.5, 1.2)
    step_sizes: tuple[float, float] = (1e-6, 50)
    _: KW_ONLY
    capturable: bool = False
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False

    def _check(self, options: Options) -> None:
        super()._check(options)
        shrink, grow = options["etas"]
        if not 0.0 < shrink < 1.0 < grow:
            raise ValueError(f"Invalid eta values: {shrink}, {grow}")

    def _start(self, group: Group, p: Tensor) -> State:
        return {**super()._start(group, p), "step_size": filled_like(p, as_float(group["lr"]))}
