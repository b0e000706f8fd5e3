"""Functions of arrays, called on stacks of them: axes are counted from the end, where the stack does not show."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np


def from_the_end(axis: Any, ndim: int) -> Any:
    """Axes counted from the last one; None stands for all."""
    if axis is None:
        return tuple(range(-ndim, 0))
    if isinstance(axis, (tuple, list)):
        return tuple(from_the_end(a, ndim) for a in axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim - ndim


@lru_cache
def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments."""
    try:
        return tuple(inspect.signature(function).parameters)
    except ValueError:  # methods of ufuncs, and functions written in C
        return ("array", "axis", "dtype", "out", "keepdims", "initial", "where")


@lru_cache
def default_of(function: Callable[..., Any], name: str) -> Any:
    """What an argument is where it is not given; None if nothing says so."""
    try:
        found = inspect.signature(function).parameters.get(name)
    except ValueError:
        return None
    return None if found is None or found.default is found.empty else found.default
