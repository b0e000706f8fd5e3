"""Where the answers of two libraries differ: the first place, both values, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CLOSE = 1e-9
"""Numbers that are nearer than this, absolutely or relatively, are the same."""


@dataclass(frozen=True)
class Difference:
    """What two answers do not have in common.

    Attributes:
        where: the first place where they differ, such as `losses[3]`
        mine: what the first answer has there
        theirs: what the second has
        count: how many values differ
        total: how many values were compared
    """

    where: str
    mine: str
    theirs: str
    count: int
    total: int


def find_difference(mine: Any, theirs: Any) -> Difference | None:
    """The first difference of two answers, None if they agree.

    >>> find_difference({"loss": [1.0, 2.0]}, {"loss": [1.0, 2.5]})
    Difference(where='loss[1]', mine='2', theirs='2.5', count=1, total=2)
    """
    pairs = list(_pairs(mine, theirs, ""))
    parted = [pair for pair in pairs if not _is_same(*pair[1:])]
    if not parted:
        return None
    where, a, b = parted[0]
    first, second = in_words(a), in_words(b)
    if first == second:  # they part in a later digit
        first, second = repr(a), repr(b)
    return Difference(where, first, second, len(parted), len(pairs))


def _pairs(mine: Any, theirs: Any, where: str) -> Iterator[tuple[str, Any, Any]]:
    """The single values of both answers side by side, with their place."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in [*mine, *(key for key in theirs if key not in mine)]:
            yield from _pairs(mine.get(key), theirs.get(key), f"{where}, {key}".lstrip(", "))
    elif _is_list(mine) and _is_list(theirs) and len(mine) == len(theirs):
        for place, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            yield from _pairs(a, b, f"{where}[{place}]")
    else:
        yield where, mine, theirs


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
    return a == b


def in_words(value: Any) -> str:
    """A value of an answer in a few words.

    >>> in_words(0.25), in_words(None), in_words([1, 2, 3])
    ('0.25', 'no value', '3 values')
    """
    if value is None:
        return "no value"
    if isinstance(value, bool) or not isinstance(value, (int, float, Sequence, dict)):
        return str(value)
    if isinstance(value, (int, float)):
        return f"{value:.6g}"
    if isinstance(value, str):
        return f"“{value}”"
    return f"{len(value)} value{'' if len(value) == 1 else 's'}"
