"""Places that kernels find to be out of range: noted in memory of the CPU, which is looked at before a result is given out."""

from __future__ import annotations

import threading

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from .graphs import recording

_own = threading.local()


def note() -> int:
    """The address of two numbers of this thread, or of its graph: whether a place is wrong, and which."""
    if recording.graph is not None:
        return recording.graph.note()
    if not hasattr(_own, "memory"):
        _own.memory = cupy.cuda.alloc_pinned_memory(16)
        _own.numbers = np.frombuffer(_own.memory, np.int64, 2)
        _own.numbers[...] = 0
    return _own.memory.ptr


def check(message: str) -> None:
    """Wait for the kernel; IndexError, with the place in the message, if it found one out of range.

    A kernel of a graph is looked after when somebody waits for the GPU.
    """
    if recording.graph is not None:
        recording.graph.messages.append(message)
        return
    cupy.cuda.get_current_stream().synchronize()
    wrong, place = _own.numbers.tolist()
    if wrong:
        _own.numbers[0] = 0
        raise IndexError(message.format(place))
