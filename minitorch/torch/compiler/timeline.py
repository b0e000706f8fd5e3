"""When each step of one play ran: a tape's program, one step at a time, with the clock read after each.

`save` writes it as Chrome's trace viewer and Perfetto read it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tensor import Tensor
from .listing import step_text
from .native_player import NativePlayer
from .tape import Entry, Slot, Tape


@dataclass
class Event:
    """A step: what it did, for which lines of the program, and from when to when, in seconds."""

    text: str
    places: list[str]
    start: float
    end: float


class Timeline:
    """The steps of one play.

    Attributes:
        result: what the play returned
        events: in order
    """

    def __init__(self, tape: Tape, given: list[Tensor]) -> None:
        from .player import player_of

        texts: list[tuple[str, list[str]]] = []
        play: Any = player_of(tape, native=True, timed=texts)
        ends: list[tuple[int, float]] = []
        play.__globals__["mark"] = lambda k: ends.append((k, time.perf_counter()))
        start = time.perf_counter()
        self.result = play(given)
        self.name, self.events = tape.name, []
        for k, end in ends:
            self.events.append(Event(*texts[k], start, end))
            start = end

    def __str__(self) -> str:
        total = sum(e.end - e.start for e in self.events)
        lines = [f"{self.name}: {len(self.events)} steps, {total * 1e6:,.0f} us"]
        return "\n".join([*lines, *(f"{(e.end - e.start) * 1e6:9,.1f} us  {e.text}" for e in self.events)])  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write the play as a trace."""
        first = self.events[0].start if self.events else 0.0
        rows = [
            {
                "name": e.text.rpartition(" = ")[2].partition("  #")[0], "cat": "step", "ph": "X", "pid": 0, "tid": 0, "ts": (e.start - first) * 1e6,
                "dur": (e.end - e.start) * 1e6, "args": {"step": e.text, "lines": e.places},
            }
            for e in self.events
        ]  # fmt: skip
        named = {"name": "process_name", "ph": "M", "pid": 0, "args": {"name": self.name}}
        Path(path).write_text(json.dumps({"traceEvents": [named, *rows]}))


class TimedPlayer(NativePlayer):
    """Runs every step by itself, and calls `mark` after it."""

    def __init__(
        self, tape: Tape, constants: dict[Slot, Any], texts: list[tuple[str, list[str]]]
    ) -> None:
        super().__init__(tape, constants)
        plan, known = self.native, {}
        places = {entry.number: f"{entry.place[0]}:{entry.place[1]}" for entry in tape.entries}
        for k, step in enumerate(plan.lowering.steps):
            made = ", ".join(map(repr, step.written()))
            text = f"{made + ' = ' if made else ''}{step_text(plan, k, step, known)}"
            place = places.get(plan.lowering.numbers[k])
            texts.append((text, [] if place is None else [place]))

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
