"""Rates given by user functions."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate


def settings_of(fn: Any) -> dict[str, Any] | None:
    """The attributes of a callable object; None for a plain function, which is not saved."""
    return None if isinstance(fn, types.FunctionType) else vars(fn).copy()


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.lr_lambdas: list[Callable[[int], float]]
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check_lambdas()
        super().__init__(optimizer, last_epoch)

    def _check_lambdas(self) -> None:
        """Nothing: a function that cannot be called is an error at its first call."""

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer and plain functions."""
        state = self._state_without("optimizer", "lr_lambdas")
        return {**state, "lr_lambdas": [settings_of(fn) for fn in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        vars(self).update({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for fn, settings in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if settings is not None:
                vars(fn).update(settings)

    def _rates(self) -> list[Rate]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * fn(self.last_epoch) for base, fn in pairs]


class MultiplicativeLR(LambdaLR):
    """The current rate times a function of the epoch."""

    def _check_lambdas(self) -> None:
        for fn in self.lr_lambdas:
            if not callable(fn):
                raise TypeError(f"lr_lambda should be a function, but got {type(fn).__name__}")

    def _rates(self) -> list[Rate]:
        if self._is_initial:
            return self._current()
        pairs = zip(self.optimizer.param_groups, self.lr_lambdas, strict=True)
        return [group["lr"] * fn(self.last_epoch) for group, fn in pairs]
