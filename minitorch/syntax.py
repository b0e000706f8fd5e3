"""Python source as syntax trees, for programs with several threads.

While CPython 3.11 makes a tree, garbage collection may let another thread run; if that one
makes a tree too, there is a SystemError, since both count in one place how deep they are. So
trees are made by one thread at a time, and without garbage collection.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from .garbage import uncollected
from .threads import fork_waits_for

_one_at_a_time = RLock()
fork_waits_for(_one_at_a_time)


@contextmanager
def undisturbed() -> Iterator[None]:
    """While trees are made: no other thread makes any, and nothing lets one run meanwhile."""
    with _one_at_a_time, uncollected():
        yield


def parse(source: str | bytes) -> ast.Module:
    """The tree of a program, as `ast.parse`."""
    with undisturbed():
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The tree of an expression."""
    with undisturbed():
        return ast.parse(source, mode="eval").body


def literal(text: str | ast.expr) -> Any:
    """The value of a literal, as `ast.literal_eval`."""
    with undisturbed():
        return ast.literal_eval(text)
