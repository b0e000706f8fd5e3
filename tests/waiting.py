"""Waiting for what another thread or process will do, as long as a busy machine may take."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Return once a condition holds; AssertionError where it never does."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
