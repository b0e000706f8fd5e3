"""One copy of a tape's programs, with memory of its own."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.interface import address_of
from .kernel_forms import Kernel
from .loops import Loop
from .lowering import Update
from .memory import LENT, OWN, Place, Root, new_array
from .product_forms import Product, leading
from .tape import Slot

if TYPE_CHECKING:
    from .native_player import Plan


def _own_references() -> int:
    """What `getrefcount` says of an array that a list and a name have: versions of Python differ in that."""
    kept = [np.empty(1)]
    held = kept[0]
    return sys.getrefcount(held)


OWN_REFERENCES = _own_references()


class Loan:
    """A part of a buffer as memory of its own: arrays on it know nothing of the rest, and keep the buffer alive."""

    def __init__(self, buffer: Any, address: int, root: Root) -> None:
        self.buffer = buffer
        shape, strides, dtype = root.layout
        self.__array_interface__ = {
            "data": (address, False), "shape": shape, "strides": strides, "typestr": dtype.str, "version": 3
        }  # fmt: skip


class Machines:
    """Those of a tape that nobody uses; if there is none, programs are planned once more, since plans are large and seldom needed."""

    def __init__(self, first: Machine, again: Callable[[], Plan]) -> None:
        self.idle, self.again = [first], again

    def take(self) -> Machine:
        """A machine. Where somebody kept a gradient that was part of a buffer, none will be in the next."""
        try:
            machine = self.idle.pop()
        except IndexError:
            return Machine(self.again())
        return machine if machine.is_free() else Machine(self.again(), lends=False)


class Machine:
    """The programs of a tape, ready to run.

    Attributes:
        layouts: of what is left to the caller
        dynamic: the numbers of its addresses, if there are
        addresses: of memory that is another one at each play, by its number; the first says whether something is wrong
        left: the arrays that were last left to the caller; one that nobody else has any more is used again
        lent: the numbers of those that are parts of the buffer
        runs: of each program, what the loop is given
        views: arrays in the buffer that calls of Python read
        tables: of each optimizer's step, its table and the memory of its numbers
        numbers: of each, those that are there
    """

    def __init__(self, plan: Plan, lends: bool = True) -> None:
        from ..backends.cpu import programs

        self.plan: Any = plan
        self.programs = programs
        self.layouts = [root.layout for root in plan.left]
        self.dynamic = [plan.dynamic.get(id(root)) for root in plan.left]
        memory = plan.lowering.memory
        self.buffer = np.empty(memory.size + 64, np.uint8)
        self.start = -(-address_of(self.buffer) // 64) * 64
        self.addresses = np.zeros(1 + len(plan.dynamic), np.int64)
        self.left: list[Any] = [None] * len(plan.left)
        self.lent = [k for k, root in enumerate(plan.left) if lends and root.whose == LENT]
        for number in self.lent:
            root = plan.left[number]
            self._leave(number, np.asarray(Loan(self.buffer, self.start + root.offset, root)))
        self.kept: list[Any] = []
        self.tables: dict[int, tuple[Any, Any]] = {}
        self.numbers: dict[int, Any] = {}
        self.runs = [self._run(segment) for segment in plan.segments]
        self.views = [self._view(memory.place(Slot(slot))) for slot in plan.viewed]
        self.plan = None  # which is large, and done with

    def new(self, number: int) -> Any:
        """A new array for what is left to the caller: somebody still has the last one."""
        return self._leave(number, new_array(self.layouts[number]))

    def _leave(self, number: int, array: Any) -> Any:
        """Let an array be what is left to the caller."""
        self.left[number] = array
        known = self.dynamic[number]
        if known is not None:
            self.addresses[known] = address_of(array)
        return array

    def is_free(self) -> bool:
        """Whether nobody has a part of the buffer."""
        for number in self.lent:
            array = self.left[number]
            if sys.getrefcount(array) != OWN_REFERENCES:
                return False
        return True

    def _view(self, place: Place) -> Any:
        shape, strides, dtype = place.layout
        offset = self.start - address_of(self.buffer) + place.root.offset + place.offset
        return np.ndarray(shape, dtype, self.buffer, offset, strides)

    def _run(self, segment: list[int]) -> tuple[int, ...]:
        """A program for consecutive steps."""
        rows, patches = [], []
        for k in segment:
            entry, words = self._entry(k, patches)
            block = np.zeros(len(words), np.int64)
            self.kept.append(block)
            for i, word in enumerate(words):
                if isinstance(word, Place):
                    self._put(word, block, i, patches)
                else:
                    block[i] = word
            rows.append((entry, address_of(block), int(self.plan.is_parallel(k))))
        program = np.array(rows, np.int64)
        table = np.array(patches, np.int64).reshape(-1, 3)
        self.kept += [program, table]
        return address_of(program), len(rows), address_of(table), len(patches), address_of(self.addresses)  # fmt: skip

    def _put(self, place: Place, block: Any, i: int, patches: list[Any]) -> None:
        """The address of a place as a word: now, or at each play."""
        root = place.root
        if id(root) in self.plan.dynamic:
            patches.append((address_of(block) + 8 * i, self.plan.dynamic[id(root)], place.offset))
        elif root.whose == OWN:
            block[i] = self.start + root.offset + place.offset
        else:
            array = self.plan.array_of(root.slot)
            self.kept.append(array)
            block[i] = address_of(array) + place.offset

    def _entry(self, k: int, patches: list[Any]) -> tuple[int, list[int | Place]]:
        """The function of a step, and its words."""
        step, programs = self.plan.lowering.steps[k], self.programs
        if isinstance(step, Loop):
            text = self.plan.texts[k]
            entry = programs.loop_entry(text.source, tuple(text.scalars.items()), step.real)
            return entry, text.words
        if isinstance(step, Product):
            return self._product(step)
        if isinstance(step, Kernel):
            return self._kernel(step)
        assert isinstance(step, Update)
        return self._update(k, step, patches)

    def _kernel(self, step: Kernel) -> tuple[int, list[int | Place]]:
        from ..backends.cpu import entries

        words: list[int | Place] = []
        for word in step.words:
            if isinstance(word, Slot):
                words.append(self.plan.lowering.memory.place(word))
            elif isinstance(word, np.ndarray):
                self.kept.append(word)
                words.append(address_of(word))
            else:
                words.append(address_of(self.addresses) if word is None else word)
        return entries.entry_of(getattr(entries, step.name), step.real), words

    def _product(self, step: Product) -> tuple[int, list[int | Place]]:
        place = self.plan.lowering.memory.place
        real = place(step.made).layout[2].type
        words: list[int | Place] = [*step.sizes]
        for slot, transposed in (step.a, step.b):
            length, stored = leading(place(slot).layout)
            words += [place(slot), length, int(stored != transposed)]
        words += [place(step.made), step.sizes[1], self.programs.address_of_product(real)]
        return self.programs.product_entry(real), words

    def _update(self, k: int, step: Update, patches: list[Any]) -> tuple[int, list[int | Place]]:
        op, columns = step.entry.op, step.entry.inputs[: 2 + len(step.entry.op.state)]
        place = self.plan.lowering.memory.place
        count = len(columns[0])
        table = np.zeros((count, 2 + len(columns)), np.int64)
        numbers = np.zeros((count, step.numbers), step.real)
        self.tables[k] = table, numbers
        words: list[int | Place] = [count, address_of(table), count, address_of(numbers)]
        entry = self.programs.update_entry(op.formula, step.real, len(columns), step.numbers)
        for row, slots in zip(table, zip(*columns, strict=True), strict=True):
            row[0] = math.prod(place(slots[0]).layout[0])
            for j, slot in enumerate(slots):
                self._put(place(slot), row, 2 + j, patches)
        return entry, words
