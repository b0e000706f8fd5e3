"""Versions as programs compare them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import eq, ge, gt, le, lt
from typing import Any

_FORM = re.compile(r"(\d+(?:\.\d+)*)[.-]?((?:a|b|c|rc|dev)\d*)?(?:\+(.*))?")


def _order(version: str) -> tuple[Any, ...] | None:
    """What versions are ordered by: the release's numbers, early or not, and the build's name."""
    found = _FORM.fullmatch(version)
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()  # 2.1.0 is 2.1
    return numbers, found[2] is None, found[2] or "", found[3] is not None, found[3] or ""


def _comparison(operator: Callable[[Any, Any], bool]) -> Callable[[TorchVersion, object], bool]:
    def compare(self: TorchVersion, other: object) -> bool:
        if not isinstance(other, (str, Sequence)):
            return NotImplemented
        text = str(other) if isinstance(other, str) else ".".join(map(str, other))
        one, two = _order(str(self)), _order(text)
        return operator(str(self), text) if one is None or two is None else operator(one, two)

    return compare


class TorchVersion(str):
    """A version that is compared by its parts: `torch.__version__ >= (2, 1)`, or `>= "2.1"`."""

    __lt__ = _comparison(lt)
    __le__ = _comparison(le)
    __eq__ = _comparison(eq)
    __ge__ = _comparison(ge)
    __gt__ = _comparison(gt)
    __hash__ = str.__hash__
