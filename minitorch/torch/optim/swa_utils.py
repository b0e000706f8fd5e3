"""Averages of models along training: stochastic weight averaging, exponential moving averages."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from .. import dtypes
from ..autograd.modes import no_grad
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..ops.creation import tensor
from ..tensor import Tensor
from .lr_scheduler.scheduler import LRScheduler, Rate, per_group
from .optimizer import Optimizer


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _moves(tensor: Tensor) -> bool:
    """Whether a tensor can be averaged: its dtype is floating point or complex."""
    return tensor.dtype.kind >= dtypes.FLOATING


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., None]:
    """A function that updates lists of exponential moving averages."""
    _check_decay(decay)

    @no_grad()
    def ema_update(averages: Any, current: Any, _: Any) -> None:
        for average, new in zip(averages, current, strict=True):
            if _moves(average):
                average.lerp_(new, 1 - decay)
            else:
                average.copy_(average * decay + new * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., None]:
    """A function that updates lists of equal averages."""

    @no_grad()
    def swa_update(averages: Any, current: Any, num_averaged: Any) -> None:
        share = 1 / (float(num_averaged) + 1)
        for average, new in zip(averages, current, strict=True):
            if _moves(average):
                average.lerp_(new, share)
            else:
                average.add_(((new - average) * share).to(average.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Tensor]:
    """A function that computes an exponential moving average."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Tensor]:
    """A function that computes an equal average."""

    @no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's.

    Args:
        model: what is averaged
        device: of the averages
        avg_fn: `avg_fn(average, current, count)` computes one new average
        multi_avg_fn: `multi_avg_fn(averages, currents, count)` updates all in place
        use_buffers: whether buffers are averaged too, rather than copied
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[..., Tensor] | None = None,
        multi_avg_fn: Callable[..., None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=dtypes.int64))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The output of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the averages by the model's present parameters."""
        averages, current = self._tensors(self.module), self._tensors(model)
        if self.n_averaged == 0:
            for average, new in zip(averages, current, strict=True):
                average.copy_(new)
        elif self.avg_fn is not None:
            for average, new in zip(averages, current, strict=True):
                average.copy_(self.avg_fn(average, new, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, current, self.n_averaged)
        if not self.use_buffers:
            for kept, new in zip(self.module.buffers(), model.buffers(), strict=True):
                kept.detach().copy_(new.detach())
        self.n_averaged += 1  # type: ignore[assignment]

    def _tensors(self, model: Module) -> list[Tensor]:
        """The tensors of a model that are averaged, detached."""
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in itertools.chain(model.parameters(), buffers)]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of batch norms, from all batches of a loader."""
    momenta: dict[Any, Any] = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Annealing from the current rates to `swa_lr` over `anneal_epochs`, then constant."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The weight of the final rate at a fraction of the annealing."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _rates(self) -> list[Rate]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self._share(step - 1)
        now = self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target, lr = group["swa_lr"], group["lr"]
            start = target if before == 1 else (lr - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates

    def _share(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))
