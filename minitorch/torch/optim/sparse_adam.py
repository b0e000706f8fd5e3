"""Adam for tables of which each step touches a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor, bump_version
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    as_float,
    check_betas,
    evaluated,
    zeros_like,
)


class SparseAdam(Optimizer):
    """Adam that leaves rows without a gradient, and their means, as they are.

    Gradients are dense here: a row of zeros stands for a row without a gradient.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _renew(self, state: dict[str, Any]) -> None:
        """Steps are plain numbers here, as in Torch."""

    def step(self, closure: Closure = None) -> Any:
        """Change the parameters once; return the closure's loss."""
        loss = evaluated(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(group, p, p.grad._array)
        return loss

    def _update(self, group: dict[str, Any], p: Tensor, gradient: Any) -> None:
        state = self.state[p]
        if not state:
            state.update(step=0, exp_avg=zeros_like(p), exp_avg_sq=zeros_like(p))
        state["step"] += 1
        rows = np.flatnonzero(gradient.reshape(len(gradient), -1).any(axis=1))
        g = -gradient[rows] if group["maximize"] else gradient[rows]
        (beta1, beta2), steps = group["betas"], state["step"]
        mean, square = state["exp_avg"]._array, state["exp_avg_sq"]._array
        mean[rows] += (1 - beta1) * (g - mean[rows])
        square[rows] += (1 - beta2) * (g * g - square[rows])
        rate = as_float(group["lr"]) * (1 - beta2**steps) ** 0.5 / (1 - beta1**steps)
        p._array[rows] -= rate * (mean[rows] / (np.sqrt(square[rows]) + group["eps"]))
        bump_version(p)
