"""Arrays that follow from sizes and settings alone, and that nobody changes: tables of places and of weights.

The compiler looks at no value while such a function runs, and takes what it returns as it is: it would be the same again.
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
    """A function of sizes and settings, none of them a tensor's value; its arrays become read-only."""

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        made = fn(*args, **kwargs)
        _freeze(made)
        return made

    codes.add(call.__code__)  # type: ignore[attr-defined]
    return call


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
