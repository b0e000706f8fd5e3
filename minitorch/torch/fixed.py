"""Arrays that follow from sizes and settings alone: ranges, windows, tables of places and of weights.

The compiler and graphs look at no value while such a function runs: what it returns would be the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import CodeType
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

codes: set[CodeType] = set()
"""The code of the functions below."""


def from_sizes(fn: Callable[P, T]) -> Callable[P, T]:
    """A function of sizes and settings, none of them a tensor's value; its arrays are taken as they are and become read-only."""

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        made = fn(*args, **kwargs)
        _freeze(made)
        return made

    codes.add(call.__code__)  # type: ignore[attr-defined]
    return call


def fresh_from_sizes(fn: Callable[P, T]) -> Callable[P, T]:
    """The same for a function whose array becomes the memory of a new tensor, which may be changed."""
    codes.add(fn.__code__)  # type: ignore[attr-defined]
    return fn


def _freeze(value: Any) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
        _freeze(value.base)
    elif isinstance(value, tuple):
        for each in value:
            _freeze(each)


def is_fixed(array: Any) -> bool:
    """Whether nobody can change an array: it is read-only, and so is its memory."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None
