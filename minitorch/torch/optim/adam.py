"""Adam."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT
from .options import as_float, direction, optimizer, weight_decay


@optimizer
class Adam(ElementwiseOptimizer):
    """Adam: the mean gradient divided by its root mean square (Kingma and Ba, 2014)."""

    params: ParamsT
    lr: float | Tensor = 1e-3
    betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0
    amsgrad: bool = False
    _: KW_ONLY
    foreach: bool | None = None
    maximize: bool = False
    capturable: bool = False
    differentiable: bool = False
    fused: bool | None = None
    decoupled_weight_decay: bool = False

    def _check(self, options: Options) -> None:
        betas = options["betas"]
        if isinstance(options["lr"], Tensor) and options["foreach"] and not options["capturable"]:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        super()._check(options)
        if not any(all(isinstance(b, kind) for b in betas) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        options["betas"] = tuple(map(as_float, betas))

    def _sparse_step(self, group: Group, p: Any, gradient: Any) -> None:
        raise RuntimeError(
            "Adam does not support sparse gradients, please consider SparseAdam instead"
        )

    def _step(self, group: Group, first: bool) -> Step:
        return _AMSGRAD if group["amsgrad"] else _ADAM


def _numbers(options: Options, steps: float) -> Numbers:
    lr = as_float(options["lr"])
    beta1, beta2 = map(as_float, options["betas"])
    steps = float(steps) + 1
    rate, root = lr / (1 - beta1**steps), (1 - beta2**steps) ** 0.5
    decay, keep = weight_decay(options, lr)
    fixed = decay, keep, direction(options), 1 - beta1, beta2, 1 - beta2
    return (rate, *fixed, root, options["eps"]), (steps,)


_ADAM = Step("adam_", formulas.adam, _numbers, ("exp_avg", "exp_avg_sq"))
_AMSGRAD = Step("amsgrad_", formulas.amsgrad, _numbers, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"))
