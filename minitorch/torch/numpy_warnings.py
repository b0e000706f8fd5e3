"""Divisions by zero and overflows give infinities and NaN, as in Torch, without a word.

NumPy warns of them. `np.errstate` around every operation costs an eighth of a small one, so there is a filter for
this package instead. A program may put other filters before it, and what is added within `warnings.catch_warnings` is
gone after it: where an operation is performed, `silence` is called unless the filter is still the first one.

With `np.seterr` a program may also ask for errors in the place of warnings. An operation that meets one is computed
again under `np.errstate`; one that writes into memory asks first (`are_errors_usual`), since it cannot begin again.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

SILENCE = ("ignore", None, RuntimeWarning, re.compile(r"minitorch\.torch\."), 0)
"""The filter, as `warnings.filterwarnings` would make it: one object, which is recognised at a glance."""


try:
    from numpy._core.umath import _extobj_contextvar  # pyright: ignore[reportAttributeAccessIssue]

    _state = _extobj_contextvar.get  # a tenth of what `np.geterr` costs
except ImportError:

    def _state() -> Any:
        return tuple(np.geterr().values())


_usual = _state() if set(np.geterr().values()) <= {"warn", "ignore"} else None


def are_errors_usual() -> bool:
    """Whether NumPy's reaction to infinities and NaN is what it was at the start, which raises nothing."""
    found = _state()
    return found is _usual or found == _usual


def without_errors(compute: Callable[..., Any], *args: Any) -> Any:
    """Call a function without a word of NumPy's, whatever a program asked of it: one that writes, or is no operation."""
    if not are_errors_usual():
        with np.errstate(all="ignore"):
            return compute(*args)
    filters = warnings.filters
    if not filters or filters[0] is not SILENCE:
        silence()
    return compute(*args)


def silence() -> None:
    """Put the filter first."""
    filters: Any = warnings.filters
    while SILENCE in filters:
        filters.remove(SILENCE)
    filters.insert(0, SILENCE)


silence()
