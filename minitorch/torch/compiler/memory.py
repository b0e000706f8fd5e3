"""Where the slots of a tape lie: which memory, from which byte on; and how temporary memory is shared.

Memory comes from outside (arguments, parameters), is made by operations that Python calls, or is a program's own. Own
memory that nobody sees after a play is part of one buffer, planned once by who reads it last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .tape import Layout, Slot

ALIGNMENT = 64

PARALLEL = 131_072
"""From so many elements on, a step runs on all threads."""

REALS: dict[np.dtype, Any] = {np.dtype(np.float32): np.float32, np.dtype(np.float64): np.float64}
"""The types that programs compute in."""

OUTSIDE, MADE, OWN, LEFT, LENT = "outside", "made", "own", "left", "lent"
"""Whose memory it is: from outside the tape, made by a call of Python, a program's own, or its own and left to the caller,
for good or until the next play begins."""


@dataclass(eq=False, slots=True)
class Root:
    """A piece of memory.

    Attributes:
        slot: the first slot that lies there
        whose: one of the above
        layout: of that slot
        first: the step that makes it
        last: the last one that uses it
        offset: of own and lent memory: where in the buffer
    """

    slot: Slot
    whose: str
    layout: Layout
    first: int = 0
    last: float = 0
    offset: int = 0

    @property
    def nbytes(self) -> int:
        """How long it is."""
        return math.prod(self.layout[0]) * self.layout[2].itemsize


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slot lies: from which byte of which memory on, and how."""

    root: Root
    offset: int
    layout: Layout


@dataclass
class Memory:
    """The places of all slots.

    Attributes:
        places: by slot
        size: of the buffer
    """

    places: dict[int, Place] = field(default_factory=dict)
    size: int = 0

    def place(self, slot: Slot) -> Place:
        """Where a slot lies."""
        return self.places[int(slot)]

    def add(self, slot: Slot, whose: str, layout: Layout, step: int = 0) -> Root:
        """A new piece of memory for a slot."""
        root = Root(slot, whose, layout, step, step)
        self.places[int(slot)] = Place(root, 0, layout)
        return root

    def view(self, slot: Slot, of: Slot, offset: int, layout: Layout) -> None:
        """A slot that lies in the memory of another one."""
        base = self.place(of)
        self.places[int(slot)] = Place(base.root, base.offset + offset, layout)

    def merge(self, old: Root, new: Root) -> None:
        """Let a new piece of memory be an old one, which nobody else needs any more."""
        new.first, old.last = old.first, -1
        for slot, place in self.places.items():
            if place.root is old:
                self.places[slot] = Place(new, place.offset, place.layout)

    def plan(self, written: Iterable[Slot]) -> None:
        """Give own memory that is written its part of the buffer: pieces that are never needed at once may overlap.

        Each gets the first place that is free, in an order. What then lies highest is moved forward in it, again and
        again; the smallest buffer that was seen is kept.
        """
        places = map(self.place, written)
        roots = list({p.root: None for p in places if p.root.whose in (OWN, LENT)})
        found = []
        for order in (sorted(roots, key=key) for key in (_made_first, _large_first)):
            for _ in range(ROUNDS if roots else 0):
                highest = _pack(order)
                found.append((_end(highest), [root.offset for root in roots]))
                at = order.index(highest)
                order.insert(at // 2, order.pop(at))
        self.size, offsets = min(found, default=(0, []))
        for root, offset in zip(roots, offsets, strict=True):
            root.offset = offset


ROUNDS = 20
"""How often memory is planned, from each of two orders on."""


def _made_first(root: Root) -> tuple[float, ...]:
    return root.first, -root.last


def _large_first(root: Root) -> int:
    return -root.nbytes


def _end(root: Root) -> int:
    return root.offset + root.nbytes


def _pack(order: list[Root]) -> Root:
    """Give each piece the first place that is free; returns the one that lies highest."""
    placed: list[Root] = []
    for root in order:
        beside = [r for r in placed if r.first <= root.last and root.first <= r.last]
        root.offset = _first_gap(beside, root.nbytes)
        placed.append(root)
    return max(placed, key=_end)


def _first_gap(taken: list[Root], nbytes: int) -> int:
    """The first place where so many bytes are free."""
    start = 0
    for root in sorted(taken, key=lambda r: r.offset):
        if start + nbytes <= root.offset:
            break
        end = -(-(root.offset + root.nbytes) // ALIGNMENT) * ALIGNMENT
        start = max(start, end)
    return start


def is_dense(layout: Layout) -> bool:
    """Whether an array fills its memory without gaps, in some order of its dimensions."""
    shape, strides, dtype = layout
    step = dtype.itemsize
    for size, stride in sorted(zip(shape, strides, strict=True), key=lambda pair: pair[1]):
        if size > 1:
            if stride != step:
                return False
            step *= size
    return True


def is_compact(layout: Layout) -> bool:
    """Whether an array's elements follow each other in order."""
    shape, strides, dtype = layout
    step = dtype.itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def compact_layout(shape: Iterable[int], dtype: np.dtype) -> Layout:
    """The layout of an array whose elements follow each other in order."""
    sizes, strides, step = tuple(shape), [], dtype.itemsize
    for size in reversed(sizes):
        strides.append(step)
        step *= max(size, 1)
    return sizes, tuple(reversed(strides)), dtype


def new_array(layout: Layout) -> np.ndarray:
    """A new array that lies in memory as a dense layout says."""
    shape, strides, dtype = layout
    if layout == compact_layout(shape, dtype):
        return np.empty(shape, dtype)  # whose views refer to it
    return np.ndarray(shape, dtype, np.empty(math.prod(shape), dtype), 0, strides)
