"""Places that kernels find to be out of range: noted in memory of the CPU, which is looked at when somebody waits for the GPU.

With CUDA_LAUNCH_BLOCKING=1 each kernel that may note one is waited for, as in PyTorch: the error is raised where it was made.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from .graphs import MOST_CHECKS, recording

BLOCKING = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"

_messages: list[str] = []


@cache
def _noted() -> tuple[Any, np.ndarray]:
    """Memory that GPUs write, and what is in it: two numbers for each message, whether a place is wrong, and which."""
    memory = cupy.cuda.alloc_pinned_memory(16 * MOST_CHECKS)
    numbers = np.frombuffer(memory, np.int64, 2 * MOST_CHECKS)
    numbers[...] = 0
    return memory, numbers


def note(message: str) -> int:
    """The address of the two numbers of a message, or of the next check of a graph."""
    if recording.graph is not None:
        return recording.graph.note(message)
    if message not in _messages:
        _messages.append(message)
    return _noted()[0].ptr + 16 * _messages.index(message)


def check() -> None:
    """After a kernel that may note a place was started: wait for it, if that is asked for."""
    if BLOCKING and recording.graph is None:
        cupy.cuda.get_current_stream().synchronize()
        raise_wrong()


def raise_wrong() -> None:
    """After waiting for the GPU: IndexError, with the place in the message, if a kernel found one out of range."""
    if not _messages:
        return
    numbers = _noted()[1]
    for k, message in enumerate(_messages):
        if numbers[2 * k]:
            place = int(numbers[2 * k + 1])
            numbers[...] = 0
            raise IndexError(message.format(place))
