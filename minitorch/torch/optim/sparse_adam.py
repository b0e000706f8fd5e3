"""Adam for tables of which each step touches a few rows."""

from __future__ import annotations

from typing import Any

from ..autograd.modes import no_grad
from ..ops.creation import zeros_like
from ..tensor import Tensor
from .optimizer import Closure, Group, Optimizer, Options, ParamsT, State, evaluated
from .options import as_float, check_betas, check_lr, optimizer


@optimizer
class SparseAdam(Optimizer):
    """Adam that leaves rows without a gradient, and their means, as they are.

    Gradients are dense here: a row of zeros stands for a row without a gradient.
    """

    params: ParamsT
    lr: float | Tensor = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    maximize: bool = False

    def _check(self, options: Options) -> None:
        check_lr(options["lr"])
        if not options["lr"] > 0.0:
            raise ValueError(f"Invalid learning rate: {options['lr']}")
        if not options["eps"] > 0.0:
            raise ValueError(f"Invalid epsilon value: {options['eps']}")
        check_betas(options["betas"])

    def _renew(self, state: State) -> None:
        """Steps are plain numbers here, as in Torch."""

    @no_grad()
    def step(self, closure: Closure = None) -> Any:
        """Change the parameters once; return the closure's loss."""
        loss = evaluated(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(group, p, p.grad)
        return loss

    def _update(self, group: Group, p: Any, gradient: Any) -> None:
        state = self.state.get(p) or {
            "step": 0, "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)
        }  # fmt: skip
        steps, (beta1, beta2) = state["step"] + 1, group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        rows = gradient.reshape(len(gradient), -1).any(dim=1).nonzero()[:, 0]
        g = -gradient[rows] if group["maximize"] else gradient[rows]
        new_mean = mean[rows].lerp(g, 1 - beta1)
        new_square = square[rows].lerp(g * g, 1 - beta2)
        rate = as_float(group["lr"]) * (1 - beta2**steps) ** 0.5 / (1 - beta1**steps)
        p.index_add_(0, rows, new_mean / (new_square.sqrt() + group["eps"]), alpha=-rate)
        mean[rows], square[rows] = new_mean, new_square
        self.state[p].update(state, step=steps)
