"""Seeds that loaders and samplers draw, as Torch does."""

from __future__ import annotations

from ... import dtypes
from ...generator import Generator
from ...ops.creation import empty


def draw_seed(generator: Generator | None = None) -> int:
    """A random whole number of 63 bits."""
    number = empty((), dtype=dtypes.int64)
    return number.random_(generator=generator).item()
