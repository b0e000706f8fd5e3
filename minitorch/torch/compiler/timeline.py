"""When each step of one play ran, with the clock read after each: a tape's program, or the tape before it was fused.

`save` writes it as Chrome's trace viewer and Perfetto read it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tensor import Tensor
from .kernel_forms import Kernel
from .listing import step_text
from .loops import Loop
from .native_player import NativePlayer
from .player import OnArrays
from .product_forms import Product
from .tape import Entry, Slot, Tape, slots_in, text_of_entry


@dataclass
class Event:
    """A step, or an entry of the tape.

    Attributes:
        name: what it does, in a word or some
        text: the same in full, with slots
        places: lines of the program that it is for
        reads: by the numbers of the events that made it, the shapes of what it reads
        start: in seconds
        end: in seconds; 0 if it was left out
    """

    name: str
    text: str
    places: list[str]
    reads: dict[int, tuple[int, ...]]
    start: float = 0.0
    end: float = 0.0


class Timeline:
    """The steps of one play, or its entries by themselves.

    Attributes:
        result: what the play returned
        events: in order
    """

    def __init__(self, tape: Tape, given: list[Tensor], fused: bool = True) -> None:
        from .players import player_of

        self.name, self.events = tape.name, []
        play: Any = player_of(tape, native=fused, timed=self.events)
        ends: list[tuple[int, float]] = []
        play.__globals__["mark"] = lambda k: ends.append((k, time.perf_counter()))
        start = time.perf_counter()
        self.result = play(given)
        for k, end in ends:
            self.events[k].start, self.events[k].end = start, end
            start = end

    def __str__(self) -> str:
        ran = self._ran()
        total = sum(e.end - e.start for e in ran)
        lines = [f"{self.name}: {len(ran)} steps, {total * 1e6:,.0f} us"]
        return "\n".join([*lines, *(f"{(e.end - e.start) * 1e6:9,.1f} us  {e.text}" for e in ran)])

    def _ran(self) -> list[Event]:
        """The events that were not left out, as an optimizer's step is after an overflow."""
        return [event for event in self.events if event.end]

    def save(self, path: str | Path) -> None:
        """Write the play as a trace."""
        ran = self._ran()
        first = ran[0].start if ran else 0.0
        rows = [
            {
                "name": e.text.rpartition(" = ")[2].partition("  #")[0], "cat": "step", "ph": "X", "pid": 0, "tid": 0, "ts": (e.start - first) * 1e6,
                "dur": (e.end - e.start) * 1e6, "args": {"step": e.text, "lines": e.places},
            }
            for e in ran
        ]  # fmt: skip
        named = {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": self.name}}
        Path(path).write_text(json.dumps({"traceEvents": [named, *rows]}))


class TimedEntries(OnArrays):
    """Plays every entry by itself, and calls `mark` after it."""

    def __init__(self, tape: Tape, events: list[Event]) -> None:
        super().__init__(tape)
        made_by: dict[Slot, int] = {}
        for k, entry in enumerate(tape.entries):
            written = [s for i in entry.op.writes for s in slots_in(entry.inputs[i : i + 1])]
            reads = {made_by[s]: self.layouts[s][0] for s in entry.slots() if s in made_by}
            made_by.update((slot, k) for slot in (*entry.outputs, *written))
            events.append(Event(entry.op.name, text_of_entry(entry), [_place(entry)], reads))
        self.numbers = {id(entry): k for k, entry in enumerate(tape.entries)}

    def entry(self, entry: Entry) -> None:
        super().entry(entry)
        self.lines.append(f"mark({self.numbers[id(entry)]})")


class TimedPlayer(NativePlayer):
    """Runs every step by itself, and calls `mark` after it."""

    def __init__(self, tape: Tape, constants: dict[Slot, Any], events: list[Event]) -> None:
        super().__init__(tape, constants)
        plan, known = self.native, {}
        places = {entry.number: _place(entry) for entry in tape.entries}
        place, made_by = plan.lowering.memory.place, {}  # by memory
        for k, step in enumerate(plan.lowering.steps):
            made = ", ".join(map(repr, step.written()))
            text = f"{made + ' = ' if made else ''}{step_text(plan, k, step, known)}"
            found = places.get(plan.lowering.numbers[k])
            given = [place(slot) for slot in step.read()]
            reads = {made_by[id(p.root)]: p.layout[0] for p in given if id(p.root) in made_by}
            made_by.update((id(place(slot).root), k) for slot in step.written())
            events.append(Event(_name(step), text, [found] if found else [], reads))

    def entry(self, entry: Entry) -> None:
        super().entry(entry)
        steps = self.native.lowering.steps
        called = [k for k, step in enumerate(steps) if getattr(step, "entry", None) is entry]
        self.lines += [f"mark({k})" for k in called]

    def start_program(self, number: int) -> None:
        for i, k in enumerate(self.native.segments[number]):
            self.prepare(k)
            row = self.constant(_row)
            self.call_program(f"{row}(machine.runs[{number}], {i})", [k])
            self.lines.append(f"mark({k})")


def _row(run: tuple[int, ...], i: int) -> tuple[int, ...]:
    """What the loop is given to run one step of a program; memory is noted before the first."""
    program, _, patches, patched, addresses = run
    return program + 24 * i, 1, patches, 0 if i else patched, addresses


def _place(entry: Entry) -> str:
    return f"{entry.place[0]}:{entry.place[1]}"


def _name(step: Any) -> str:
    """What a step does, in a word or some: of a loop, all that was fused into it."""
    if isinstance(step, Loop):
        return ", ".join([*(each.name for each in step.operations), *["sum"] * len(step.sums)])
    if isinstance(step, Product):
        return "matrix product"
    return step.name if isinstance(step, Kernel) else step.entry.op.name
