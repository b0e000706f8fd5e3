"""Torch's switches for NVIDIA's library: they can be set, and change nothing here."""

from __future__ import annotations

enabled = False
benchmark = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """Whether the library is in use: not on the CPU."""
    return False


def version() -> None:
    """The library's version: none."""
    return
