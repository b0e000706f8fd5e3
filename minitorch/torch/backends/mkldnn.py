"""Torch's questions about Intel's library of layers."""

from __future__ import annotations

enabled = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """Whether it is in use: NumPy and Numba compute here."""
    return False
