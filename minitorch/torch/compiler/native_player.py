"""The native player: the steps of a tape as programs that run without Python, and calls between them.

What Python does at a play is to hand out memory: it makes arrays for results, notes where they and the arguments
lie, and starts the programs. A `Machine` is one copy of a tape's programs with a buffer of its own, so that threads can
play a tape at the same time.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...threads import get_num_threads, numpy_on_one_thread, running
from ..backends.cpu.matmul import LARGE
from ..backends.interface import backend_for
from ..device import CPU
from ..tensor import bump_versions
from .kernel_forms import Kernel
from .loops import Loop, Text
from .lowering import Call, Lowering, Update
from .machine import OWN_REFERENCES, Machine, Machines
from .memory import LEFT, LENT, MADE, OUTSIDE, OWN, PARALLEL, Place, Root, compact_layout, new_array
from .player import OnArrays
from .product_forms import Product
from .tape import Entry, Slot, Tape, slots_in

PRODUCTS = 10
"""How many multiplications of a product take as long as an element of a loop."""

LIGHT = 64
"""How many elements of an optimizer's step take as long as one of a loop."""


class Plan:
    """How a tape is played natively.

    Attributes:
        constants: arrays that are the same at each play
        lowering: its steps and where slots lie
        segments: numbers of steps that follow each other without Python
        dynamic: numbers of memory that is another one at each play
        texts: of loops
        left: memory of results
        viewed: slots in the buffer that Python needs as arrays
    """

    def __init__(self, tape: Tape, constants: dict[Slot, Any], returned: set[int]) -> None:
        self.tape, self.constants = tape, constants
        self.lowering = Lowering(tape, constants, returned)
        steps, memory = self.lowering.steps, self.lowering.memory
        self.segments: list[list[int]] = []
        for k, step in enumerate(steps):
            if not isinstance(step, Call):
                last = self.segments[-1][-1] if self.segments else -2
                joins = last == k - 1 and not _is_checked(steps[last])
                if joins and _unless(steps[last]) == _unless(step):
                    self.segments[-1].append(k)
                else:
                    self.segments.append([k])
        self.texts = {k: Text(s, memory) for k, s in enumerate(steps) if isinstance(s, Loop)}
        self.dynamic: dict[int, int] = {}
        self.roots: list[Root] = []
        for segment in self.segments:
            for k in segment:
                for slot in (*steps[k].read(), *steps[k].written()):
                    self._note(memory.place(slot).root)
        read = {int(s) for step in steps if isinstance(step, Call) for s in step.read()}
        read |= {int(s) for s in map(_unless, steps) if s is not None}
        read |= {int(step.check[1]) for step in steps if isinstance(step, Kernel) and step.check}
        roots = {id(p.root): p.root for p in memory.places.values()}
        self.left = [root for root in roots.values() if root.whose in (LEFT, LENT)]
        self.viewed = sorted(s for s in read if memory.places[s].root.whose == OWN)

    def _note(self, root: Root) -> None:
        """Number memory that is another one at each play."""
        source = self.tape.sources.get(root.slot)
        fixed = root.whose == OUTSIDE and (source is None or source.kind == "tensor")
        if root.whose != OWN and not fixed and id(root) not in self.dynamic:
            self.dynamic[id(root)] = 1 + len(self.dynamic)
            self.roots.append(root)

    def array_of(self, slot: Slot) -> Any:
        """An array that is the same at each play."""
        constants = self.lowering.constants
        return constants[slot] if slot in constants else self.tape.sources[slot].of._array

    def is_parallel(self, k: int) -> bool:
        """Whether a step is worth all threads."""
        step = self.lowering.steps[k]
        if isinstance(step, Loop):
            return self.texts[k].parallel and math.prod(step.shape) >= PARALLEL
        if isinstance(step, Product):
            return math.prod(step.sizes) // PRODUCTS >= PARALLEL
        if isinstance(step, Kernel):
            return step.work >= PARALLEL
        assert isinstance(step, Update)
        place = self.lowering.memory.place
        total = sum(math.prod(place(slot).layout[0]) for slot in step.entry.inputs[0])
        return total // LIGHT >= PARALLEL

    def asks_blas(self, segment: list[int]) -> bool:
        """Whether a BLAS would start threads of its own."""
        steps = [self.lowering.steps[k] for k in segment]
        return any(isinstance(s, Product) and math.prod(s.sizes) > LARGE for s in steps)


class NativePlayer(OnArrays):
    """Plays a tape by programs, and by calls of Python where there is no other way."""

    def __init__(
        self, tape: Tape, constants: dict[Slot, Any], plan: Plan | None = None, again: Callable[[], Plan] | None = None
    ) -> None:  # fmt: skip
        super().__init__(tape)
        anew = partial(Plan, tape, constants, self.returned)
        self.native = anew() if plan is None else plan
        self.emitted = {int(s) for s in tape.sources} | {int(s) for s in constants}
        self.made_by = {int(s): e for e in self.native.lowering.views for s in e.outputs}
        self.done = self._last_read()
        self.machines = Machines(Machine(self.native), again or anew)  # compiles

    def entries(self) -> None:
        plan = self.native
        places = plan.lowering.memory
        if any(root.whose == LENT for root in plan.left):  # the last ones are let go of
            self.leave(plan.lowering.numbers[0])
        self.lines.append(f"machine = {self.constant(self.machines.take)}()")
        self.lines.append("address = machine.addresses")
        for number, slot in enumerate(plan.viewed):
            self.lines.append(f"v{slot} = machine.views[{number}]")
            self.emitted.add(slot)
        for root in plan.roots:
            if root.whose == OUTSIDE:
                self._note_address(root)
        segments = {segment[0]: number for number, segment in enumerate(plan.segments)}
        for k, step in enumerate(plan.lowering.steps):
            if isinstance(step, Call):
                self.leave(plan.lowering.numbers[k])
                for slot in step.read():
                    self._ensure(slot)
                with self.chosen(step.entry.unless, step.read()):
                    self.entry(step.entry)
                self.emitted |= {int(slot) for slot in step.entry.outputs}
                for slot in step.entry.outputs:
                    if id(places.place(slot).root) in plan.dynamic:
                        self._note_address(places.place(slot).root)
            elif k in segments:
                self._start(segments[k])
            self._let_go(k)
        for number in sorted(self.returned):
            self._ensure(Slot(number))

    def _let_go(self, k: int) -> None:
        """Let go of what calls made and nobody reads after a step."""
        for slot in self.done.get(k, ()):
            if slot in self.emitted:
                self.lines.append(f"v{slot} = None")

    def _last_read(self) -> dict[int, list[int]]:
        """By the last steps that read them, the slots that lie in what calls made."""
        places = self.native.lowering.memory.places
        kept = {id(places[number].root) for number in self.returned if number in places}
        found: dict[int, list[int]] = {}
        for slot, place in places.items():
            if place.root.whose == MADE and id(place.root) not in kept:
                found.setdefault(int(place.root.last), []).append(slot)
        return found

    def _update(self, entry: Entry) -> None:
        formula = getattr(entry.op, "formula", None)
        if formula is not None:  # of an optimizer: many steps will follow
            for dtype in {self.layouts[slot][2] for slot in slots_in(entry.inputs[:1])}:
                backend_for(CPU).expect_many_steps(formula, dtype)
        super()._update(entry)

    def end(self) -> None:
        super().end()
        self.lines.append(f"{self.constant(self.machines.idle.append)}(machine)")

    def tensor(self, slot: Slot) -> str:
        self._ensure(slot)
        return super().tensor(slot)

    def _make(self, number: int, root: Root) -> None:
        """An array for what is left to the caller: the last one, if the machine, this name and the call have it."""
        name = f"v{int(root.slot)}"
        if root.layout == compact_layout(root.layout[0], root.layout[2]):  # views of it refer to it
            self.names.setdefault("references", sys.getrefcount)
            self.lines.append(f"{name} = machine.left[{number}]")
            self.lines.append(
                f"if references({name}) != {OWN_REFERENCES}: {name} = machine.new({number})"
            )
        else:
            self.lines.append(f"{name} = machine.new({number})")
        self.emitted.add(int(root.slot))

    def _note_address(self, root: Root) -> None:
        name, strides = f"v{int(root.slot)}", root.layout[1]
        if root.whose == MADE:
            shape, dtype = root.layout[0], self.constant(root.layout[2])
            self.lines.append(
                f"if {name}.shape != {shape!r} or {name}.dtype != {dtype}: refuse('a call')"
            )
            relaid = self.constant(partial(_relaid, root.layout))
            self.lines.append(f"if {name}.strides != {strides!r}: {name} = {relaid}({name})")
        number = self.native.dynamic[id(root)]
        self.lines.append(f"address[{number}] = {name}.__array_interface__['data'][0]")

    def _ensure(self, slot: Slot) -> None:
        """Let there be an array for a slot that looks at another one's memory."""
        waiting, needed = [slot], []
        while waiting:
            each = waiting.pop()
            if int(each) not in self.emitted and int(each) in self.made_by:
                entry = self.made_by[int(each)]
                needed.append(entry)
                waiting += list(entry.slots())
        for entry in reversed(needed):
            if not {int(s) for s in entry.outputs} <= self.emitted:
                self.entry(entry)
                self.emitted |= {int(s) for s in entry.outputs}
        if int(slot) not in self.emitted:  # part of what a kernel makes
            place = self.native.lowering.memory.place(slot)
            part = self.constant(partial(_part, place))
            self.lines.append(f"v{int(slot)} = {part}(v{int(place.root.slot)})")
            self.emitted.add(int(slot))

    def _start(self, number: int) -> None:
        """Run a program."""
        plan = self.native
        segment = plan.segments[number]
        self._begin(segment)
        unless = _unless(plan.lowering.steps[segment[0]])
        if unless is not None:
            self._ensure(unless)
        with self.chosen(unless, ()):
            self.start_program(number)
        self._look_at_errors(segment[-1])

    def start_program(self, number: int) -> None:
        """Count, and start a program."""
        segment = self.native.segments[number]
        for k in segment:
            self.prepare(k)
        self.call_program(f"machine.runs[{number}]", segment)

    def prepare(self, k: int) -> None:
        """What Python does before a step: it counts."""
        step = self.native.lowering.steps[k]
        if isinstance(step, Update):
            given = [[f"t{int(s)}" for s in column] for column in step.entry.inputs]
            prepare = self.constant(_Preparation(k, step))
            counts = given[2 + len(step.entry.op.state) :]
            changed = [given[i] for i in step.entry.op.writes]
            self.lines.append(
                f"{prepare}(machine, {_listed(counts)}, {_listed(changed)}, {self.constant(step.entry.params['options'])})"
            )  # fmt: skip
        elif isinstance(step, Kernel):
            self.lines += [f"bump_version(t{int(slot)})" for slot in step.counted]

    def call_program(self, given: str, segment: list[int]) -> None:
        """Let the loop run some steps, on all threads where that is worth it."""
        plan = self.native
        run = f"{self.constant(_runner())}(*{given}, {{}}, {{}})"
        parallel = any(plan.is_parallel(k) for k in segment)
        blas = plan.asks_blas(segment)
        if not parallel and not blas:
            self.lines.append(run.format(1, 0))
            return
        threads = self.constant(get_num_threads)
        launch = self.constant(_launcher())
        self.names.setdefault("numpy_on_one_thread", numpy_on_one_thread)
        self.names.setdefault("running", running)
        self.lines.append("with numpy_on_one_thread(), running():")
        self.lines.append("    " + run.format(f"{threads}()", launch))

    def _begin(self, segment: list[int]) -> None:
        """What is done before consecutive steps: gradients that they replace are let go, and results get memory."""
        plan = self.native
        numbers = [*plan.lowering.numbers, math.inf]
        end = segment[-1] + (not _is_checked(plan.lowering.steps[segment[-1]]))
        self.leave(numbers[segment[0]])
        self.forget_gradients(numbers[end])
        for left, root in enumerate(plan.left):
            if root.first in segment:
                self._make(left, root)

    def _look_at_errors(self, k: int) -> None:
        """Raise the error of a kernel that found something wrong."""
        step = self.native.lowering.steps[k]
        if isinstance(step, Kernel) and step.check is not None:
            check, slot = step.check
            self.leave(self.native.lowering.numbers[k])
            self._ensure(slot)
            self.lines.append("if address[0]:")
            self.lines.append("    address[0] = 0")
            self.lines.append(f"    {self.constant(check)}(v{int(slot)})")
            self.lines.append("    raise RuntimeError('a kernel found something wrong')")


class _Preparation:
    """What Python does before a step of an optimizer: read its numbers, and count."""

    def __init__(self, k: int, step: Update) -> None:
        self.k, self.op, self.params = k, step.entry.op, len(step.entry.inputs[0])

    def __call__(self, machine: Machine, counts: Any, changed: Any, options: Any) -> None:
        table, numbers = machine.tables[self.k]
        if counts:
            own, after = self.op._count(options, self.params, counts)
            own = own[:1] if own[0] is own[-1] else own  # all have one count
        else:
            own, after = (self.op.numbers(options)[0],), ()
        if own != machine.numbers.get(self.k):
            machine.numbers[self.k] = own
            numbers[: len(own)] = own
            table[:, 1] = range(self.params) if len(own) > 1 else 0
        for tensors, values in zip(counts, after, strict=True):
            for tensor, value in zip(tensors, values, strict=True):
                tensor._array[...] = value
        for tensors in changed:
            bump_versions(tensors)


def _unless(step: Any) -> Slot | None:
    """The slot that says whether a step is left out."""
    return step.entry.unless if isinstance(step, (Call, Update)) else None


def _is_checked(step: Any) -> bool:
    """Whether a step may find something wrong: then Python looks right after it."""
    return isinstance(step, Kernel) and step.check is not None


def _listed(columns: list[list[str]]) -> str:
    return "(" + "".join(f"({''.join(f'{name}, ' for name in column)}), " for column in columns) + ")"  # fmt: skip


def _part(place: Place, array: Any) -> Any:
    """What lies at a place of contiguous memory."""
    shape, strides, dtype = place.layout
    return np.ndarray(shape, dtype, array, place.offset, strides)


def _relaid(layout: Any, array: Any) -> Any:
    """A copy that lies in memory as a layout says."""
    made = new_array(layout)
    made[...] = array
    return made


def _runner() -> Callable[..., None]:
    from ..backends.cpu import programs

    return programs.runner()


def _launcher() -> int:
    from ..backends.cpu import programs

    return programs.launcher()
