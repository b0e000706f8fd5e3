"""Simulated GPU threads, one at a time, on memory that writes down who touches what.

A thread is an iterator: each step runs it to its next barrier, and gives the line of that barrier.
What the threads did, and what they should not have done, becomes a trace: plain data to draw.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

Point = tuple[int, int, int]
Event = dict[str, Any]
Trace = dict[str, Any]

LIMIT = 30_000
"""Reads and writes of one launch that are written down."""


class TooLongError(RuntimeError):
    """A launch did more than we can show."""


@dataclass(frozen=True)
class Place:
    """Which thread of which block, and how many there are; all as (x, y, z)."""

    block: Point
    thread: Point
    blocks: Point
    threads: Point

    def grid(self, dims: int) -> Any:
        """The thread's number in the whole grid, as `cuda.grid` gives it."""
        return _one_or_all(
            dims,
            [
                b * size + t
                for b, size, t in zip(self.block, self.threads, self.thread, strict=True)
            ],
        )

    def gridsize(self, dims: int) -> Any:
        """How many threads the whole grid has, as `cuda.gridsize` gives it."""
        return _one_or_all(dims, [b * t for b, t in zip(self.blocks, self.threads, strict=True)])


def _one_or_all(dims: int, values: list[int]) -> Any:
    if dims not in (1, 2, 3):
        raise ValueError("cuda.grid takes 1, 2 or 3")
    return values[0] if dims == 1 else tuple(values[:dims])


def as_point(size: int | Sequence[int]) -> Point:
    """A size of one to three dimensions as (x, y, z).

    >>> as_point(4), as_point((2, 3))
    ((4, 1, 1), (2, 3, 1))
    """
    sizes = (size,) if isinstance(size, int) else tuple(size)
    x, y, z = (*sizes, 1, 1, 1)[:3]
    return x, y, z


def points(size: Point) -> list[Point]:
    """All places in a box, x counting fastest."""
    return [(x, y, z) for z, y, x in product(*map(range, reversed(size)))]


def name_thread(thread: Sequence[int], block: Sequence[int]) -> str:
    """A thread in words."""
    return f"thread {_tight(thread)} of block {_tight(block)}"


def _tight(point: Sequence[int]) -> str:
    return f"({','.join(map(str, point))})"


# --- Memory ----------------------------------------------------------------------------------


@dataclass
class Recorder:
    """What has happened so far in a launch, and who is at work."""

    place: Place = field(default_factory=lambda: Place(*[(0, 0, 0)] * 4))
    phase: int = 0
    line: Callable[[], int] = int
    arrays: list[Cells] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)

    def add(self, kind: str, cells: Cells, index: Sequence[int], value: Any, bad: bool) -> None:
        """Write down a read or a write."""
        if len(self.events) >= LIMIT:
            raise TooLongError(f"more than {LIMIT:,} reads and writes: choose a smaller size")
        shown = None if isinstance(value, float) and math.isnan(value) else value
        self.events.append(
            {
                "kind": kind,
                "block": self.place.block,
                "thread": self.place.thread,
                "phase": self.phase,
                "array": cells.name,
                "index": list(index),
                "at": None if bad else cells.position(index),
                "value": shown,
                "line": self.line(),
            }
        )

    def fault(self, kind: str, text: str) -> None:
        """Write down a mistake, once for each thread and kind."""
        at = {"block": self.place.block, "thread": self.place.thread, "kind": kind}
        if not any(known | at == known for known in self.faults):
            self.faults.append({**at, "text": text, "line": self.line()})


class Cells:
    """An array of a kernel, which tells the recorder about every read and write."""

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        shape: int | Sequence[int],
        values: Iterable[Any] | None = None,
        *,
        space: str = "global",
        columns: int | None = None,
    ) -> None:
        self.recorder, self.name, self.space = recorder, name, space
        self.shape = (shape,) if isinstance(shape, int) else tuple(map(int, shape))
        self.size = math.prod(self.shape)
        self.ndim = len(self.shape)
        self.values: list[Any] = [None] * self.size if values is None else list(values)
        self.begin = list(self.values)
        self.columns = columns or (self.shape[-1] if self.ndim > 1 else self.size)
        recorder.arrays.append(self)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        where = _as_index(index)
        if len(where) < self.ndim:
            return Row(self, where)
        where, outside = self._inside(where)
        value = self._arbitrary() if outside else self.values[self.position(where)]
        self.recorder.add("read", self, where, value, outside)
        if outside:
            self.recorder.fault(
                "outside", self._outside("read", where, "returns an arbitrary number")
            )
        elif value is None:
            self.recorder.fault("empty", self._empty(where))
        return math.nan if value is None else value

    def __setitem__(self, index: Any, value: Any) -> None:
        where, outside = self._inside(_as_index(index))
        self.recorder.add("write", self, where, float(value), outside)
        if outside:
            self.recorder.fault("outside", self._outside("wrote", where, "spoils other memory"))
        else:
            self.values[self.position(where)] = float(value)

    def change(self, index: Any, new: Callable[[Any], Any]) -> Any:
        """Read, compute and write in one step that nobody can come between; the old value."""
        before = len(self.recorder.events)
        old = self[index]
        self[index] = new(old)
        for event in self.recorder.events[before:]:
            event["atomic"] = True
        return old

    def position(self, index: Sequence[int]) -> int:
        """The number of a cell, counted row by row."""
        number = 0
        for i, size in zip(index, self.shape, strict=True):
            number = number * size + i
        return number

    def _inside(self, index: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
        """An index with negative parts counted from the end, and whether it is out of bounds."""
        if len(index) != self.ndim:
            raise IndexError(f"{self.name} has {self.ndim} dimensions, not {len(index)}")
        counted = tuple(
            i + size if -size <= i < 0 else i for i, size in zip(index, self.shape, strict=True)
        )
        return counted, any(not 0 <= i < s for i, s in zip(counted, self.shape, strict=True))

    def _arbitrary(self) -> Any:
        return 1 if self.space == "sizes" else math.nan

    def _who(self) -> str:
        return name_thread(self.recorder.place.thread, self.recorder.place.block).capitalize()

    def _outside(self, verb: str, index: Sequence[int], harm: str) -> str:
        extent = f"length {self.size}" if self.ndim == 1 else f"shape {self.shape}"
        return (
            f"{self._who()} {verb} {name_cell(self.name, index)}; {self.name} has {extent}. "
            f"A real GPU {harm} here."
        )

    def _empty(self, index: Sequence[int]) -> str:
        return (
            f"{self._who()} read {name_cell(self.name, index)}, where nothing had been written. "
            f"New memory holds arbitrary numbers."
        )


class Row:
    """A part of an array of several dimensions: `cells[i]`, so that `cells[i][j]` works."""

    def __init__(self, cells: Cells, index: tuple[int, ...]) -> None:
        self.cells, self.index = cells, index

    def __len__(self) -> int:
        return self.cells.shape[len(self.index)]

    def __getitem__(self, index: Any) -> Any:
        return self.cells[*self.index, *_as_index(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.cells[*self.index, *_as_index(index)] = value


def _as_index(index: Any) -> tuple[int, ...]:
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(map(operator.index, parts))


def name_cell(name: str, index: Sequence[int]) -> str:
    """A cell in words: `a[2, 3]`."""
    return f"{name}[{', '.join(map(str, index))}]"


# --- A launch ----------------------------------------------------------------------------------


def launch(
    recorder: Recorder,
    blocks: int | Sequence[int],
    threads: int | Sequence[int],
    start: Callable[[Place], Iterator[int]],
) -> None:
    """Run every block to its end, one after the other, its threads in turn between barriers."""
    grid, size = as_point(blocks), as_point(threads)
    for block in points(grid):
        places = [Place(block, thread, grid, size) for thread in points(size)]
        _run_block(recorder, places, start)


def _run_block(
    recorder: Recorder, places: list[Place], start: Callable[[Place], Iterator[int]]
) -> None:
    working = {place: start(place) for place in places}
    recorder.phase = 0
    while working:
        waiting: dict[Place, int] = {}
        for place, thread in list(working.items()):
            recorder.place = place
            line = next(thread, None)
            if line is None:
                del working[place]
            else:
                waiting[place] = line
        if waiting:
            _meet(recorder, waiting, [place for place in places if place not in waiting])
        recorder.phase += 1


def _meet(recorder: Recorder, waiting: dict[Place, int], gone: list[Place]) -> None:
    """Some threads are at a barrier: write it down, and what is wrong with it."""
    first = next(iter(waiting))
    recorder.place = first
    recorder.events.append(
        {
            "kind": "barrier",
            "block": first.block,
            "thread": None,
            "phase": recorder.phase,
            "waiting": [place.thread for place in waiting],
            "line": waiting[first],
        }
    )
    other = next((place for place, line in waiting.items() if line != waiting[first]), None)
    names = [
        name_thread(place.thread, place.block) for place in (gone[0] if gone else first, first)
    ]
    if gone:
        recorder.fault(
            "barrier",
            f"{names[0].capitalize()} ended while {names[1]} waits at cuda.syncthreads(). "
            f"All threads of a block must meet there; a real GPU may wait for ever.",
        )
    elif other is not None:
        recorder.fault(
            "barrier",
            f"{names[1].capitalize()} waits at the barrier in line {waiting[first]}, "
            f"{name_thread(other.thread, other.block)} at the one in line {waiting[other]}. "
            f"All threads of a block must meet at the same one.",
        )


# --- What came of it ---------------------------------------------------------------------------


def finish(recorder: Recorder, source: dict[int, str], threads: int | Sequence[int]) -> Trace:
    """The whole launch as plain data."""
    return {
        "arrays": [
            {
                "name": cells.name,
                "space": cells.space,
                "shape": cells.shape,
                "columns": cells.columns,
                "size": cells.size,
                "begin": _plain(cells.begin),
                "end": _plain(cells.values),
            }
            for cells in _newest(recorder.arrays)
        ],
        "threads": as_point(threads),
        "events": recorder.events,
        "faults": recorder.faults + races(recorder.events, _names(recorder, "shared")),
        "source": {str(line): text for line, text in source.items()},
    }


def _newest(arrays: list[Cells]) -> list[Cells]:
    """One array of each name: every block has shared memory of its own."""
    return list({cells.name: cells for cells in arrays}.values())


def _names(recorder: Recorder, space: str) -> set[str]:
    return {cells.name for cells in recorder.arrays if cells.space == space}


def _plain(values: list[Any]) -> list[Any]:
    return [None if isinstance(v, float) and math.isnan(v) else v for v in values]


def races(events: list[Event], shared: set[str]) -> list[dict[str, Any]]:
    """Pairs of threads that met in a cell with no barrier between, one for each array."""
    cells: dict[Any, list[Event]] = defaultdict(list)
    for event in events:
        if event["kind"] != "barrier" and event["at"] is not None:
            own = event["block"] if event["array"] in shared else None
            cells[event["array"], event["at"], own].append(event)
    found: dict[str, dict[str, Any]] = {}
    for (array, _, _), met in cells.items():
        if array not in found and any(event["kind"] == "write" for event in met):
            pair = _clash(met)
            if pair:
                found[array] = _race_fault(*pair)
    return list(found.values())


def _clash(met: list[Event]) -> tuple[Event, Event] | None:
    """Two events of one cell of which at least one writes, and that nothing puts in order."""
    for number, second in enumerate(met):
        for first in met[:number]:
            same_block = first["block"] == second["block"]
            if (
                "write" in (first["kind"], second["kind"])
                and not (first.get("atomic") and second.get("atomic"))
                and (first["thread"] != second["thread"] or not same_block)
                and (first["phase"] == second["phase"] or not same_block)
            ):
                return first, second
    return None


def _race_fault(first: Event, second: Event) -> dict[str, Any]:
    one, two = (name_thread(e["thread"], e["block"]) for e in (first, second))
    cell = name_cell(first["array"], first["index"])
    if first["kind"] == second["kind"]:
        text = f"Both {one} and {two} wrote {cell}"
    else:
        writer, reader = (one, two) if first["kind"] == "write" else (two, one)
        text = f"{reader.capitalize()} read {cell}, which {writer} wrote"
    again = "with no barrier between. Which came first is chance: a race."
    line = second["line"]
    return {"kind": "race", "block": second["block"], "thread": second["thread"],
            "text": f"{text}, {again}", "line": line}  # fmt: skip


def judge(trace: Trace, expected: Sequence[float], name: str = "out") -> list[str]:
    """What is wrong with the cells of a result: nothing, or the first that differs."""
    end = next(array["end"] for array in trace["arrays"] if array["name"] == name)
    columns = next(array["columns"] for array in trace["arrays"] if array["name"] == name)
    wrong = [
        i
        for i, (got, right) in enumerate(zip(end, expected, strict=True))
        if got is None or abs(got - right) > 1e-9 * max(1.0, abs(right))
    ]
    if not wrong:
        return []
    first = wrong[0]
    written = any(
        e["kind"] == "write" and e["array"] == name and e["at"] == first for e in trace["events"]
    )
    got = end[first]
    shown = ("arbitrary" if got is None else f"{got:g}") if written else "never written"
    where = f" (row {first // columns}, column {first % columns})" if columns < len(end) else ""
    more = f" {len(wrong)} of {len(end)} cells are wrong." if len(wrong) > 1 else ""
    verb = "was" if not written else "is"
    return [f"{name}[{first}]{where} should be {expected[first]:g}; it {verb} {shown}.{more}"]


def count(trace: Trace) -> dict[str, int]:
    """Reads and writes of global and of shared memory; shapes and strides do not count."""
    spaces = {array["name"]: array["space"] for array in trace["arrays"]}
    totals = dict.fromkeys(["global read", "global write", "shared read", "shared write"], 0)
    for event in trace["events"]:
        if event["kind"] != "barrier" and spaces[event["array"]] != "sizes":
            totals[f"{spaces[event['array']]} {event['kind']}"] += 1
    return totals
