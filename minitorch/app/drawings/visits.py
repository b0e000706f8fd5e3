"""A loop over tensors as pictures: what each step reads, computes and writes, and what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, isclose
from typing import Any

from .grids import DARK, Grid, Index, grid, indices
from .picture import ACCENT, BLUE, FAINT, GREY, INK, PAPER, SHADES, Picture, shorten

Event = list[Any]
CELL, SLOT, GAP, SIDE = 48, 32, 46, 92


@dataclass
class Step:
    """What happens between two calls: reads, a call, writes, and places outside a storage."""

    reads: list[Event] = field(default_factory=list)
    calls: list[Event] = field(default_factory=list)
    writes: list[Event] = field(default_factory=list)
    outside: list[Event] = field(default_factory=list)

    def takes(self, what: str) -> bool:
        """Whether an event of this kind still belongs here."""
        if what in ("read", "outside"):
            return not (self.calls or self.writes)
        return not self.writes and (what == "write" or not self.calls)

    def add(self, event: Event) -> None:
        """Keep an event."""
        kinds = {"read": self.reads, "call": self.calls, "write": self.writes}
        kinds.get(event[0], self.outside).append(event)


def steps(events: Sequence[Event]) -> list[Step]:
    """The events in groups: each ends with a call and what is written right after it."""
    found: list[Step] = []
    for event in events:
        if not found or not found[-1].takes(event[0]):
            found.append(Step())
        found[-1].add(event)
    return found


def cells(tensor: dict[str, Any]) -> dict[int, Index]:
    """The index of each place in the storage of a tensor."""
    strides = tensor["strides"]
    return {
        sum(i * s for i, s in zip(index, strides, strict=True)): index
        for index in indices(tensor["shape"])
    }


def as_number(value: float) -> str:
    """A number for a cell."""
    return "-∞" if value == -inf else shorten(float(value))


def tell(step: Step, function: str, tensors: dict[str, Any]) -> str:
    """A step as a sentence."""
    words = [f"reads {_cell(event, tensors)} = {as_number(event[3])}" for event in step.reads]
    for _, given, result in step.calls:
        words.append(f"{function}({', '.join(map(as_number, given))}) = {as_number(result)}")
    words += [f"writes {as_number(event[3])} to {_cell(event, tensors)}" for event in step.writes]
    words += [
        f"looks at position {event[2]} of {event[1]}, which has none" for event in step.outside
    ]
    return "; ".join(words)


def _cell(event: Event, tensors: dict[str, Any]) -> str:
    name, place = event[1], event[2]
    index = cells(tensors[name]).get(place)
    return (
        f"{name}{list(index)} (position {place})"
        if index is not None
        else f"{name} position {place}"
    )


# --- Pictures -------------------------------------------------------------------------------------------


@dataclass
class Stage:
    """Where the tensors and their storages are drawn."""

    tensors: dict[str, dict[str, Any]]
    grids: dict[str, Grid]
    corners: dict[str, tuple[float, float]]
    rows: dict[str, float]
    width: float
    height: float


def set_stage(tensors: dict[str, dict[str, Any]]) -> Stage:
    """Grids side by side, their storages in rows below."""
    names = [name for name in tensors if name != "out"] + ["out"]
    grids = {name: grid(tensors[name]["shape"], CELL) for name in names}
    corners, x = {}, 6.0
    for name in names:
        corners[name] = (x, 28.0)
        x += max(grids[name].width, 90) + GAP
    below = 28 + max(each.height for each in grids.values()) + 34
    rows = {name: below + 56 * number for number, name in enumerate(names)}
    longest = max(len(tensor["storage"]) for tensor in tensors.values())
    width = max(x - GAP, SIDE + SLOT * longest) + 8
    return Stage(tensors, grids, corners, rows, width, below + 56 * len(names))


def draw(
    stage: Stage, values: dict[str, list[float]], done: set[tuple[str, int]], step: Step | None
) -> Picture:
    """One frame: what is read now in blue, what is written in red, what was written before green."""
    picture = Picture(stage.width, stage.height, "The cells that the loop visits")
    now = {
        (event[1], event[2]): ACCENT if event[0] == "write" else BLUE
        for event in [*(step.reads if step else []), *(step.writes if step else [])]
    }
    for name, each in stage.grids.items():
        x, y = stage.corners[name]
        shape = tuple(stage.tensors[name]["shape"])
        picture.text(x, 10, f"{name} {shape}", anchor="start", size=13, bold=True)
        index_at = cells(stage.tensors[name])
        place_at = {index: place for place, index in index_at.items()}

        def words(index: Index, name: str = name, place_at: dict[Index, int] = place_at) -> str:
            return as_number(values[name][place_at[index]])

        def fill(index: Index, name: str = name, place_at: dict[Index, int] = place_at) -> str:
            return _shade(name, place_at[index], done, now)

        each.draw(picture, x, y, words, fill=fill)
        for (owner, place), color in now.items():
            if owner == name and place in index_at:
                left, top = each.at(index_at[place])
                picture.box(x + left, y + top, CELL, CELL, line=color, thick=3)
        _draw_storage(picture, stage, name, values[name], done, now)
    return picture


def _shade(
    name: str, place: int, done: set[tuple[str, int]], now: dict[tuple[str, int], str]
) -> str:
    if now.get((name, place)) == ACCENT:
        return SHADES[0]
    if (name, place) in now:
        return SHADES[1]
    return SHADES[2] if name == "out" and (name, place) in done else PAPER


def _draw_storage(
    picture: Picture,
    stage: Stage,
    name: str,
    values: list[float],
    done: set[tuple[str, int]],
    now: dict[tuple[str, int], str],
) -> None:
    y = stage.rows[name]
    picture.text(6, y + SLOT / 2, f"storage of {name}", anchor="start", size=11, color=GREY)
    for place, value in enumerate(values):
        x = SIDE + place * SLOT
        shade = _shade(name, place, done, now)
        picture.box(x, y, SLOT, SLOT, shade, line=FAINT)
        text = as_number(value)
        ink = INK if shade == PAPER else DARK
        picture.text(x + SLOT / 2, y + SLOT / 2, text, size=min(13, 46 / len(text)), color=ink)
        picture.text(x + SLOT / 2, y + SLOT + 7, place, size=9, color=GREY)
    for (owner, place), color in now.items():
        if owner == name:
            picture.box(SIDE + place * SLOT, y, SLOT, SLOT, line=color, thick=2.5)


def frames(
    answer: dict[str, Any], function: str, most: int = 150
) -> tuple[list[Picture], list[str]]:
    """The pictures of a whole loop with their captions, from before it to its end."""
    tensors = answer["tensors"]
    stage = set_stage(tensors)
    values = {name: list(tensor["storage"]) for name, tensor in tensors.items()}
    done: set[tuple[str, int]] = set()
    pictures = [draw(stage, values, done, None)]
    captions = ["Before the loop: nothing is read or written yet."]
    for number, step in enumerate(steps(answer["events"])[:most], 1):
        for _, name, place, value in step.writes:
            values[name][place] = value
        pictures.append(draw(stage, values, done, step))
        captions.append(f"Step {number} {tell(step, function, tensors)}.")
        done |= {(name, place) for _, name, place, _ in step.writes}
    return pictures, captions


def draw_order(answer: dict[str, Any]) -> Picture:
    """In which step each cell was visited first: inputs by reading, the result by writing."""
    stage = set_stage(answer["tensors"])
    first: dict[tuple[str, int], int] = {}
    for number, step in enumerate(steps(answer["events"]), 1):
        for event in [*(e for e in step.reads if e[1] != "out"), *step.writes]:
            first.setdefault((event[1], event[2]), number)
    picture = Picture(
        max(x + max(stage.grids[name].width, 130) for name, (x, _) in stage.corners.items()) + 10,
        28 + max(each.height for each in stage.grids.values()) + 6,
        "The order of the visits",
    )
    for name, each in stage.grids.items():
        x, y = stage.corners[name]
        title = "out, written in step" if name == "out" else f"{name}, read in step"
        picture.text(x, 10, title, anchor="start", size=12, bold=True)
        place_at = {index: place for place, index in cells(answer["tensors"][name]).items()}
        order = {index: first.get((name, place), "never") for index, place in place_at.items()}
        shade = SHADES[2] if name == "out" else SHADES[1]
        each.draw(
            picture, x, y, order.__getitem__,
            fill=lambda index, order=order, shade=shade: PAPER if order[index] == "never" else shade,
        )  # fmt: skip
    return picture


# --- What is wrong ----------------------------------------------------------------------------------------


def faults(answer: dict[str, Any]) -> list[str]:
    """What the loop did that it should not, in words."""
    if not answer["events"]:
        return ["The loop touched no cell one by one: there is no order to show."]
    found = []
    outside = [event for event in answer["events"] if event[0] == "outside"]
    if outside:
        _, name, place, size = outside[0]
        found.append(
            f"The loop looks at position {place} of {name}, whose places run from 0 to {size - 1}."
        )
    elif answer["stopped"]:
        found.append(f"The loop stopped: {answer['stopped']}.")
    writes = [event[2] for event in answer["events"] if event[0] == "write" and event[1] == "out"]
    index_at = cells(answer["tensors"]["out"])
    never = [index for place, index in index_at.items() if place not in writes]
    if never:
        found.append(
            f"{len(never)} of {len(index_at)} cells of out were never written, such as {never[0]}."
        )
    wrong = [
        place
        for place, (got, want) in enumerate(zip(answer["out"], answer["expected"], strict=True))
        if not isclose(got, want, rel_tol=1e-9)
    ]
    if wrong:
        got, want = answer["out"][wrong[0]], answer["expected"][wrong[0]]
        found.append(
            f"{len(wrong)} of {len(index_at)} results are wrong: out{list(index_at[wrong[0]])} is "
            f"{as_number(got)}, and should be {as_number(want)}."
        )
    return found
