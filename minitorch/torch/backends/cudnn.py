"""Torch's switches for NVIDIA's library: they can be set, and change nothing here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """Set the switches for a while."""
    names = globals()
    wished = {
        "enabled": enabled,
        "benchmark": benchmark,
        "deterministic": deterministic,
        "allow_tf32": allow_tf32,
    }
    before = {name: names[name] for name in wished}
    names.update(wished)
    try:
        yield
    finally:
        names.update(before)
