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
        g = (gradient.neg() if group["maximize"] else gradient).coalesce()
        means = [
            _moved(state[name], values, 1 - beta)
            for name, values, beta in (("exp_avg", g, beta1), ("exp_avg_sq", g.pow(2), beta2))
        ]
        rate = as_float(group["lr"]) * (1 - beta2**steps) ** 0.5 / (1 - beta1**steps)
        p.add_(g._with(means[0] / (means[1].sqrt() + group["eps"])), alpha=-rate)
        self.state[p].update(state, step=steps)


def _moved(mean: Any, values: Any, share: float) -> Any:
    """Update a running mean by sparse values; return its new values at their indices."""
    old = mean.sparse_mask(values)._values()
    mean.add_(values._with((values._values() - old) * share))
    return mean.sparse_mask(values)._values()
