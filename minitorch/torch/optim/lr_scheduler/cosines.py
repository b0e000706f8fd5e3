"""Cosine annealing."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Rate, scheduler


@scheduler
class CosineAnnealingLR(LRScheduler):
    """Cosine annealing from the initial rate to `eta_min` over `T_max` epochs, and back."""

    optimizer: Optimizer
    T_max: int
    eta_min: float = 0.0
    last_epoch: int = -1

    def _rates(self) -> list[Rate]:
        epoch, period, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and epoch > 0:
            return self._get_closed_form_lr()
        groups = self.optimizer.param_groups
        if (epoch - 1 - period) % (2 * period) == 0:  # up again from the lowest point
            rise = [(base - low) * (1 - math.cos(math.pi / period)) / 2 for base in self.base_lrs]
            return [group["lr"] + r for group, r in zip(groups, rise, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / period)) / (
            1 + math.cos(math.pi * (epoch - 1) / period)
        )
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Rate]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


@scheduler
class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing to `eta_min` over T_0 epochs, then restarts, each cycle `T_mult` times as long."""

    optimizer: Optimizer
    T_0: int
    T_mult: int = 1
    eta_min: float = 0.0
    last_epoch: int = -1

    def _normalize_arguments(self, last_epoch: int) -> None:
        first, ratio, low = self.T_0, self.T_mult, self.eta_min
        if first <= 0 or not isinstance(first, int):
            raise ValueError(f"Expected positive integer T_0, but got {first}")
        if ratio < 1 or not isinstance(ratio, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {ratio}")
        if not isinstance(low, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {low} of type {type(low)}")
        self.T_i: int = first
        self.T_cur: float = last_epoch

    def _rates(self) -> list[Rate]:
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to a given one (or part of one), and set the rates."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._jump(epoch)
        self.last_epoch = math.floor(epoch)
        with self._asking():
            values = self.get_lr()
        self._set(values)

    def _jump(self, epoch: float) -> None:
        """Find the period that an epoch is in."""
        first, ratio = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif ratio == 1:
            self.T_cur = epoch % first
        else:
            n = int(math.log(epoch / first * (ratio - 1) + 1, ratio))
            self.T_cur = epoch - first * (ratio**n - 1) / (ratio - 1)
            self.T_i = first * ratio**n
