"""What this thread traces, which compiled functions there are, and the settings that they depend on."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from .. import interpreters
from ..amp import autocast_mode
from ..autograd.graph import modes
from ..dtypes import get_default_dtype
from ..environment import get_default_device, get_float32_matmul_precision
from ..overriding import function_modes
from .reading import CannotTrace, Reading, place_of


class _Thread(threading.local):
    reading: Reading | None = None  # of the call that is being traced


thread = _Thread()

compiled: weakref.WeakSet[Any] = weakref.WeakSet()
"""All compiled functions."""


def break_tape(why: str) -> None:
    """If a tape is being written, let there be none."""
    reading = thread.reading
    if reading is not None and reading.reason is None:
        reading.reason = CannotTrace(why, place_of(sys._getframe()))


def mode_state() -> tuple[Any, ...]:
    """The settings that decide what an operation does."""
    cast = autocast_mode._state
    return (
        modes.grad, modes.inference, modes.anomaly, modes.saving, cast.enabled["cpu"], cast.types["cpu"],
        cast.enabled["cuda"], cast.types["cuda"], cast.caching, get_float32_matmul_precision(), get_default_dtype(), get_default_device(),
    )  # fmt: skip


def is_watched() -> bool:
    """Whether somebody besides autocast sees operations: then calls are eager."""
    if function_modes or modes.saving is not None or modes.anomaly:
        return True
    if not interpreters.installed:
        return False
    stack = (*interpreters._thread.stack, *interpreters._of_all_threads)
    return any(type(each) is not autocast_mode._Autocast for each in stack)
