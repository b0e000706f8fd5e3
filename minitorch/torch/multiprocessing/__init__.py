"""Python's `multiprocessing`, with tensors that go between processes in shared memory.

A tensor that is put into a queue or handed to a process moves into memory that both sides see:
what one writes, the other reads. So does `tensor.share_memory_()`, and `module.share_memory()` for
all parameters.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import reduction as reduction
from typing import Any

from . import shared as reductions
from .spawning import ProcessContext as ProcessContext
from .spawning import ProcessException as ProcessException
from .spawning import ProcessExitedException as ProcessExitedException
from .spawning import ProcessRaisedException as ProcessRaisedException
from .spawning import SpawnContext as SpawnContext
from .spawning import spawn as spawn
from .spawning import start_processes as start_processes

_STRATEGY = "file_descriptor"

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
    """Everything else is Python's: Process, Queue, Pool, get_context, set_start_method, ..."""
    return getattr(_multiprocessing, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_multiprocessing.__all__})
