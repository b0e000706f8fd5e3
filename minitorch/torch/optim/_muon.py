"""Muon: orthogonalized momentum."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..ops.creation import zeros_like
from .optimizer import Group, OneByOneOptimizer, Options, ParamsT
from .options import as_float, check_dense, check_lr, optimizer

_SHOWN = {"lr": "Learning rate", "momentum": "momentum", "weight_decay": "weight decay"}


@optimizer
class Muon(OneByOneOptimizer):
    """Orthogonalized momentum for matrices (Jordan, 2024)."""

    params: ParamsT
    lr: float = 1e-3
    weight_decay: float = 0.1
    momentum: float = 0.95
    nesterov: bool = True
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315)
    eps: float = 1e-7
    ns_steps: int = 5
    adjust_lr_fn: str | None = None

    def _check(self, options: Options) -> None:
        check_lr(options["lr"])
        for key, name in _SHOWN.items():
            if not options[key] >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {options[key]}")
        way = options["adjust_lr_fn"]
        if way not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {way} is not supported")

    def add_param_group(self, param_group: Group) -> None:
        """Add a group of matrices: a dict with "params" and options."""
        super().add_param_group(param_group)
        for p in param_group["params"]:
            if p.ndim != 2:
                raise ValueError(
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{p.shape}"
                )

    def _update(self, group: Group, p: Any, gradient: Any) -> None:
        check_dense(self, gradient)
        lr, momentum = as_float(group["lr"]), group["momentum"]
        state = self.state.get(p) or {"momentum_buffer": zeros_like(p)}
        velocity = state["momentum_buffer"].lerp_(gradient, 1 - momentum)
        self.state[p] = state
        direction = gradient.lerp(velocity, momentum) if group["nesterov"] else velocity
        direction = _orthogonal(
            direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
        )
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(direction, alpha=-_rate(lr, group["adjust_lr_fn"], p.shape))


def _orthogonal(matrix: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """An approximation of the nearest orthogonal matrix, by Newton-Schulz iteration in bfloat16."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.to(dtypes.bfloat16)
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = x.addmm(gram.addmm(gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _rate(lr: float, way: str | None, shape: tuple[int, ...]) -> float:
    """The learning rate for a matrix of a shape."""
    if way == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(shape[:2]))
    return lr * math.sqrt(max(1, shape[0] / shape[1]))
