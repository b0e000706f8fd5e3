"""Numbers that tensors are filled with, counted up or random, and values as texts."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

_stream: list[random.Random] = []


def draw_from(seed: int | None) -> None:
    """Let values be random from here on, the same for the same seed; None: counted up again."""
    _stream[:] = [] if seed is None else [random.Random(seed)]


def values(count: int, start: float = 1.0) -> list[float]:
    """So many numbers."""
    if _stream:
        return [_stream[0].uniform(-3.0, 3.0) for _ in range(count)]
    return [start + i for i in range(count)]


ZERO = 1e-12
"""What is nearer to 0 is a difference that rounding left: other on other processors."""


def text(value: Any) -> str:
    """A value as a text in which rounding errors do not show."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        value = 0.0 if abs(value) < ZERO else value
        return str(float(f"{float(value):.5g}") + 0.0)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(v) for v in value) + "]"
    return str(value)
