"""Torch's questions about Intel's library of products."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is in use: NumPy and Numba compute here."""
    return False
