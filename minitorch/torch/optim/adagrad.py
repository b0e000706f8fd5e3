"""Adagrad: steps that shrink with all squares so far."""

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
    check_range,
    check_switches,
    counted,
    number,
)


class Adagrad(ElementwiseOptimizer):
    """In units of the root of the sum of squares (Duchi, Hazan and Singer, 2011)."""

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_range(lr_decay, "Invalid lr_decay value")
        check_range(weight_decay, "Invalid weight_decay value")
        check_range(initial_accumulator_value, "Invalid initial_accumulator_value value")
        check_range(eps, "Invalid epsilon value")
        check_switches(fused, foreach, differentiable)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self._start(group, p, self.state[p])

    def _start(self, group: Group, p: Tensor, state: State) -> None:
        state["step"] = number(0.0)
        value = self.defaults["initial_accumulator_value"]
        kind = p._array.dtype.kind
        full = np.full_like(p._array, complex(value, value) if kind == "c" else value)
        state["sum"] = wrap(full)

    def share_memory(self) -> None:
        """Move the state to memory that other processes see."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _formula(self, group: Group) -> tuple[Callable[..., Any], tuple[str, ...]]:
        return formulas.adagrad, ("sum",)

    def _numbers(self, group: Group) -> Callable[[State], tuple[float, ...]]:
        lr, decay, eps = as_float(group["lr"]), group["weight_decay"], group["eps"]
        sign, lr_decay = -1.0 if group["maximize"] else 1.0, group["lr_decay"]
        return lambda state: (lr / (1 + (counted(state) - 1) * lr_decay), decay, sign, eps)
