"""Which dictionaries have changed: CPython 3.11 and 3.12 number the versions of each.

Every change gives a dictionary a number that none ever had (PEP 509), so one that has its old number is as it was. Python does not show
these numbers; all of them are read from memory in one go, which takes less time than looking into one dictionary.
In Python 3.13 attributes of an object may change without a new number, and 3.14 has none: there dictionaries are looked into.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

_PLACE = 24
"""Where the number of a dictionary's version lies, behind its count of references, its class and its length."""


class Versions:
    """The versions of some dictionaries, which are kept.

    Attributes:
        known: the versions that were last accepted: at first none
    """

    def __init__(self, dicts: Sequence[dict[Any, Any]]) -> None:
        self.dicts = list(dicts)
        addresses = np.array([id(each) for each in dicts], np.int64)
        start = int(addresses.min()) if self.dicts else 0
        self.places = (addresses - start) // 8
        size = int(self.places.max(initial=0)) + 1
        about = {"shape": (size,), "typestr": "<i8", "data": (start + _PLACE, True), "version": 3}
        self.memory = np.asarray(SimpleNamespace(__array_interface__=about))
        self.known = bytes(8 * len(self.dicts))

    def now(self) -> bytes:
        """All versions."""
        return self.memory.take(self.places).tobytes()

    def changed(self, now: bytes) -> list[int]:
        """Which dictionaries have other versions than the known ones."""
        return np.flatnonzero(
            np.frombuffer(now, np.int64) != np.frombuffer(self.known, np.int64)
        ).tolist()


def _has_versions() -> bool:
    """Whether this Python numbers versions where we read them."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in ((3, 11), (3, 12)):
        return False
    thing = SimpleNamespace(value=1)
    dicts: list[dict[Any, Any]] = [{"old": 1} for _ in range(7)] + [vars(thing), OrderedDict(), {}]
    versions = Versions(dicts)
    versions.known = versions.now()
    dicts[0]["old"] = 2
    dicts[1]["new"] = 1
    dicts[2].update(new=1)
    dicts[3].setdefault("new", 1)
    dicts[4] |= {"new": 1}
    dicts[5].pop("old")
    dicts[6].clear()
    thing.value = 2
    dicts[8]["new"] = 1
    return versions.changed(versions.now()) == list(range(9))


NUMBERED = _has_versions()
"""Whether dictionaries have versions here."""
