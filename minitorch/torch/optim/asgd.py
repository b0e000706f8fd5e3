"""ASGD: gradient descent with an average of the parameters."""

from __future__ import annotations

from ..tensor import Tensor
from . import formulas
from .elementwise import ElementwiseOptimizer, Numbers, Step
from .optimizer import Group, Options, ParamsT, State, number
from .options import as_float, direction, optimizer


def _numbers(options: Options, steps: float, eta: float, mu: float) -> Numbers:
    lr, lambd = as_float(options["lr"]), options["lambd"]
    steps, eta, mu = float(steps) + 1, float(eta), float(mu)
    next_eta = lr / (1 + lambd * lr * steps) ** options["alpha"]
    next_mu = 1 / max(1, steps - options["t0"])
    numbers = eta, options["weight_decay"], 1 - lambd * eta, direction(options), 1 - mu, mu
    return numbers, (steps, next_eta, next_mu)


@optimizer
class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

    _operation = Step("asgd_", formulas.asgd, _numbers, ("ax",), ("step", "eta", "mu"))

    params: ParamsT
    lr: float | Tensor = 1e-2
    lambd: float = 1e-4
    alpha: float = 0.75
    t0: float = 1e6
    weight_decay: float = 0
    foreach: bool | None = None
    maximize: bool = False
    differentiable: bool = False
    capturable: bool = False

    def _renew(self, state: State) -> None:
        for name in self._operation.counts:
            if name in state and not isinstance(state[name], Tensor):
                state[name] = number(state[name])

    def _start(self, group: Group, p: Tensor) -> State:
        start = {"eta": number(as_float(group["lr"])), "mu": number(1.0)}
        return {**super()._start(group, p), **start}
