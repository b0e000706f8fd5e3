"""Whether two tapes say the same."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .comparing import same
from .tape import Entry, Slot, Source, Tape
from .tracing import Constant


def same_tape(a: Tape, b: Tape) -> bool:
    """Whether two tapes say the same."""
    if len(a.entries) != len(b.entries) or a.sources.keys() != b.sources.keys():
        return False
    sources = zip(a.sources.values(), b.sources.values(), strict=True)
    return (
        all(_same_source(x, y) for x, y in sources)
        and all(_same_entry(x, y) for x, y in zip(a.entries, b.entries, strict=True))
        and alike(a.result, b.result)
        and alike(a.gradients, b.gradients)
        and alike(a.written, b.written)
        and (a.freed, a.elsewhere) == (b.freed, b.elsewhere)
        and (a.recorded, a.inference, a.versions) == (b.recorded, b.inference, b.versions)
    )


def _same_source(a: Source, b: Source) -> bool:
    facts = (a.kind, a.layout, a.detached) == (b.kind, b.layout, b.detached)
    return facts and (a.of is b.of or alike(a.of, b.of))


def _same_entry(a: Entry, b: Entry) -> bool:
    return (
        a.op is b.op
        and a.modes == b.modes
        and a.outputs == b.outputs
        and a.layouts == b.layouts
        and a.offsets == b.offsets
        and a.unless == b.unless
        and alike(a.inputs, b.inputs)
        and alike(a.params, b.params)
    )


def alike(a: Any, b: Any) -> bool:
    """Whether two values on tapes mean the same."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, Slot):
        return int(a) == int(b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(alike, a.values(), b.values()))
    if isinstance(a, slice):
        return alike((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, Constant):
        return a == b
    if isinstance(a, Tensor):
        return False
    if isinstance(a, (float, complex, int, str)):
        return same(a, b)
    try:
        return bool(a == b)
    except Exception:  # an object may raise whatever it likes: tapes that differ stay apart
        return False
