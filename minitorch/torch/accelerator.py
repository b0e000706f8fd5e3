"""The accelerator of this machine, if tensors can live on one."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """Whether there is one: not yet."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """The accelerator's device: none."""
    return


def synchronize(device: Any = None) -> None:
    """Wait for it; without one that is an error, as in Torch."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
