"""Torch's questions about Apple's GPUs: tensors do not live there."""

from __future__ import annotations


def is_available() -> bool:
    """Whether tensors can live on such a GPU."""
    return False


def is_built() -> bool:
    """Whether this library was built for such GPUs."""
    return False
