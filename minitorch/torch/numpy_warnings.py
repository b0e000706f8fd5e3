"""Suppressing NumPy's warnings: divisions by zero and overflows silently give infinities and NaN, as in Torch.

NumPy warns of them. `np.errstate` around every operation costs an eighth of a small one, so there is a filter for
this package instead. A program may add other filters before it, and those added within `warnings.catch_warnings` are
removed after it: when an operation is performed, `silence` is called unless the filter is still the first one.

With `np.seterr` a program may also ask for errors in place of warnings. An operation that raises one is computed
again under `np.errstate`; one that writes into memory checks first (`are_errors_usual`), since it cannot be repeated.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SILENCE = ("ignore", None, RuntimeWarning, re.compile(r"minitorch\.torch\."), 0)
"""The filter, as `warnings.filterwarnings` would make it: one object, recognised by identity."""


try:
    from numpy._core.umath import _extobj_contextvar  # pyright: ignore[reportAttributeAccessIssue]

    _state = _extobj_contextvar.get  # a tenth of what `np.geterr` costs
except ImportError:

    def _state() -> Any:
        return tuple(np.geterr().values())


_usual = _state() if set(np.geterr().values()) <= {"warn", "ignore"} else None


def are_errors_usual() -> bool:
    """Whether NumPy's error handling is still the default, which raises nothing."""
    found = _state()
    return found is _usual or found == _usual


def without_errors(compute: Callable[..., Any], *args: Any) -> Any:
    """Call a function with NumPy's floating point errors ignored: one that writes, or is no operation."""
    if not are_errors_usual():
        with np.errstate(all="ignore"):
            return compute(*args)
    filters = warnings.filters
    if not filters or filters[0] is not SILENCE:
        silence()
    return compute(*args)


def silence() -> None:
    """Move the filter to the front."""
    filters: Any = warnings.filters
    while SILENCE in filters:
        filters.remove(SILENCE)
    filters.insert(0, SILENCE)


silence()
