"""Ranks that have fewer inputs than others: until those are through, they take part in the collectives alone.

Before its collectives, a `Joinable` counts in each iteration how many ranks still have inputs (an all-reduce). A rank that
leaves the context counts as none, and calls `main_hook`, which matches the collectives of an iteration, until all are through.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ops.creation import ones, zeros
from .. import collectives, world
from ..reductions import ReduceOp

_WARN_AFTER = 1000


class JoinHook:
    """What a rank does for a `Joinable` after its own inputs."""

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once when all ranks are through; `is_last_joiner`: this one was among the last."""


class _JoinConfig(NamedTuple):
    """Whether a context is open, what it was told, and whether this `Joinable` counts the ranks for all of them."""

    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """No context is open."""
        return _JoinConfig()


class Joinable(ABC):
    """Something with collectives in every iteration, which ranks without inputs can match."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What matches its collectives."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """Where the count of ranks is."""

    @property
    @abstractmethod
    def join_process_group(self) -> Any:
        """The ranks that take part."""


class Join:
    """`with Join([model, optimizer]):` lets ranks train with different numbers of inputs.

    Args:
        joinables: all that have collectives in an iteration, in the order of their collectives
        enable: False does nothing
        throw_on_early_termination: RuntimeError on all ranks as soon as one has no more inputs
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = list(joinables)
        self._join_hooks = [joinable.join_hook(**kwargs) for joinable in self._joinables]
        self._enable, self._throw = enable, throw_on_early_termination
        groups = {id(world._resolve(j.join_process_group)) for j in self._joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group, self._device = joinables[0].join_process_group, joinables[0].join_device

    def __enter__(self) -> None:
        if self._enable:
            for number, joinable in enumerate(self._joinables):
                joinable._join_config = _JoinConfig(True, self._throw, number == 0)

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if not self._enable:
            return
        if kind is None:
            last = self._shadow()
            for hook in self._join_hooks:
                hook.post_hook(last)
        for joinable in self._joinables:
            joinable._join_config = _JoinConfig()

    def _shadow(self) -> bool:
        """Match the others' collectives until they are through; whether this rank was among the last."""
        last, iterations = True, 0
        while True:
            count = zeros(1, device=self._device)
            collectives.all_reduce(count, group=self._group)
            if int(count.item()) == 0:
                return last
            if self._throw:
                _tell(ones(1, device=self._device), self._group)
                raise RuntimeError(f"Rank {world.get_rank(self._group)} exhausted all inputs.")
            last, iterations = False, iterations + 1
            if iterations == _WARN_AFTER:
                rank = world.get_rank(self._group)
                warnings.warn(
                    f"Detected uneven input skew of greater than {_WARN_AFTER}. This means that rank {rank} has at least "
                    f"{_WARN_AFTER} fewer inputs than other currently-active ranks.",
                    stacklevel=3,
                )
            for hook in self._join_hooks:
                hook.main_hook()

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Count this rank as one that has inputs; a `Joinable` calls this before its collectives.

        Returns:
            the work of the count, None where no context is open or another `Joinable` counts
        """
        config = getattr(joinable, "_join_config", None)
        if config is None:
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor"
            )
        if not config.is_first_joinable or not config.enable:
            return None
        count = ones(1, device=joinable.join_device)
        work = collectives.all_reduce(count, group=joinable.join_process_group, async_op=True)
        throws = config.throw_on_early_termination
        if throws and _tell(zeros(1, device=joinable.join_device), joinable.join_process_group):
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return work


def _tell(ended: Any, group: Any) -> bool:
    """Tell all ranks whether this one has ended; whether one has."""
    collectives.all_reduce(ended, ReduceOp.SUM, group)
    return bool(ended.item())
