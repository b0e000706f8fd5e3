"""Adadelta."""

from __future__ import annotations

from dataclasses import KW_ONLY

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Options, ParamsT
from .options import as_float, direction, optimizer


def _numbers(options: Options, steps: float) -> Numbers:
    lr, rho = as_float(options["lr"]), options["rho"]
    fixed = options["weight_decay"], direction(options), rho, 1 - rho, options["eps"]
    return (lr, *fixed), (steps + 1,)


@optimizer
class Adadelta(ElementwiseOptimizer):
    """Adadelta: steps scaled by the ratio of the RMS of past steps to that of gradients (Zeiler, 2012)."""

    _operation = Step("adadelta_", formulas.adadelta, _numbers, ("square_avg", "acc_delta"))

    params: ParamsT
    lr: float | Tensor = 1.0
    rho: float = 0.9
    eps: float = 1e-6
    weight_decay: float = 0
    foreach: bool | None = None
    _: KW_ONLY
    capturable: bool = False
    maximize: bool = False
    differentiable: bool = False

    def _check(self, options: Options) -> None:
        super()._check(options)
        if not 0.0 <= options["rho"] <= 1.0:
            raise ValueError(f"Invalid rho value: {options['rho']}")
