"""Adam with decoupled weight decay."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ..tensor import Tensor
from .adam import Adam
from .optimizer import Options, ParamsT
from .options import optimizer


@optimizer
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017)."""

    params: ParamsT
    lr: float | Tensor = 1e-3
    betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 1e-2
    amsgrad: bool = False
    _: KW_ONLY
    maximize: bool = False
    foreach: bool | None = None
    capturable: bool = False
    differentiable: bool = False
    fused: bool | None = None

    def _check(self, options: Options) -> None:
        super()._check(options)
        options["decoupled_weight_decay"] = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
