"""From a tape's entries to the steps of a program: loops, products, updates, and what Python calls.

An elementwise entry joins a loop over the same shape if that comes after all that it reads. So entries move to
earlier places, and never across one that writes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from ..backends.cpu.primitives import ANGLES, start_of
from ..ops.copies import CLONE
from ..ops.linear import LINEAR, LINEAR_BACKWARD
from ..ops.products import MM
from ..ops.record import ELEMENTWISE, Op
from ..ops.reduce import MEAN, SUM
from ..optim.elementwise import Step
from .kernel_forms import FORMS, Kernel
from .loops import Loop, Operation, Sum
from .memory import LEFT, MADE, OUTSIDE, OWN, Memory, Root, is_compact, is_dense
from .tape import ALIAS, Entry, Layout, Slot, Tape, slots_in

LOADED = frozenset("?fdilB")
"""Types of arrays that loops read."""

REALS = {np.dtype(np.float32): np.float32, np.dtype(np.float64): np.float64}

MOST = 24
"""How many operations a loop has at most."""


@dataclass
class Product:
    """C = A B; each operand with whether it is transposed, A and B as matrices (rows, columns)."""

    made: Slot
    a: tuple[Slot, bool]
    b: tuple[Slot, bool]
    sizes: tuple[int, int, int]

    def read(self) -> list[Slot]:
        """The slots that it reads."""
        return [self.a[0], self.b[0]]

    def written(self) -> list[Slot]:
        """The slots that it writes."""
        return [self.made]


@dataclass
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


@dataclass
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
        memory: where slots lie
        views: entries that compute nothing: their results lie in the memory of their inputs
    """

    def __init__(self, tape: Tape, constants: dict[Slot, Any], returned: set[int]) -> None:
        self.tape, self.returned = tape, returned
        self.steps: list[AnyStep] = []
        self.memory = Memory()
        self.views: list[Entry] = []
        self.ready: dict[int, int] = {}  # by slot: the first step that may read it from memory
        self.computed: dict[int, int] = {}  # by slot: the loop that has it in a register
        self.same: dict[int, Slot] = {}  # what other slots are aliases of
        self.copies: dict[tuple[int, int], Slot] = {}  # by slot, and by the last write before
        self.barrier = -1
        self.next = 1 + max(
            [int(s) for s in tape.sources] + [int(s) for e in tape.entries for s in e.outputs] + [int(s) for s in constants],
            default=0,
        )  # fmt: skip
        for slot, source in tape.sources.items():
            self.memory.add(slot, OUTSIDE, source.layout)
        for slot, array in constants.items():
            self.memory.add(slot, OUTSIDE, (array.shape, array.strides, array.dtype))
        for entry in tape.entries:
            self._lower(entry)
        self._settle()

    # --- Entries -----------------------------------------------------------------------------------

    def _lower(self, entry: Entry) -> None:
        if entry.op is ALIAS:
            self._alias(entry)
        elif entry.offsets and None not in entry.offsets:
            for slot, offset, layout in zip(entry.outputs, entry.offsets, entry.layouts, strict=True):  # fmt: skip
                self.memory.view(slot, entry.inputs[0], offset or 0, layout)
                root = self._canonical(self.memory.place(slot).root.slot)
                self.ready[int(slot)] = self.ready.get(int(root), 0)
            self.views.append(entry)
        else:
            forms = self._elementwise, self._reduction, self._matrix, self._update, self._kernel
            if not any(form(entry) for form in forms):
                self._call(entry)

    def _kernel(self, entry: Entry) -> bool:
        form = FORMS.get(getattr(entry.op, "name", ""))
        return form is not None and isinstance(entry.op, Op) and form(self, entry)

    def copy(self, made: Slot, of: Slot, layout: Layout) -> None:
        """Let a slot be a copy of another one."""
        self._join(layout[0], REALS[layout[2]], Operation(made, _same, "copy", (of,)), layout)

    def _alias(self, entry: Entry) -> None:
        made, of = entry.outputs[0], entry.inputs[0]
        self.memory.places[int(made)] = self.memory.place(of)
        self.same[int(made)] = self._canonical(of)
        self.views.append(entry)

    def _canonical(self, slot: Slot) -> Slot:
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
        slots = [self._canonical(x) if isinstance(x, Slot) else x for x in given]
        numbers = [x for x in slots if not isinstance(x, Slot)]
        if not all((type(x) in (float, int, bool) and abs(x) <= 2**53) or x != x for x in numbers):
            return False
        name = op.name.strip("_") or "f"
        self._join(layout[0], real, Operation(made, scalar, name, tuple(slots)), layout)
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

    def _join(
        self, shape: tuple[int, ...], real: Any, what: Operation | Sum, layout: Layout
    ) -> int:
        """Put an operation or a sum into a loop: one that is there, or a new one."""
        given = what.given if isinstance(what, Operation) else (what.of,)
        slots = [x for x in given if isinstance(x, Slot)]
        earliest = self.barrier + 1
        for slot in slots:
            own = self.computed.get(int(slot))
            ready = self.ready.get(int(slot), 0) if own is None else own
            earliest = max(earliest, ready)
        found = None
        for k in range(len(self.steps) - 1, earliest - 1, -1):
            step = self.steps[k]
            if not isinstance(step, Loop) or step.shape != shape or step.real is not real:
                continue
            related = {int(s) for s in (*step.read(), *step.made)}
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
                self._in_memory(slot)
        made = what.made
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
        of, made, layout = self._canonical(entry.inputs[0]), entry.outputs[0], entry.layouts[0]
        shape, _, kind = self.layout(of)
        if kind not in REALS or layout[2] != kind or not math.prod(shape) or not is_compact(layout):
            return False
        dims = tuple(d % max(len(shape), 1) for d in entry.params["dim"])
        divisor = math.prod(shape[d] for d in dims) if entry.op is MEAN else 1
        self._join(shape, REALS[kind], Sum(made, of, dims, divisor), layout)
        return True

    # --- Products ------------------------------------------------------------------------------------

    def _matrix(self, entry: Entry) -> bool:
        if entry.op not in (MM, LINEAR, LINEAR_BACKWARD) or not _can_multiply():
            return False
        if entry.op is MM:
            a, b = entry.inputs
            if not (self._is_matrix(a) and self._is_matrix(b) and is_compact(entry.layouts[0])):
                return False
            (m, k), (_, n) = self.layout(a)[0], self.layout(b)[0]
            self._multiply(entry.outputs[0], (a, False), (b, False), (m, n, k), entry.layouts[0])
            return True
        return self._linear(entry) if entry.op is LINEAR else self._linear_backward(entry)

    def _is_matrix(self, slot: Any, rows: bool = False) -> bool:
        """Whether a slot is a matrix that a BLAS can read; with `rows`, or more dimensions that lie as one."""
        if not isinstance(slot, Slot):
            return False
        layout = self.layout(slot)
        shape, _, kind = layout
        if kind not in REALS or not math.prod(shape) or len(shape) < 2:
            return False
        if len(shape) > 2:
            return rows and is_compact(layout)
        return _leading(layout) is not None

    def _readable(self, slot: Slot) -> Slot:
        """A slot whose rows a BLAS can read: itself, or a copy that lies in order."""
        shape, _, kind = self.layout(slot)
        if self._is_matrix(slot, True) or kind not in REALS or len(shape) < 2 or 0 in shape:
            return slot
        made = self.copies.get((int(slot), self.barrier))
        if made is not None:
            return made
        made = self.copies[int(slot), self.barrier] = self._new()
        strides = tuple(kind.itemsize * math.prod(shape[d + 1 :]) for d in range(len(shape)))
        self.copy(made, self._canonical(slot), (shape, strides, kind))
        return made

    def _linear(self, entry: Entry) -> bool:
        given: list[Any] = [*entry.inputs, None]
        x, weight, bias = given[:3]
        made, layout = entry.outputs[0], entry.layouts[0]
        kinds = {self.layout(s)[2] for s in (x, weight, bias) if s is not None}
        if not self._is_matrix(weight) or len(kinds) > 1 or not is_compact(layout):
            return False
        x = self._readable(x)
        if not self._is_matrix(x, True):
            return False
        n, k = self.layout(weight)[0]
        m = math.prod(self.layout(x)[0][:-1])
        target = made if bias is None else self._new()
        self._multiply(target, (x, False), (weight, True), (m, n, k), layout)
        if bias is not None:
            added = Operation(made, np.add, "add", (target, self._canonical(bias)))
            self._join(layout[0], REALS[layout[2]], added, layout)
        return True

    def _linear_backward(self, entry: Entry) -> bool:
        g, x, weight = map(self._canonical, entry.inputs)
        wanted = entry.params["wanted"]
        kinds = {self.layout(slot)[2] for slot in (g, x, weight)}
        if not self._is_matrix(weight) or len(kinds) > 1 or not all(map(is_compact, entry.layouts)):
            return False
        g, x = self._readable(g), self._readable(x)
        if not (self._is_matrix(g, True) and self._is_matrix(x, True)):
            return False
        n, k = self.layout(weight)[0]
        m = math.prod(self.layout(x)[0][:-1])
        made = iter(zip(entry.outputs, entry.layouts, strict=True))
        if wanted[0]:
            out, layout = next(made)
            self._multiply(out, (g, False), (weight, False), (m, k, n), layout)
        if wanted[1]:
            out, layout = next(made)
            self._multiply(out, (g, True), (x, False), (n, k, m), layout)
        if wanted[2]:
            out, layout = next(made)
            shape, _, kind = self.layout(g)
            dims = tuple(range(len(shape) - 1))
            self._join(shape, REALS[kind], Sum(out, g, dims, 1), layout)
        return True

    def _multiply(self, made: Slot, a: Any, b: Any, sizes: Any, layout: Layout) -> None:
        a, b = (self._canonical(a[0]), a[1]), (self._canonical(b[0]), b[1])
        self._append(Product(made, a, b, sizes))
        self.memory.add(made, OWN, layout, len(self.steps) - 1)
        self.ready[int(made)] = len(self.steps)

    def _new(self) -> Slot:
        self.next += 1
        return Slot(self.next - 1)

    def _append(self, step: AnyStep) -> None:
        """Add a step that reads from memory."""
        for slot in step.read():
            self._in_memory(slot)
        self.steps.append(step)

    def _in_memory(self, slot: Slot) -> None:
        """Let what a loop computes be stored, where something lies in its memory."""
        for each in (self._canonical(slot), self.memory.place(slot).root.slot):
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
        changed = slots_in([entry.inputs[i] for i in step.writes])
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
        self._append(Update(entry, real, numbers))
        self.barrier = len(self.steps) - 1
        return True

    def _call(self, entry: Entry) -> None:
        self._append(Call(entry))
        if entry.op.writes:
            self.barrier = len(self.steps) - 1
        for slot, layout in zip(entry.outputs, entry.layouts, strict=True):
            self.memory.add(slot, MADE, layout, len(self.steps) - 1)
            self.ready[int(slot)] = len(self.steps)
        if not all(entry.fresh):
            for slot in entry.slots():  # results may lie in the memory of inputs
                self._leave(self.memory.place(slot).root)

    # --- At the end ------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Find out who reads what last, what is left to the caller, and share out the rest."""
        for number in self.returned:
            if number in self.memory.places:
                self._in_memory(Slot(number))
                self._leave(self.memory.place(Slot(number)).root)
        for k, step in enumerate(self.steps):
            for slot in step.read():
                root = self.memory.place(slot).root
                root.last = max(root.last, k)
        self.memory.plan(slot for step in self.steps for slot in step.written())

    def _leave(self, root: Root) -> None:
        if root.whose == OWN:
            root.whose = LEFT


@cache
def _can_multiply() -> bool:
    """Whether there is a BLAS that programs can call."""
    from ..backends.cpu.programs import can_multiply

    return can_multiply()


def _leading(layout: Layout) -> tuple[int, bool] | None:
    """How a BLAS reads a matrix: the length of its rows in memory, and whether it is stored transposed."""
    (height, width), (down, across), kind = layout
    size = kind.itemsize
    if (
        (across == size or width == 1)
        and down % size == 0
        and (down >= size * width or height == 1)
    ):
        return max(down // size if height > 1 else width, width, 1), False
    if (
        (down == size or height == 1)
        and across % size == 0
        and (across >= size * height or width == 1)
    ):
        return max(across // size if width > 1 else height, height, 1), True
    return None


def leading(layout: Layout) -> tuple[int, bool]:
    """The same for arrays that can be read as a matrix of rows."""
    if len(layout[0]) > 2:
        return layout[0][-1], False
    found = _leading(layout)
    if found is None:
        raise ValueError(f"no BLAS reads {layout}")
    return found


def _is_scalar_function(scalar: Any) -> bool:
    """Whether a loop can call it."""
    if scalar is _same or scalar in COMPARISONS.values():
        return True
    return scalar not in ANGLES and start_of(scalar) is not None
