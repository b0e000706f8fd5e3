"""Questions about the CPU, which Torch answers as it does for other devices."""

from __future__ import annotations

from typing import Any

from . import amp as amp


def is_available() -> bool:
    """Whether there is a CPU."""
    return True


def device_count() -> int:
    """How many CPUs there are, in Torch's way of counting."""
    return 1


def current_device() -> str:
    """The CPU."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the CPU; there is no other."""


def synchronize(device: Any = None) -> None:
    """Wait for the CPU; it is done already."""
