"""What may be done with tensors that are spread over ranks, and may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Let tensors that are spread over ranks meet such as are not: here they may at all times, as this rank's part."""
    yield
