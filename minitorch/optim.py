"""Lesson 4: turning gradients into better parameters."""

from __future__ import annotations

import numbers
from collections.abc import Iterable

from .module import Parameter
from .scalar import Scalar


class Optimizer:
    """Holds the parameters that `step` will change."""

    def __init__(self, parameters: Iterable[Parameter]) -> None:
        self.parameters = list(parameters)
        for p in self.parameters:
            if not isinstance(p, Parameter):
                raise TypeError(f"an optimizer takes Parameters, not {type(p).__name__}")

    def zero_grad(self) -> None:
        """Forget all derivatives."""
        for p in self.parameters:
            if isinstance(p.value, Scalar):
                p.value.derivative = None
            elif hasattr(p.value, "zero_grad_"):
                p.value.zero_grad_()

    def step(self) -> None:
        """Change the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no step method")


class SGD(Optimizer):
    """Stochastic gradient descent: step against the gradient, `lr` times its length."""

    def __init__(self, parameters: Iterable[Parameter], lr: float = 1.0) -> None:
        super().__init__(parameters)
        if isinstance(lr, bool) or not isinstance(lr, numbers.Real):
            raise TypeError(f"SGD: lr must be a number, not {lr!r}")
        if not lr >= 0:
            raise ValueError(f"SGD: lr must not be negative, it is {lr}")
        self.lr: float = lr

    def step(self) -> None:
        """Move every parameter that has a derivative."""
        for p in self.parameters:
            value = p.value
            if isinstance(value, Scalar):
                if value.derivative is not None:
                    p.update(Scalar(value.data - self.lr * value.derivative))
            elif getattr(value, "grad", None) is not None:
                p.update(value.detach() + value.grad * -self.lr)
