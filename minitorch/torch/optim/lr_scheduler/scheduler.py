"""The base class of schedulers."""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, dataclass_transform

from ...declarations import constructor
from ...tensor import Tensor
from ..optimizer import Optimizer
from ..options import as_float

Rate = Any
"""A learning rate: a number, or a tensor with one element."""

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def own(value: Any) -> Any:
    """A value, copied if it is a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def options_of(optimizer: Optimizer, name: str) -> list[Any]:
    """The values of an option, one for each group."""
    return [own(group[name]) for group in optimizer.param_groups]


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group: given as a list, or one for all."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [own(value) for _ in groups]
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {len(groups)}."
        )
    return [own(v) for v in value]


def set_rate(group: dict[str, Any], value: Rate) -> None:
    """Set a group's learning rate; a tensor is updated in place."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(as_float(value))
    else:
        group["lr"] = value


def check_optimizer(optimizer: Any) -> None:
    """TypeError unless the argument is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _note_steps(optimizer: Any) -> None:
    """Patch an optimizer's `step` so that it records that it was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    itself, step = weakref.ref(optimizer), optimizer.step.__func__

    @functools.wraps(step)
    def call(*args: Any, **kwargs: Any) -> Any:
        optimizer: Any = itself()
        optimizer._opt_called = True
        return step(optimizer, *args, **kwargs)

    call._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = call


class LRScheduler:
    """Changes the learning rates of an optimizer's groups.

    A subclass computes them in `get_lr` (here in `_rates`), from `last_epoch`, `base_lrs` and the current ones.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Rate]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs: list[Rate] = options_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _normalize_arguments(self, last_epoch: int) -> None:
        """Check the attributes, and set derived ones."""

    def _initial_step(self) -> None:
        """Set the initial rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer."""
        return self._state_without("optimizer")

    def _state_without(self, *names: str) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from `state_dict`."""
        vars(self).update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The current rates."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The new rate of each group."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        return self._rates()

    def _rates(self) -> list[Rate]:
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, and set the rates."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _warn_about_order(self) -> None:
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. {_SEE}",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 "
                "and later, you should call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`.  Failure to do this will result in PyTorch skipping the "
                f"first value of the learning rate schedule. {_SEE}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._asking():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set(values)

    def _set(self, values: Sequence[Rate]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, value)
        self._last_lr = options_of(self.optimizer, "lr")

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """A context in which the scheduler itself calls `get_lr`."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _current(self) -> list[Rate]:
        return options_of(self.optimizer, "lr")


Kind = TypeVar("Kind", bound=type[LRScheduler])


@dataclass_transform(eq_default=False)
def scheduler(cls: Kind) -> Kind:
    """Generate a class's `__init__` from its annotations.

    The first is `optimizer`, the last `last_epoch`. The others become attributes, which `_normalize_arguments`, if the class has
    it, looks at.
    """

    def build(self: Any, arguments: dict[str, Any]) -> None:
        optimizer, last_epoch = arguments.pop("optimizer"), arguments.pop("last_epoch")
        vars(self).update(arguments)
        self._normalize_arguments(last_epoch)
        LRScheduler.__init__(self, optimizer, last_epoch)

    cls.__init__ = constructor(cls, build)  # type: ignore[method-assign]
    return cls
