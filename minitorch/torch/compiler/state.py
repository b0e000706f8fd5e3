"""What this thread traces, and which compiled functions there are."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

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
