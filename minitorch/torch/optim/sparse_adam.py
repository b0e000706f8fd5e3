"""Adam for sparse gradients."""

from __future__ import annotations

from typing import Any

from ..ops.creation import zeros_like
from ..tensor import Tensor
from .optimizer import Group, OneByOneOptimizer, Options, ParamsT, State
from .options import as_float, check_betas, check_lr, optimizer


@optimizer
class SparseAdam(OneByOneOptimizer):
    """Adam for sparse gradients: rows without a gradient, and their state, stay unchanged."""

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
        """Keep the state: step counts are plain numbers here, as in Torch."""

    def _update(self, group: Group, p: Any, gradient: Any) -> None:
        if not gradient.is_sparse:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        state = self.state.get(p) or {
            "step": 0, "exp_avg": zeros_like(p), "exp_avg_sq": zeros_like(p)
        }  # fmt: skip
        steps, (beta1, beta2) = state["step"] + 1, group["betas"]
        gradient = (gradient.neg() if group["maximize"] else gradient).coalesce()
        at, g = tuple(gradient._indices().unbind()), gradient._values()
        mean = _moved(state["exp_avg"], at, g, 1 - beta1)
        square = _moved(state["exp_avg_sq"], at, g * g, 1 - beta2)
        rate = as_float(group["lr"]) * (1 - beta2**steps) ** 0.5 / (1 - beta1**steps)
        p.index_put_(at, mean / (square.sqrt() + group["eps"]) * -rate, accumulate=True)
        self.state[p].update(state, step=steps)


def _moved(mean: Any, at: tuple[Any, ...], values: Any, share: float) -> Any:
    """Update a running mean at indices; return its new values there."""
    old = mean[at]
    new = (values - old) * share + old
    mean.index_put_(at, new)
    return new
