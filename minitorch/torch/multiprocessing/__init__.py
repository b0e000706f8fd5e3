"""Python's `multiprocessing`, with tensors that go between processes in shared memory.

A tensor that is put into a queue or handed to a process moves into memory that both sides see:
what one writes, the other reads. So does `tensor.share_memory_()`, and `module.share_memory()` for
all parameters.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from importlib import import_module as _import_module
from multiprocessing import reduction as reduction
from typing import Any

from . import shared as reductions

_STRATEGY = "file_descriptor"
_SPAWNING = (
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
    "start_processes",
)  # fmt: skip
"""What loads when it is first asked for."""

reductions.init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """How shared memory may be found by another process."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """How shared memory is found by another process."""
    return _STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Accept a way to share; memory always goes by its file descriptor here."""
    global _STRATEGY
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"invalid sharing strategy: {new_strategy}")
    _STRATEGY = new_strategy


def __getattr__(name: str) -> Any:
    """Functions that start processes; everything else is Python's: Process, Queue, Pool, get_context, set_start_method, ..."""
    return getattr(
        _import_module(f"{__name__}.spawning") if name in _SPAWNING else _multiprocessing, name
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *_SPAWNING, *_multiprocessing.__all__})
