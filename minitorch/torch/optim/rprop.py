"""Rprop: a step size for each element, by the sign of its gradient alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.cpu import optim_formulas as formulas
from ..tensor import Tensor, wrap
from .optimizer import (
    ElementwiseOptimizer,
    Group,
    ParamsT,
    State,
    as_float,
    check_lr,
    counted,
    number,
    zeros_like,
)


class Rprop(ElementwiseOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.rprop, ("prev", "step_size")

    def _start(self, group: Group, p: Tensor, state: State) -> None:
        state["step"], state["prev"] = number(0.0), zeros_like(p)
        lr = as_float(group["lr"])
        kind = p._array.dtype.kind
        state["step_size"] = wrap(np.full_like(p._array, complex(lr, lr) if kind == "c" else lr))

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        sign = -1.0 if group["maximize"] else 1.0
        numbers = sign, *group["etas"], *group["step_sizes"], 1.0

        def count(state: State) -> tuple[float, ...]:
            counted(state)
            return numbers

        return count
