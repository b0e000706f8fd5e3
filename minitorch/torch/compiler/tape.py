"""A tape: what a function did, as a list of entries that can be read and played again.

An entry is one passage through the door: a record, an in-place write or an update, with its inputs,
parameters and outputs. A tensor is a `Slot`, its number on the tape; a slot comes from an argument, from a
tensor that the function finds somewhere, from the gradient of one of these, or from an entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..device import device
from ..tensor import Tensor

Layout = tuple[tuple[int, ...], tuple[int, ...], np.dtype]
"""The shape, strides (in bytes) and type of an array."""


class Slot(int):
    """The number of a tensor on a tape; as `of_array`, of its array."""

    __slots__ = ()
    of_array = False

    def __repr__(self) -> str:
        return f"%{int(self)}"


class ArraySlot(Slot):
    """A tensor's array, where an operation takes that."""

    __slots__ = ()
    of_array = True


class Alias:
    """The same memory as another tensor's, outside the graph; `detach()` and what is like it."""

    name, writes = "detach", ()


ALIAS = Alias()


@dataclass(slots=True)
class Entry:
    """One operation of a tape.

    Attributes:
        op: the record, in-place form, or update
        inputs: slots and plain values, also nested in lists
        params: likewise, by name
        outputs: slots that it makes
        layouts: of the outputs
        modes: whether operations were recorded, and whether in inference mode
        place: file and line of the program
        several: whether the record gives a tuple
        fresh: of each output: whether it has memory of its own, all of it
        offsets: of each output of a movement: the byte of the first input's memory at which it begins, if it lies there
        number: its place on the tape as it was traced
        unless: a slot; where its number is not 0, the entry is left out
    """

    op: Any
    inputs: Any
    params: dict[str, Any]
    outputs: tuple[Slot, ...]
    layouts: tuple[Layout, ...]
    modes: tuple[bool, bool]
    place: tuple[str, int]
    several: bool = False
    fresh: tuple[bool, ...] = ()
    offsets: tuple[int | None, ...] = ()
    number: int = 0
    unless: Slot | None = None

    def slots(self) -> Iterator[Slot]:
        """The slots that it reads, as often as they occur."""
        yield from slots_in((self.inputs, self.params, self.unless))


@dataclass(slots=True)
class Source:
    """Where a slot comes from that no entry makes.

    Attributes:
        kind: "argument" (by its place among the tensors of the arguments), "tensor" (found by the
            program, always the same object), or "gradient" (that of another source)
        of: the place, the tensor, or the slot whose gradient it is
        layout: of its array
        detached: whether the program has a tensor's memory alone, outside the graph
    """

    kind: str
    of: Any
    layout: Layout
    detached: bool = False


@dataclass
class Tape:
    """What a function did.

    Attributes:
        name: of the function
        sources: slots that come from outside
        entries: in order
        result: what it returned, with slots for tensors
        gradients: before the entry of which number it set which source's `grad` to what: a slot, or None
        written: sources whose version is counted up before the entry of which number, once for each write that is no update
        freed: results whose graph was walked and freed, with the name of their node
        recorded: whether results have a history, so that operations are recorded at each play
        inference: results that were made in inference mode
        versions: of results that were written after they were made
        listed: lists what it was compiled to
        elsewhere: the devices of slots that are not on the CPU
        entangled: whether arguments or gradients share memory, with each other or with tensors that were found
        backwards: of results that have a history, the tapes of ways back
    """

    name: str
    sources: dict[Slot, Source] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    result: Any = None
    gradients: list[tuple[int, Slot, Slot | None]] = field(default_factory=list)
    written: list[tuple[int, Slot]] = field(default_factory=list)
    freed: dict[Slot, tuple[str, int]] = field(default_factory=dict)
    recorded: bool = False
    inference: set[Slot] = field(default_factory=set)
    versions: dict[Slot, int] = field(default_factory=dict)
    listed: Callable[[], list[str]] = list
    backwards: list[Tape] = field(default_factory=list)
    elsewhere: dict[Slot, device] = field(default_factory=dict)
    entangled: bool = False

    def __str__(self) -> str:
        return "\n".join(self.lines())

    @property
    def program(self) -> list[str]:
        """What it was compiled to, as text; made when somebody asks."""
        return self.listed()

    def lines(self) -> list[str]:
        """The tape as a program: one line an entry, with shapes and where it came from."""
        given = [
            f"%{int(slot)}: {_text_of_layout(s.layout)}  # {_text_of_source(s)}"
            for slot, s in self.sources.items()
        ]
        body = [text_of_entry(entry) for entry in self.entries]
        width = min(max(map(len, body), default=0), 96)
        last = None
        lines = [f"{self.name}:", *(f"  {line}" for line in given)]
        for text, entry in zip(body, self.entries, strict=True):
            place = f"{entry.place[0]}:{entry.place[1]}"
            lines.append(f"  {text:{width}}  # {'' if place == last else place}".rstrip(" #"))
            last = place
        for slot, gradient in {slot: gradient for _, slot, gradient in self.gradients}.items():
            lines.append(f"  %{int(slot)}.grad = {gradient!r}")
        lines.append(f"  return {_text(self.result)}")
        after = [line for tape in self.backwards for line in ("", *tape.lines())]
        return [*lines, *self.program, *after]


def slots_in(value: Any) -> Iterator[Slot]:
    """All slots in a value, however nested."""
    if isinstance(value, Slot):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from slots_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from slots_in(each)
    elif isinstance(value, slice):
        yield from slots_in((value.start, value.stop, value.step))


def rebuilt(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """A value with its leaves replaced; lists, tuples and dicts as new ones of the same kind."""
    if isinstance(value, (tuple, list)):
        items = [rebuilt(each, leaf) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict) and type(value) in CONTAINERS:
        made = type(value)()
        made.update((key, rebuilt(each, leaf)) for key, each in value.items())
        return made
    return leaf(value)


CONTAINERS: tuple[type, ...] = (tuple, list, dict)


def layout_of(array: Any) -> Layout:
    """An array's shape, strides and type."""
    return array.shape, array.strides, array.dtype


def _text_of_layout(layout: Layout) -> str:
    shape, strides, dtype = layout
    name = dtype.name if dtype.kind != "V" else "bfloat16"
    text = f"{name}[{', '.join(map(str, shape))}]"
    compact = np.empty(shape, dtype).strides == strides if np.prod(shape) < 1 << 24 else True
    return text if compact else f"{text} strides {[s // dtype.itemsize for s in strides]}"


def _text_of_source(source: Source) -> str:
    if source.kind == "tensor":
        return "a parameter" if source.of.requires_grad else "a tensor of the program"
    return f"argument {source.of}" if source.kind == "argument" else f"gradient of {source.of!r}"


def text_of_entry(entry: Entry) -> str:
    """An entry as a line, without its place."""
    made = ", ".join(
        f"{slot!r}: {_text_of_layout(layout)}"
        for slot, layout in zip(entry.outputs, entry.layouts, strict=True)
    )
    values = [_text(x) for x in entry.inputs]
    values += [f"{name}={_text(value)}" for name, value in entry.params.items()]
    call = f"{entry.op.name}({', '.join(values)})"
    call += "" if entry.unless is None else f" unless {entry.unless!r}"
    return f"{made} = {call}" if made else call


def _text(value: Any) -> str:
    if isinstance(value, (tuple, list)) and len(value) > 6:
        return f"[{', '.join(map(_text, value[:5]))}, ... {len(value)}]"
    if isinstance(value, (tuple, list)):
        return (
            f"{'(['[type(value) is list]}{', '.join(map(_text, value))}{')]'[type(value) is list]}"
        )
    if isinstance(value, dict) and "params" in value:
        return "the group"
    if isinstance(value, np.ndarray):
        return f"array{list(value.shape)}"
    if isinstance(value, Tensor):
        return f"tensor{list(value.shape)}"
    return repr(value)
