"""Marks that NVIDIA's profilers show beside what the GPU does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _nvtx() -> Any:
    from . import is_available

    if not is_available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    from cupy.cuda import nvtx  # pyright: ignore[reportMissingImports]

    return nvtx


def range_push(msg: str) -> None:
    """Begin a stretch of time with a name."""
    _nvtx().RangePush(msg)


def range_pop() -> None:
    """End the stretch that was begun last."""
    _nvtx().RangePop()


def mark(msg: str) -> None:
    """Mark this moment."""
    _nvtx().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:  # noqa: A001
    """Give what is done within a name."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
