"""Pictures of GPU threads: the grid with its blocks, and a flip book of what a block does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..inside.threads import Event, Point, Trace, name_cell, points
from .picture import ACCENT, BLUE, FAINT, GREY, INK, PAPER, RED, SHADES, Picture, shorten

WIDTH, CELL = 560, 38
DARK = "#1f2937"
WRITE, READ, _, _, BAD, REST = SHADES


# --- The grid ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """A launch over a row of elements, or over a matrix: sizes as (x, y)."""

    size: tuple[int, int]
    threads: tuple[int, int]
    blocks: tuple[int, int]

    def covers(self, block: tuple[int, int], thread: tuple[int, int]) -> list[tuple[int, int]]:
        """The elements that a thread works on; in a row it goes on in steps of the grid."""
        x, y = (b * t + i for b, t, i in zip(block, self.threads, thread, strict=True))
        if self.size[1] > 1:
            return [(x, y)] if x < self.size[0] and y < self.size[1] else []
        step = self.blocks[0] * self.threads[0]
        return [(i, 0) for i in range(x, self.size[0], step)]

    def everyone(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """All pairs of a block and a thread in it."""
        for by in range(self.blocks[1]):
            for bx in range(self.blocks[0]):
                for ty in range(self.threads[1]):
                    for tx in range(self.threads[0]):
                        yield (bx, by), (tx, ty)

    def idle(self) -> int:
        """How many threads have nothing to do."""
        return sum(not self.covers(*pair) for pair in self.everyone())


def draw_grid(grid: Grid, chosen: str) -> Picture:
    """Every block as a frame around its threads; a thread shows its first element."""
    flat = grid.threads[1] == 1
    across = min(grid.threads[0], 8) if flat else grid.threads[0]
    down = -(-grid.threads[0] // across) if flat else grid.threads[1]
    wide, high = across * CELL + 22, down * CELL + 40
    in_a_row = max(int(WIDTH // wide), 1) if flat else grid.blocks[0]
    rows = -(-grid.blocks[0] // in_a_row) if flat else grid.blocks[1]
    picture = Picture(
        max(min(in_a_row, grid.blocks[0]) * wide, 300), rows * high + 2, "Blocks and their threads"
    )
    for block, thread in grid.everyone():
        column, row = (block[0] % in_a_row, block[0] // in_a_row) if flat else block
        x, y = 2 + column * wide, 2 + row * high
        if thread == (0, 0):
            picture.box(x, y, wide - 8, high - 8, line=GREY, round=6)
            name = f"block {block[0]}" if flat else f"block ({block[0]}, {block[1]})"
            picture.text(x + 8, y + 13, name, anchor="start", size=12)
        i, j = (thread[0] % across, thread[0] // across) if flat else thread
        _draw_thread(picture, grid, block, thread, (x + 7 + i * CELL, y + 25 + j * CELL), chosen)
    return picture


def _draw_thread(
    picture: Picture,
    grid: Grid,
    block: tuple[int, int],
    thread: tuple[int, int],
    at: tuple[float, float],
    chosen: str,
) -> None:
    id = ",".join(map(str, (*block, *thread)))
    covered = grid.covers(block, thread)
    lit = id == chosen
    side = CELL - 3
    picture.box(
        *at, side, side, SHADES[2] if covered else REST, line=ACCENT if lit else FAINT,
        thick=3 if lit else 1, round=4, id=id, dash=None if covered or lit else "3 3",
        tip=f"thread {thread} of block {block}{'' if covered else ', which has nothing to do'}",
    )  # fmt: skip
    words = "–"
    if covered:
        x, y = covered[0]
        words = str(x) if grid.size[1] == 1 else f"{y},{x}"
    color = DARK if covered else GREY
    picture.text(at[0] + side / 2, at[1] + side / 2, words, size=13, color=color)
    if len(covered) > 1:
        more = f"+{len(covered) - 1}"
        picture.text(at[0] + side - 4, at[1] + 8, more, size=8, color=DARK, anchor="end")


# --- What a block does, step by step -----------------------------------------------------------


@dataclass
class Step:
    """What the threads of a block do at the same time: one kind of access, or a barrier."""

    kind: str
    line: int
    events: list[Event] = field(default_factory=list)


def steps_of(events: Sequence[Event]) -> list[Step]:
    """The events of one block in lockstep: threads at the same access take it together.

    Whoever has most left to do in a phase goes first; the others wait for their turn.
    """
    steps: list[Step] = []
    waiting: dict[Any, list[Event]] = {}
    for event in events:
        if event["kind"] == "barrier":
            steps += _lockstep(waiting)
            waiting = {}
            steps.append(Step("barrier", event["line"], [event]))
        else:
            waiting.setdefault(tuple(event["thread"]), []).append(event)
    return steps + _lockstep(waiting)


def _lockstep(queues: dict[Any, list[Event]]) -> list[Step]:
    steps = []
    queues = {thread: list(events) for thread, events in queues.items() if events}
    while queues:
        first = max(queues.values(), key=len)[0]
        step = Step(first["kind"], first["line"])
        for queue in queues.values():
            if _same(queue[0], first):
                step.events.append(queue.pop(0))
        queues = {thread: events for thread, events in queues.items() if events}
        steps.append(step)
    return steps


def _same(one: Event, other: Event) -> bool:
    return all(one[name] == other[name] for name in ("kind", "array", "line"))


def blocks_of(trace: Trace) -> list[Point]:
    """The blocks of a launch that did something, in order."""
    return list({tuple(event["block"]): None for event in trace["events"]})  # type: ignore[misc]


def flip(
    trace: Trace, block: Sequence[int], *, sizes: bool = False
) -> tuple[list[Picture], list[str]]:
    """The pictures and captions of what one block does."""
    arrays = [a for a in trace["arrays"] if sizes or a["space"] != "sizes"]
    shown = {array["name"] for array in arrays}
    memory = {array["name"]: list(array["begin"]) for array in arrays}
    own: list[Event] = []
    for event in trace["events"]:
        if tuple(event["block"]) == tuple(block):
            own.append(event)
        elif not own and event["kind"] == "write" and event["at"] is not None:
            _apply(memory, event)
    for array in arrays:
        if array["space"] == "shared":
            memory[array["name"]] = [None] * array["size"]
    kept = [e for e in own if e["kind"] == "barrier" or e["array"] in shown or e["at"] is None]
    steps = steps_of(kept)
    last = _last_steps(steps)
    everyone = points(trace["threads"])
    idle = {thread: (PAPER, "idle", "") for thread in everyone if thread not in last}
    pictures, captions = [], []
    for number, step in enumerate(steps):
        for event in step.events:
            if step.kind == "write" and event["at"] is not None:
                _apply(memory, event)
        states = idle | _states(step, number, last)
        pictures.append(_frame(arrays, memory, step, trace["threads"], states))
        captions.append(_caption(step, number, len(steps), trace))
    return pictures, captions


def _apply(memory: dict[str, list[Any]], event: Event) -> None:
    if event["array"] in memory:
        memory[event["array"]][event["at"]] = event["value"]


def _last_steps(steps: list[Step]) -> dict[Any, int]:
    """The last step in which each thread does something."""
    last: dict[Any, int] = {}
    for number, step in enumerate(steps):
        for thread in _threads_in(step):
            last[thread] = number
    return last


def _threads_in(step: Step) -> list[Any]:
    if step.kind == "barrier":
        return [tuple(thread) for thread in step.events[0]["waiting"]]
    return [tuple(event["thread"]) for event in step.events]


def _states(step: Step, number: int, last: dict[Any, int]) -> dict[Any, tuple[str, str, str]]:
    """Colour and two lines of words for every thread that does not just rest."""
    states: dict[Any, tuple[str, str, str]] = {
        thread: (PAPER, "done", "") for thread, end in last.items() if end < number
    }
    if step.kind == "barrier":
        return states | dict.fromkeys(_threads_in(step), (REST, "waits", ""))
    for event in step.events:
        fill = BAD if event["at"] is None else WRITE if event["kind"] == "write" else READ
        name = short_name(event["array"])
        states[tuple(event["thread"])] = (fill, name, name_cell("", event["index"]))
    return states


def short_name(name: str) -> str:
    """The name of an array as a picture has room for it."""
    name = name.removesuffix("_storage")
    return name if len(name) <= 9 else name[:8] + "…"


def _caption(step: Step, number: int, count: int, trace: Trace) -> str:
    code = trace["source"].get(str(step.line), "")
    end = f"  Line {step.line}: {code}" if code else ""
    if step.kind == "barrier":
        many = len(step.events[0]["waiting"])
        return (
            f"All wait: {_threads(many)} at the barrier. What was written before is there for all."
        )
    verb = "read" if step.kind == "read" else "write"
    many = len(step.events)
    outside = sum(event["at"] is None for event in step.events)
    bad = f", {outside} of them out of bounds" if outside else ""
    return f"{_threads(many)} {verb}{'s' if many == 1 else ''} {step.events[0]['array']}{bad}.{end}"


def _threads(many: int) -> str:
    return f"{many} thread{'s' if many != 1 else ''}"


SPACES = {
    "sizes": "shapes and strides",
    "global": "global memory",
    "shared": "shared memory of this block",
}


# --- One picture of it -----------------------------------------------------------------------


def _frame(
    arrays: Sequence[dict[str, Any]],
    memory: dict[str, list[Any]],
    step: Step,
    threads: Point,
    states: dict[Any, tuple[str, str, str]],
) -> Picture:
    picture = Picture(WIDTH, 10, "What the threads of a block do")
    y = 2.0
    for space, words in SPACES.items():
        group = [array for array in arrays if array["space"] == space]
        if group:
            y = _draw_group(picture, group, memory, step, words, y)
    y = _draw_threads(picture, threads, states, y)
    picture.height = round(y)
    return picture


def _draw_group(
    picture: Picture,
    arrays: Sequence[dict[str, Any]],
    memory: dict[str, list[Any]],
    step: Step,
    words: str,
    y: float,
) -> float:
    """Arrays side by side as far as there is room, in a frame with a title."""
    top, x, below = y, 10.0, 0.0
    y += 22
    for array in arrays:
        columns = array["columns"] if array["columns"] < array["size"] else min(array["size"], 16)
        cell = min(40.0, (WIDTH - 20) / columns)
        width, rows = columns * cell, -(-array["size"] // columns)
        if x > 10 and x + max(width, 60) > WIDTH - 10:
            x, y, below = 10.0, y + below, 0.0
        picture.text(x, y + 8, short_name(array["name"]), anchor="start", size=12, mono=True)
        _draw_cells(picture, array, memory[array["name"]], step, (x, y + 18), cell, columns)
        x += max(width, 60) + 18
        below = max(below, rows * cell + 26)
    bottom = y + below
    picture.box(1, top, WIDTH - 2, bottom - top, line=FAINT, round=6)
    picture.text(WIDTH - 10, top + 12, words, anchor="end", size=11, color=GREY)
    return bottom + 8


def _draw_cells(
    picture: Picture,
    array: dict[str, Any],
    values: list[Any],
    step: Step,
    corner: tuple[float, float],
    cell: float,
    columns: int,
) -> None:
    met: dict[int, list[Event]] = {}
    for event in step.events:
        if step.kind != "barrier" and event["array"] == array["name"] and event["at"] is not None:
            met.setdefault(event["at"], []).append(event)
    for i, value in enumerate(values):
        x, y = corner[0] + i % columns * cell, corner[1] + i // columns * cell
        touched = met.get(i)
        fill = PAPER if not touched else WRITE if step.kind == "write" else READ
        edge = FAINT if not touched else ACCENT if step.kind == "write" else BLUE
        picture.box(x + 1, y + 1, cell - 2, cell - 2, fill, line=edge, thick=2 if touched else 1)
        words = "?" if value is None else shorten(float(value))
        color = DARK if touched else GREY if value is None else INK
        picture.text(x + cell / 2, y + cell / 2 + 2, words, size=min(13, cell * 0.36), color=color)
        if cell >= 28 and len(array["shape"]) == 1:
            picture.text(x + 4, y + 7, i, size=7.5, color=GREY, anchor="start")
        if touched and len(touched) > 1:
            many = f"×{len(touched)}"
            picture.text(x + cell - 4, y + cell - 7, many, size=8.5, color=DARK, anchor="end")


def _draw_threads(
    picture: Picture, threads: Point, states: dict[Any, tuple[str, str, str]], y: float
) -> float:
    """The threads of the block, and what each does now."""
    flat = threads[1] == threads[2] == 1
    across = min(threads[0], 8) if flat else threads[0]
    width, height = min(66.0, (WIDTH - 20) / across), 50.0
    rows = -(-threads[0] // across) if flat else threads[1]
    picture.box(1, y, WIDTH - 2, rows * height + 28, line=FAINT, round=6)
    picture.text(WIDTH - 10, y + 12, "threads of this block", anchor="end", size=11, color=GREY)
    for place in points(threads):
        column, row = (place[0] % across, place[0] // across) if flat else (place[0], place[1])
        x, top = 10 + column * width, y + 22 + row * height
        fill, first, second = states.get(place, (PAPER, "", ""))
        bad = fill == BAD
        picture.box(
            x + 1, top + 1, width - 4, height - 4, fill, line=RED if bad else FAINT,
            thick=2 if bad else 1, round=4,
        )  # fmt: skip
        dark = INK if fill == PAPER else DARK
        number = str(place[0]) if flat else f"{place[0]},{place[1]}"
        picture.text(x + width / 2 - 1, top + 11, number, size=11, bold=True, color=dark)
        faint = GREY if first in ("done", "idle") else dark
        picture.text(x + width / 2 - 1, top + 25, first, size=10, color=faint, mono=bool(second))
        picture.text(x + width / 2 - 1, top + 37, second, size=10, color=dark, mono=True)
    return y + rows * height + 30
