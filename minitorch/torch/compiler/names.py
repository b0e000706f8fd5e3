"""What code names: globals, attributes and modules; and where it would catch an error."""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType

_LOOKS_UP = frozenset(
    ("__dict__", "__getattribute__", "__getattr__", "attrgetter", "methodcaller", "getattr_static")
)
"""Names of what looks up attributes by names that code need not have."""

_FINDS = ("MATCH_CLASS", "MATCH_KEYS")
"""Instructions that do so."""


@dataclass(frozen=True)
class Names:
    """What a piece of code names.

    Attributes:
        loads: globals
        attributes: attributes, of whatever objects
        imports: modules, with the number of dots before them
        stores: whether it sets globals
        looks_up: whether it may look up attributes by other names
    """

    loads: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[tuple[str, int]]
    stores: bool
    looks_up: bool


@functools.cache
def names_in(code: CodeType) -> Names:
    """What code names."""
    loads, attributes, imports, stores, finds = set(), set(), set(), False, False
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            loads.add(step.argval)
        elif step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            stores = True
        elif "ATTR" in step.opname or step.opname in ("LOAD_METHOD", "IMPORT_FROM"):
            attributes.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            imports.add((step.argval, int(steps[i - 2].argval)))
        finds = finds or step.opname in _FINDS
    looks_up = finds or not _LOOKS_UP.isdisjoint(loads | attributes)
    return Names(
        frozenset(loads), frozenset(attributes), frozenset(imports), stores, looks_up
    )  # fmt: skip


def nested(code: CodeType) -> Iterator[CodeType]:
    """The code of functions within code."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from nested(each)


def is_caught(frame: FrameType) -> bool:
    """Whether an error that is raised where a frame is now would lead on within it: to `except` or `finally`."""
    return any(start <= frame.f_lasti < end for start, end in _caught(frame.f_code))


@functools.cache
def _caught(code: CodeType) -> tuple[tuple[int, int], ...]:
    """The ranges of instructions behind which there is an `except` or a `finally`."""
    steps = list(dis.get_instructions(code))
    places = {step.offset: i for i, step in enumerate(steps)}
    found = []
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        first = places[entry.target]
        begins = [step.opname for step in steps[first : first + 2]]
        if begins[0] == "PUSH_EXC_INFO" and begins[-1] != "WITH_EXCEPT_START":
            found.append((entry.start, entry.end))
    return tuple(found)
