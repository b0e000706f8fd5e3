"""The accelerator of this machine, if tensors can live on one: its GPU."""

from __future__ import annotations

from typing import Any

from . import cuda
from .cuda.streams import Event as Event
from .cuda.streams import Stream as Stream
from .device import device


def is_available() -> bool:
    """Whether there is one."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator's kind of device; None without one."""
    return device("cuda") if is_available() else None


def _require() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """Which of them is in use."""
    _require()
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Use one of them from now on."""
    _require()
    cuda.set_device(device)


set_device_idx = set_device_index


def synchronize(device: Any = None) -> None:
    """Wait for it; without one that is an error, as in Torch."""
    _require()
    cuda.synchronize(device)
