"""Rates that are multiplied by a factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate, scheduler


class _FactorLR(LRScheduler):
    """Multiplies the current rates by a factor: `_factor()`; the base rates by `_initial_factor()`."""

    def _factor(self) -> float | None:
        """The factor for the current rates; None: unchanged."""
        raise NotImplementedError

    def _initial_factor(self) -> float:
        """The factor for the initial rates."""
        raise NotImplementedError

    def _rates(self) -> list[Rate]:
        factor = self._factor()
        if factor is None:
            return self._current()
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self._initial_factor() for base in self.base_lrs]


@scheduler
class StepLR(_FactorLR):
    """The rate times `gamma` every `step_size` epochs."""

    optimizer: Optimizer
    step_size: int
    gamma: float = 0.1
    last_epoch: int = -1

    def _factor(self) -> float | None:
        epoch = self.last_epoch
        return None if epoch == 0 or epoch % self.step_size != 0 else self.gamma

    def _initial_factor(self) -> float:
        return self.gamma ** (self.last_epoch // self.step_size)


@scheduler
class MultiStepLR(_FactorLR):
    """The rate times `gamma` at each milestone."""

    optimizer: Optimizer
    milestones: Any
    gamma: float = 0.1
    last_epoch: int = -1

    def _normalize_arguments(self, last_epoch: int) -> None:
        self.milestones = Counter(self.milestones)

    def _factor(self) -> float | None:
        if self.last_epoch not in self.milestones:
            return None
        return self.gamma ** self.milestones[self.last_epoch]

    def _initial_factor(self) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


@scheduler
class ConstantLR(_FactorLR):
    """The rate times `factor` for the first `total_iters` epochs."""

    optimizer: Optimizer
    factor: float = 1.0 / 3
    total_iters: int = 5
    last_epoch: int = -1

    def _normalize_arguments(self, last_epoch: int) -> None:
        if self.factor > 1.0 or self.factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else None

    def _initial_factor(self) -> float:
        return self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)


@scheduler
class LinearLR(_FactorLR):
    """The rate times a factor that goes linearly from `start_factor` to `end_factor` over `total_iters` epochs."""

    optimizer: Optimizer
    start_factor: float = 1.0 / 3
    end_factor: float = 1.0
    total_iters: int = 5
    last_epoch: int = -1

    def _normalize_arguments(self, last_epoch: int) -> None:
        if self.start_factor > 1.0 or self.start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
            )
        if self.end_factor > 1.0 or self.end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")

    def _factor(self) -> float | None:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return 1.0 + rise / before

    def _initial_factor(self) -> float:
        done = min(self.total_iters, self.last_epoch)
        return self.start_factor + (self.end_factor - self.start_factor) * done / self.total_iters


@scheduler
class ExponentialLR(_FactorLR):
    """The rate times `gamma` every epoch."""

    optimizer: Optimizer
    gamma: float
    last_epoch: int = -1

    def _factor(self) -> float | None:
        return None if self._is_initial else self.gamma

    def _initial_factor(self) -> float:
        return self.gamma**self.last_epoch


@scheduler
class PolynomialLR(_FactorLR):
    """Polynomial decay to 0 over `total_iters` epochs."""

    optimizer: Optimizer
    total_iters: int = 5
    power: float = 1.0
    last_epoch: int = -1

    def _factor(self) -> float | None:
        if self._is_initial or self.last_epoch > self.total_iters:
            return None
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return (left / before) ** self.power

    def _initial_factor(self) -> float:
        return (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
