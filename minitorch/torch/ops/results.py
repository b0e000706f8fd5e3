"""Named tuples of results, as in `torch.return_types`."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any


def _shown(self: Any) -> str:
    parts = ",\n".join(f"{field}={value!r}" for field, value in self._asdict().items())
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


@cache
def named(name: str, *fields: str) -> Any:
    """The named tuple class of an operation's results.

    >>> named("sort", "values", "indices")(1, 2).indices
    2
    """
    made = namedtuple(name, fields)  # noqa: PYI024
    made.__module__ = "torch.return_types"
    made.__repr__ = _shown
    return made


def found(name: str, values: Any, indices: Any) -> Any:
    """Values and their indices, as a named tuple."""
    return named(name, "values", "indices")(values, indices)
