"""Divisions by zero and overflows give infinities and NaN, as in Torch, without a word.

NumPy warns of them. `np.errstate` around every operation costs an eighth of a small one, so there is a filter for
this package instead. A program may put other filters before it, and what is added within `warnings.catch_warnings` is
gone after it: where an operation is performed, `silence` is called unless the filter is still the first one.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

SILENCE = ("ignore", None, RuntimeWarning, re.compile(r"minitorch\.torch\."), 0)
"""The filter, as `warnings.filterwarnings` would make it: one object, which is recognised at a glance."""


def silence() -> None:
    """Put the filter first."""
    filters: Any = warnings.filters
    while SILENCE in filters:
        filters.remove(SILENCE)
    filters.insert(0, SILENCE)


silence()
