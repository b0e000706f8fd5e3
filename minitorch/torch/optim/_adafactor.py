"""Adafactor: mean squares kept as rows and columns."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..autograd.modes import no_grad
from ..tensor import Tensor
from .optimizer import (
    Closure,
    Optimizer,
    ParamsT,
    as_float,
    counted,
    evaluated,
    number,
    zeros_like,
)


class Adafactor(Optimizer):
    """Adam with little memory: a matrix's mean squares from those of its rows and columns.

    (Shazeer and Stern, 2018.)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    @no_grad()
    def step(self, closure: Closure = None) -> Any:
        """Change the parameters once; return the closure's loss."""
        loss = evaluated(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    gradient = -p.grad if group["maximize"] else p.grad
                    self._update(group, p, gradient)
        return loss

    def _update(self, group: dict[str, Any], p: Any, gradient: Any) -> None:
        state, lr = self.state[p], as_float(group["lr"])
        if not state:
            _start(state, p)
        steps = counted(state)
        eps1, eps2 = group["eps"]
        eps1 = dtypes.finfo(p.dtype).eps if eps1 is None else eps1
        rate = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / steps**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        estimate = _mean_squares(state, gradient, steps ** group["beta2_decay"], eps1)
        change = estimate.clamp(min=eps1 * eps1).rsqrt() * gradient
        size = max(1.0, change.norm(2).item() / (change.numel() ** 0.5 * group["d"]))
        p.add_(change, alpha=-rate / size)


def _start(state: dict[str, Any], p: Any) -> None:
    """Fill the state of a parameter before its first step."""
    state["step"] = number(0.0)
    if p.ndim > 1:
        state["row_var"] = p.new_zeros([*p.shape[:-1], 1])
        state["col_var"] = p.new_zeros([*p.shape[:-2], 1, p.shape[-1]])
    else:
        state["variance"] = zeros_like(p)


def _mean_squares(state: dict[str, Any], gradient: Any, new: float, eps: float) -> Any:
    """The mean square of each element: of a matrix, estimated from its rows and columns."""
    if gradient.ndim < 2:
        return state["variance"].lerp_(gradient * gradient, new)
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(gradient.norm(dim=-1, keepdim=True).square() / gradient.shape[-1], new)
    columns.lerp_(gradient.norm(dim=-2, keepdim=True).square() / gradient.shape[-2], new)
    return rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=eps)
