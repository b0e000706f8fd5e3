"""How much is checked and told: `TORCH_DISTRIBUTED_DEBUG` is OFF, INFO or DETAIL."""

from __future__ import annotations

import os
from enum import Enum


class DebugLevel(Enum):
    """DETAIL compares the calls of all ranks before each collective."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __repr__(self) -> str:
        return f"<DebugLevel.{self.name}: {self.value}>"


_chosen: list[DebugLevel] = []  # at most one: by the program, in the place of the environment's


def get_debug_level() -> DebugLevel:
    """The level: the one that was set, or the environment's."""
    return _chosen[0] if _chosen else _from_environment()


def set_debug_level(level: DebugLevel) -> None:
    """Set the level for groups that are made from now on."""
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level(): expected a DebugLevel, not {type(level).__name__}")
    _chosen[:] = [level]


def set_debug_level_from_env() -> None:
    """Take the environment's level again."""
    _chosen[:] = [_from_environment()]


def _from_environment() -> DebugLevel:
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, but it is {name!r}"
        )
    return DebugLevel[name]
