"""What code names: globals, attributes and modules; and where it would catch an error."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType

_LOOKS_UP = frozenset(
    ("__dict__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__", "attrgetter", "methodcaller",
     "getattr_static", "getattr", "setattr", "hasattr", "delattr", "format", "format_map")
)  # fmt: skip
"""Names of what looks up attributes by names that code need not have."""

_OF_FRAMES = frozenset(
    ("__globals__", "__builtins__", "f_back", "f_globals", "f_locals", "f_builtins", "gi_frame", "cr_frame", "ag_frame", "tb_frame")
)  # fmt: skip
"""Attributes that lead to variables by names that code need not have."""

_FINDS = ("MATCH_CLASS", "MATCH_KEYS")
"""Instructions that look up attributes so."""

NAMES_OF_FUNCTIONS = frozenset(("__name__", "__qualname__", "__doc__", "__module__"))
NAMES_OF_CLASSES = frozenset(("__name__", "__qualname__"))
"""What is in no dictionary."""

OF_CLASSES = frozenset(("isinstance", "issubclass"))
"""Functions that ask for the class of an object."""

ALWAYS = frozenset(
    ("_parameters", "_buffers", "_modules", "training", "_forward_hooks", "_forward_pre_hooks",
     "_backward_hooks", "_backward_pre_hooks", "forward")
)  # fmt: skip
"""What is noted of every module."""


@dataclass(frozen=True)
class Names:
    """What a piece of code names.

    Attributes:
        loads: globals
        attributes: attributes, of whatever objects
        imports: modules, with the number of dots before them
        stores: whether it sets globals
        looks_up: whether it may look up attributes by other names
        of_frames: the attribute by which it finds variables by other names, or ""
    """

    loads: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[tuple[str, int]]
    stores: bool
    looks_up: bool
    of_frames: str


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
    of_frames = min(_OF_FRAMES & attributes, default="")
    return Names(
        frozenset(loads), frozenset(attributes), frozenset(imports), stores, looks_up, of_frames
    )


def nested(code: CodeType) -> Iterator[CodeType]:
    """The code of functions within code."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from nested(each)


def is_caught(frame: FrameType, managed: bool) -> bool:
    """Whether an error that is raised where a frame is now would lead on within it: to `except`, `finally`, or, if asked, to a context manager."""
    return any(
        start <= frame.f_lasti < end and (managed or not by_manager)
        for start, end, by_manager in _caught(frame.f_code)
    )


@functools.cache
def _caught(code: CodeType) -> tuple[tuple[int, int, bool], ...]:
    """The ranges of instructions behind which there is an `except` or a `finally`, or the end of a `with`."""
    steps = list(dis.get_instructions(code))
    places = {step.offset: i for i, step in enumerate(steps)}
    found = []
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        first = places[entry.target]
        begins = [step.opname for step in steps[first : first + 2]]
        if begins[0] == "PUSH_EXC_INFO":
            found.append((entry.start, entry.end, begins[-1] == "WITH_EXCEPT_START"))
    return tuple(found)


@functools.cache
def may_suppress(code: CodeType) -> bool:
    """Whether code is that of a context manager that may let a program go on after an error."""
    steps = list(dis.get_instructions(code))
    following = list(zip(steps, [*steps[1:], None], strict=True))
    if code.co_flags & inspect.CO_GENERATOR:  # as `contextmanager` takes it
        return any(a.opname == "POP_EXCEPT" and b and b.opname != "RERAISE" for a, b in following)
    if not code.co_name.endswith("exit__"):
        return False
    constants = [a.argval for a, b in following if a.opname == "RETURN_CONST" or (a.opname == "LOAD_CONST" and b and b.opname == "RETURN_VALUE")]  # fmt: skip
    return any(constants) or len(constants) < sum(
        step.opname.startswith("RETURN_") for step in steps
    )
