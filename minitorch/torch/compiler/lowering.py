"""From a tape's entries to the steps of a program: loops, products, updates, and what Python calls.

An elementwise entry joins a loop over the same shape if that comes after all that it reads. So entries move to
earlier places, and never across one that writes what they read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from ..backends.cpu.primitives import ANGLES, start_of
from ..interpreters import Update as Written
from ..ops.copies import CLONE
from ..ops.record import ELEMENTWISE, Op
from ..ops.reduce import MEAN, SUM
from ..ops.writes import InPlace
from ..optim.elementwise import Step
from . import norm_forms, sequence_forms  # noqa: F401  # they declare forms
from .kernel_forms import FORMS, Kernel
from .loops import Loop, Operation, Sum, overwrite
from .memory import (
    LEFT,
    LENT,
    MADE,
    OUTSIDE,
    OWN,
    REALS,
    Memory,
    Root,
    compact_layout,
    is_compact,
    is_dense,
)  # fmt: skip
from .passes import weights_first
from .product_forms import Product
from .tape import ALIAS, Entry, Layout, Slot, Tape, slots_in

LOADED = frozenset("?fdilB")
"""Types of arrays that loops read."""

MOST = 24
"""How many operations a loop has at most."""

NEAR = 4
"""So many steps before, a loop is joined by what reads the same: further away, its result would wait too long."""


@dataclass(slots=True)
class Update:
    """A step of an optimizer."""

    entry: Entry
    real: Any
    numbers: int

    def read(self) -> list[Slot]:
        """The slots that it reads."""
        return list(self.entry.slots())

    def written(self) -> list[Slot]:
        """The slots that it makes: none."""
        return []


@dataclass(slots=True)
class Call:
    """An entry that Python calls."""

    entry: Entry

    def read(self) -> list[Slot]:
        """The slots that it reads."""
        return list(self.entry.slots())

    def written(self) -> list[Slot]:
        """The slots that it makes."""
        return list(self.entry.outputs)


AnyStep = Loop | Product | Update | Kernel | Call

# Comparisons, which kernels of one type leave to NumPy since their results are of another type.


def _equal(x: Any, y: Any) -> Any:
    return x == y


def _unequal(x: Any, y: Any) -> Any:
    return x != y


def _less(x: Any, y: Any) -> Any:
    return x < y


def _not_greater(x: Any, y: Any) -> Any:
    return x <= y


def _greater(x: Any, y: Any) -> Any:
    return x > y


def _not_less(x: Any, y: Any) -> Any:
    return x >= y


def _same(x: Any) -> Any:
    return x


COMPARISONS = {
    np.equal: _equal, np.not_equal: _unequal, np.less: _less, np.less_equal: _not_greater, np.greater: _greater,
    np.greater_equal: _not_less,
}  # fmt: skip


class Lowering:
    """The steps of a tape.

    Attributes:
        steps: in order
        numbers: of the entries that they begin with
        memory: where slots lie
        views: entries that compute nothing: their results lie in the memory of their inputs
    """

    def __init__(self, tape: Tape, constants: dict[Slot, Any], returned: set[int]) -> None:
        self.tape, self.returned, self.constants = tape, returned, dict(constants)
        self.steps: list[AnyStep] = []
        self.numbers: list[int] = []
        self.memory = Memory()
        self.views: list[Entry] = []
        self.ready: dict[int, int] = {}  # by slot: the first step that may read it from memory
        self.computed: dict[int, int] = {}  # by slot: the loop that has it in a register
        self.same: dict[int, Slot] = {}  # what other slots are aliases of
        self.copies: dict[tuple[int, int], Slot] = {}  # by slot, and by the last write before
        self.writes: dict[int, int] = {}  # by memory: the step after the last one that wrote there
        self.shared: set[int] = set()  # memory that may be part of some other
        self.next = 1 + max(
            [int(s) for s in tape.sources] + [int(s) for e in tape.entries for s in e.outputs] + [int(s) for s in constants],
            default=0,
        )  # fmt: skip
        for slot, source in tape.sources.items():
            self.memory.add(slot, OUTSIDE, source.layout)
        for slot, array in constants.items():
            self.memory.add(slot, OUTSIDE, (array.shape, array.strides, array.dtype))
        for entry in weights_first(tape.entries):
            self._lower(entry)
            self.numbers += [entry.number] * (len(self.steps) - len(self.numbers))
        self._settle()

    # --- Entries -----------------------------------------------------------------------------------

    def _lower(self, entry: Entry) -> None:
        if entry.op is ALIAS:
            self._alias(entry)
        elif entry.offsets and None not in entry.offsets:
            for slot, offset, layout in zip(entry.outputs, entry.offsets, entry.layouts, strict=True):  # fmt: skip
                self.view(entry.inputs[0], layout, offset or 0, slot)
            self.views.append(entry)
        else:
            forms = self._elementwise, self._reduction, self._update, self._kernel
            if not any(form(entry) for form in forms):
                self._call(entry)

    def _kernel(self, entry: Entry) -> bool:
        form = FORMS.get(getattr(entry.op, "name", ""))
        return (
            form is not None and isinstance(entry.op, (Op, InPlace, Written)) and form(self, entry)
        )

    # --- What forms are made of --------------------------------------------------------------------

    def new(self) -> Slot:
        """A slot that no entry names."""
        self.next += 1
        return Slot(self.next - 1)

    def append(self, step: AnyStep) -> None:
        """Add a step that reads from memory."""
        for slot in step.read():
            self.in_memory(slot)
        self.steps.append(step)

    def add(self, step: AnyStep, layouts: Sequence[Layout]) -> None:
        """Add a step that reads from memory, and makes slots of these layouts."""
        self.append(step)
        for slot, layout in zip(step.written(), layouts, strict=True):
            self.memory.add(slot, OWN, layout, len(self.steps) - 1)
            self.ready[int(slot)] = len(self.steps)

    def apply(self, scalar: Any, *given: Any, like: Layout, made: Slot | None = None) -> Slot:
        """Add an elementwise operation whose result has a layout; that of slots and numbers."""
        made = self.new() if made is None else made
        slots = tuple(self.canonical(x) if isinstance(x, Slot) else x for x in given)
        name = scalar.__name__.strip("_")
        self.join(like[0], REALS[like[2]], Operation(made, scalar, name, slots), like)
        return made

    def sum(
        self, of: Slot, dims: tuple[int, ...], made: Slot | None = None, divisor: int = 1, layout: Layout | None = None
    ) -> Slot:  # fmt: skip
        """Add a sum along some dimensions, which its result does not have unless its layout says so; divided, a mean."""
        made, (shape, _, kind) = self.new() if made is None else made, self.layout(of)
        own = compact_layout([n for d, n in enumerate(shape) if d not in dims], kind)
        what = Sum(made, self.canonical(of), dims, divisor)
        self.join(shape, REALS[kind], what, own if layout is None else layout)
        return made

    def view(self, of: Slot, layout: Layout, offset: int = 0, made: Slot | None = None) -> Slot:
        """A slot that lies in the memory of another one."""
        made = self.new() if made is None else made
        self.memory.view(made, of, offset, layout)
        root = self.canonical(self.memory.place(made).root.slot)
        self.ready[int(made)] = self.ready.get(int(root), 0)
        return made

    def copy_in_order(self, slot: Slot) -> Slot:
        """A copy whose elements follow each other in order: one for all who ask before the next write."""
        shape, _, kind = self.layout(slot)
        key = int(slot), self._after_writes(slot)
        if key not in self.copies:
            self.copies[key] = made = self.new()
            self.copy(made, self.canonical(slot), compact_layout(shape, kind))
        return self.copies[key]

    def in_order(self, slot: Slot) -> Slot:
        """A slot, or such a copy of it."""
        return self.canonical(slot) if is_compact(self.layout(slot)) else self.copy_in_order(slot)

    def constant(self, array: Any) -> Slot:
        """A slot for an array that is the same at each play."""
        made = self.new()
        self.constants[made] = array
        self.memory.add(made, OUTSIDE, (array.shape, array.strides, array.dtype))
        return made

    def note_write(self, slot: Slot) -> None:
        """Let nothing that reads a slot's memory come before the last step."""
        for memory in self._memories(slot):
            self.writes[memory] = len(self.steps)

    def _memories(self, slot: Slot) -> tuple[int, ...]:
        """Numbers for memory: a piece has its own, and that of all pieces that may overlap if it is one of them."""
        root = self.memory.place(slot).root
        overlaps = root.whose == OUTSIDE or id(root) in self.shared
        return (id(root), 0) if overlaps else (id(root),)

    def _after_writes(self, slot: Slot) -> int:
        """The first step after all that write into a slot's memory."""
        return max(self.writes.get(memory, 0) for memory in self._memories(slot))

    def copy(self, made: Slot, of: Slot, layout: Layout) -> None:
        """Let a slot be a copy of another one."""
        self.join(layout[0], REALS[layout[2]], Operation(made, _same, "copy", (of,)), layout)

    def copy_into(self, part: Slot, of: Slot) -> None:
        """Let what lies at the place of a slot be a copy of another one."""
        layout, whole = self.layout(part), self.memory.place(part).root.slot
        found = self.join(layout[0], REALS[layout[2]], Operation(part, _same, "copy", (of,)), layout)  # fmt: skip
        self._store(part, found)
        self.ready[int(whole)] = max(self.ready.get(int(whole), 0), found + 1)

    def _alias(self, entry: Entry) -> None:
        made, of = entry.outputs[0], entry.inputs[0]
        self.memory.places[int(made)] = self.memory.place(of)
        self.same[int(made)] = self.canonical(of)
        self.views.append(entry)

    def canonical(self, slot: Slot) -> Slot:
        return self.same.get(int(slot), slot)

    def layout(self, slot: Slot) -> Layout:
        """The layout of a slot."""
        return self.memory.place(slot).layout

    def _elementwise(self, entry: Entry) -> bool:
        op = entry.op
        if not isinstance(op, Op) or len(entry.outputs) != 1 or entry.several:
            return False
        scalar, params = op.scalar, dict(entry.params)
        constants = params.pop("constants", ())
        if op is CLONE or op.name == "_to_copy":
            scalar, params = _same, {}
        elif op.kind != ELEMENTWISE or scalar is None:
            return False
        scalar = COMPARISONS.get(scalar, scalar)  # type: ignore[arg-type]
        given = (*entry.inputs, *constants)
        made, layout = entry.outputs[0], entry.layouts[0]
        real = self._real(given, layout)
        if params or real is None or not is_dense(layout) or not _is_scalar_function(scalar):
            return False
        slots = [self.canonical(x) if isinstance(x, Slot) else x for x in given]
        numbers = [x for x in slots if not isinstance(x, Slot)]
        if not all((type(x) in (float, int, bool) and abs(x) <= 2**53) or x != x for x in numbers):
            return False
        name = op.name.strip("_") or "f"
        self.join(layout[0], real, Operation(made, scalar, name, tuple(slots)), layout)
        return True

    def _real(self, given: Any, layout: Layout) -> Any:
        """The type that an elementwise entry is computed in; None where that is none of ours."""
        kinds = [self.layout(x)[2] for x in given if isinstance(x, Slot)]
        if not math.prod(layout[0]) or not kinds or any(k.char not in LOADED for k in kinds):
            return None
        if any(isinstance(x, Slot) and x.of_array for x in given):
            return None
        if layout[2] == np.bool_:
            return REALS.get(np.result_type(*kinds))
        return REALS.get(layout[2])

    def join(self, shape: tuple[int, ...], real: Any, what: Operation | Sum, layout: Layout) -> int:
        """Put an operation or a sum into a loop: one that is there, or a new one."""
        given = what.given if isinstance(what, Operation) else (what.of,)
        slots = [x for x in given if isinstance(x, Slot)]
        earliest = 0
        for slot in slots:
            own = self.computed.get(int(slot))
            ready = self.ready.get(int(slot), 0) if own is None else own
            earliest = max(earliest, ready, self._after_writes(slot))
        found = None
        for k in range(len(self.steps) - 1, earliest - 1, -1):
            step = self.steps[k]
            if not isinstance(step, Loop) or step.shape != shape or step.real is not real:
                continue
            near = k >= len(self.steps) - NEAR
            related = {int(s) for s in (*step.made, *(step.read() if near else ()))}
            if related & {int(s) for s in slots} and len(step.operations) < MOST:
                found = k
                break
        if found is None:
            found = len(self.steps)
            self.steps.append(Loop(shape, real))
        step = self.steps[found]
        assert isinstance(step, Loop)
        for slot in slots:  # what another loop has in a register is read from memory
            if self.computed.get(int(slot)) != found:
                self.in_memory(slot)
        made = what.made
        if int(made) in self.memory.places:  # part of something larger
            root = self.memory.place(made).root
            root.first, root.last = min(root.first, found), max(root.last, found)
        else:
            self.memory.add(made, OWN, layout, found)
        if isinstance(what, Operation):
            step.operations.append(what)
            self.computed[int(made)] = found
        else:
            step.sums.append(what)
        self.ready[int(made)] = found + 1
        return found

    def _store(self, slot: Slot, loop: int) -> None:
        step = self.steps[loop]
        assert isinstance(step, Loop)
        step.stored.add(slot)

    def _reduction(self, entry: Entry) -> bool:
        if entry.op not in (SUM, MEAN) or entry.params.get("dtype") is not None:
            return False
        of, made, layout = self.canonical(entry.inputs[0]), entry.outputs[0], entry.layouts[0]
        shape, _, kind = self.layout(of)
        if kind not in REALS or layout[2] != kind or not math.prod(shape) or not is_compact(layout):
            return False
        dims = tuple(d % max(len(shape), 1) for d in entry.params["dim"])
        divisor = math.prod(shape[d] for d in dims) if entry.op is MEAN else 1
        self.join(shape, REALS[kind], Sum(made, of, dims, divisor), layout)
        return True

    def in_memory(self, slot: Slot) -> None:
        """Let what a loop computes be stored, where something lies in its memory."""
        for each in (self.canonical(slot), self.memory.place(slot).root.slot):
            if int(each) in self.computed:
                self._store(each, self.computed[int(each)])

    # --- Updates and calls ---------------------------------------------------------------------------

    def _update(self, entry: Entry) -> bool:
        step = entry.op
        if not isinstance(step, Step):
            return False
        columns = entry.inputs[: 2 + len(step.state)]
        layouts = [self.layout(slot) for column in columns for slot in column]
        kinds = {layout[2] for layout in layouts}
        if len(kinds) != 1 or not kinds <= REALS.keys() or not all(map(is_compact, layouts)):
            return False
        changed = list(slots_in([entry.inputs[i] for i in step.writes]))
        if any(slot not in self.tape.sources for slot in changed):
            return False
        rows = zip(*columns, strict=True)
        if any(len({self.layout(slot)[0] for slot in row}) > 1 for row in rows):
            return False
        counts = {int(slot) for slot in slots_in(entry.inputs[2 + len(step.state) :])}
        if any(counts & {int(slot) for slot in each.read()} for each in self.steps):
            return False
        real = REALS[kinds.pop()]
        numbers = len(signature(step.formula).parameters) - 1 - len(columns)
        self.append(Update(entry, real, numbers))
        for slot in changed:
            self.note_write(slot)
        return True

    def _call(self, entry: Entry) -> None:
        self.append(Call(entry))
        for slot, layout in zip(entry.outputs, entry.layouts, strict=True):
            self.memory.add(slot, MADE, layout, len(self.steps) - 1)
            self.ready[int(slot)] = len(self.steps)
        if not all(entry.fresh):
            for slot in (*entry.slots(), *entry.outputs):  # results may lie in the memory of inputs
                self._leave(self.memory.place(slot).root)
                self.shared.add(id(self.memory.place(slot).root))
        for slot in slots_in([entry.inputs[i] for i in entry.op.writes]):
            self.note_write(slot)

    # --- At the end ------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Find out who reads what last, what is left to the caller, and share out the rest."""
        lent = self._lent()
        for number in sorted(self.returned, key=lent.__contains__):
            if number in self.memory.places:
                self.in_memory(Slot(number))
                root = self.memory.place(Slot(number)).root
                if number in lent and is_compact(root.layout) and root.layout[2] in REALS:
                    self._leave(root, LENT)
                    root.last = math.inf
                else:
                    self._leave(root)
        for k, step in enumerate(self.steps):
            for slot in step.read():
                root = self.memory.place(slot).root
                root.last = max(root.last, k)
        for k, step in enumerate(self.steps):
            if isinstance(step, Loop):
                overwrite(step, k, self.memory)
        self.memory.plan(slot for step in self.steps for slot in step.written())

    def _lent(self) -> set[int]:
        """Gradients that the next play lets go of before its first step: they can be part of the buffer until then."""
        tape, first = self.tape, min(self.numbers, default=0)
        read = {source.of for source in tape.sources.values() if source.kind == "gradient"}
        begin: dict[
            Slot, bool
        ] = {}  # whether a source's gradient is None when the first step begins
        for number, slot, gradient in tape.gradients:
            begin.setdefault(slot, gradient is None and number <= first and slot not in read)
        left = {True: set(), False: {int(slot) for slot in slots_in(tape.result)}}
        for _, slot, gradient in tape.gradients:
            left[begin[slot]] |= {int(each) for each in slots_in(gradient)}
        return left[True] - left[False]

    def _leave(self, root: Root, whose: str = LEFT) -> None:
        if root.whose == OWN:
            root.whose = whose


def _is_scalar_function(scalar: Any) -> bool:
    """Whether a loop can call it."""
    if scalar is _same or scalar in COMPARISONS.values():
        return True
    return scalar not in ANGLES and start_of(scalar) is not None
