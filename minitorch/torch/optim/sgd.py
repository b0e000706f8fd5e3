"""Stochastic gradient descent."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from ..autograd.modes import no_grad
from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT, State
from .options import as_float, direction, optimizer


@optimizer
class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent, with momentum, dampening, weight decay and Nesterov momentum."""

    params: ParamsT
    lr: float | Tensor = 1e-3
    momentum: float = 0
    dampening: float = 0
    weight_decay: float | Tensor = 0
    nesterov: bool = False
    _: KW_ONLY
    maximize: bool = False
    foreach: bool | None = None
    differentiable: bool = False
    fused: bool | None = None

    def _check(self, options: Options) -> None:
        super()._check(options)
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def _step(self, group: Group, first: bool) -> Step:
        if group["momentum"] == 0:
            return _PLAIN
        return _FIRST if first else _LATER

    @no_grad()
    def _sparse_step(self, group: Group, p: Any, gradient: Any) -> None:
        g = gradient.neg() if group["maximize"] else gradient
        if group["weight_decay"] != 0:
            g = g.add(p, alpha=group["weight_decay"])  # which is refused
        if group["momentum"] != 0:
            sums = self.state[p].get("momentum_buffer")
            if sums is None:
                sums = self.state[p]["momentum_buffer"] = g.clone()
            else:
                sums.mul_(group["momentum"]).add_(g, alpha=1 - group["dampening"])
            g = g.add(sums, alpha=group["momentum"]) if group["nesterov"] else sums
        p.add_(g, alpha=-as_float(group["lr"]))

    def _renew(self, state: State) -> None:
        if state.get("momentum_buffer", 0) is None:
            state.clear()


def _common(options: Options) -> tuple[float, ...]:
    return as_float(options["lr"]), as_float(options["weight_decay"]), direction(options)


def _numbers(options: Options, old: float, new: float) -> Numbers:
    ahead = options["momentum"] if options["nesterov"] else 0.0
    return (*_common(options), old, new, ahead), ()


def _first(options: Options) -> Numbers:
    return _numbers(options, 0.0, 1.0)


def _later(options: Options) -> Numbers:
    return _numbers(options, options["momentum"], 1.0 - options["dampening"])


_PLAIN = Step("sgd_", formulas.sgd, lambda options: (_common(options), ()), counts=())
_FIRST = Step("sgd_momentum_", formulas.momentum, _first, ("momentum_buffer",), ())
_LATER = Step("sgd_momentum_", formulas.momentum, _later, ("momentum_buffer",), ())
