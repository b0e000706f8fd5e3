"""Adafactor."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from .. import dtypes
from ..ops.creation import zeros_like
from ..tensor import Tensor
from .optimizer import Group, OneByOneOptimizer, Options, ParamsT, State, number
from .options import as_float, check_dense, check_lr, optimizer


@optimizer
class Adafactor(OneByOneOptimizer):
    """Adafactor: mean squares of a matrix, factored into those of its rows and columns.

    (Shazeer and Stern, 2018.)
    """

    params: ParamsT
    lr: float | Tensor = 1e-2
    beta2_decay: float = -0.8
    eps: tuple[float | None, float] = (None, 1e-3)
    d: float = 1.0
    weight_decay: float = 0.0
    _: KW_ONLY
    foreach: bool | None = None
    maximize: bool = False

    def _check(self, options: Options) -> None:
        check_lr(options["lr"])
        (eps1, eps2), d, decay = options["eps"], options["d"], options["beta2_decay"]
        for name, value, fits in (
            ("Learning rate", options["lr"], options["lr"] >= 0.0),
            ("beta2_decay", decay, decay <= 0.0),
            ("epsilon1", eps1, eps1 is None or eps1 >= 0.0),
            ("epsilon2", eps2, eps2 >= 0.0),
            ("Clipping threshold d", d, d >= 1.0),
            ("weight_decay", options["weight_decay"], options["weight_decay"] >= 0.0),
        ):
            if not fits:
                bound = {"beta2_decay": "<= 0", "Clipping threshold d": ">= 1"}.get(name, ">= 0")
                raise ValueError(f"{name} should be {bound} but is: {value}")

    def _update(self, group: Group, p: Any, gradient: Any) -> None:
        check_dense(self, gradient)
        gradient = -gradient if group["maximize"] else gradient
        state, lr = self.state.get(p) or _start(p), as_float(group["lr"])
        steps = state["step"].add_(1).item()
        self.state[p] = state
        eps1, eps2 = group["eps"]
        eps1 = dtypes.finfo(p.dtype).eps if eps1 is None else eps1
        rate = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, 1 / steps**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        estimate = _mean_squares(state, gradient, steps ** group["beta2_decay"], eps1)
        change = estimate.clamp(min=eps1 * eps1).rsqrt() * gradient
        size = max(1.0, change.norm(2).item() / (change.numel() ** 0.5 * group["d"]))
        p.add_(change, alpha=-rate / size)


def _start(p: Any) -> State:
    """The state of a parameter before its first step."""
    if p.ndim < 2:
        return {"step": number(0.0), "variance": zeros_like(p)}
    rows, columns = [*p.shape[:-1], 1], [*p.shape[:-2], 1, p.shape[-1]]
    return {"step": number(0.0), "row_var": p.new_zeros(rows), "col_var": p.new_zeros(columns)}


def _mean_squares(state: State, gradient: Any, new: float, eps: float) -> Any:
    """The mean square of each element: of a matrix, estimated from its rows and columns."""
    if gradient.ndim < 2:
        return state["variance"].lerp_(gradient * gradient, new)
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(gradient.norm(dim=-1, keepdim=True).square() / gradient.shape[-1], new)
    columns.lerp_(gradient.norm(dim=-2, keepdim=True).square() / gradient.shape[-2], new)
    return rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=eps)
