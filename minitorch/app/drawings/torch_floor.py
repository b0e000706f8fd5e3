"""Pictures of the Torch floor: a graph with shapes, a timeline, attention weights, histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .picture import BLUE, FAINT, GREY, INK, SHADES, Picture, shorten

Rows = Sequence[dict[str, Any]]
Array = npt.NDArray[np.float64]


# --- A graph -------------------------------------------------------------------------------------


def as_dot(nodes: Rows, arrows: Rows) -> str:
    """A graph in the language of Graphviz: values flow down, each arrow carries a shape."""
    lines = [
        "digraph {",
        'node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11, color=gray]',
        'edge [fontname="sans-serif", fontsize=10, color=gray40]',
    ]
    for number, node in enumerate(nodes):
        label = node["label"].removesuffix("Backward0")
        if node["kind"] == "parameter":
            label += f"\\n{shape_words(node['shape'])}"
            label += f": {node['numbers']} numbers" if node["numbers"] > 1 else ""
        fill = {"parameter": SHADES[1], "operation": SHADES[0]}.get(node["kind"], SHADES[5])
        lines.append(f'{number} [label="{_quoted(label)}", fillcolor="{fill}"]')
    for arrow in arrows:
        words = "" if arrow["shape"] is None else shape_words(arrow["shape"])
        lines.append(f'{arrow["from"]} -> {arrow["to"]} [label=" {words}"]')
    return "\n".join([*lines, "}"])


def steps_as_dot(steps: Rows) -> str:
    """The steps of a compiled function as a graph: each box has its time, each arrow a shape."""
    nodes = [
        {"label": f"{step['name']}\\n{time_words(step['time'])}", "kind": "data" if step["time"] < IDLE else "operation"}
        for step in steps
    ]  # fmt: skip
    arrows = [
        {"from": source, "to": k, "shape": shape}
        for k, step in enumerate(steps)
        for source, shape in step["reads"]
    ]
    return as_dot(nodes, arrows)


IDLE = 0.5
"""Microseconds under which a step only gives memory another name."""


def _quoted(text: str) -> str:
    return text.replace('"', "'")


def shape_words(shape: Sequence[int]) -> str:
    """A shape as Python writes it; that of a single number in a word.

    >>> shape_words([2, 3]), shape_words([])
    ('(2, 3)', 'one number')
    """
    return str(tuple(shape)) if shape else "one number"


# --- Time ----------------------------------------------------------------------------------------

PHASES = {"forward": SHADES[1], "backward": SHADES[0], "optimizer": SHADES[2]}


def draw_timeline(events: Rows, width: int = 1100) -> Picture:
    """What happens when: time goes to the right, what is within something stands below it."""
    end = max(event["start"] + event["time"] for event in events)
    deep = max(event["depth"] for event in events) + 1
    picture = Picture(width, 34 * deep + 46, "What happens when in one training step")
    scale = (width - 20) / end
    phase = SHADES[5]
    for event in events:
        if event["depth"] == 0:
            phase = PHASES.get(event["name"], SHADES[5])
        x, y = 10 + scale * event["start"], 8 + 34 * event["depth"]
        wide = max(scale * event["time"], 0.8)
        shapes = " × ".join(shape_words(s) for s in event["shapes"] if s)
        tip = f"{event['name']}: {time_words(event['time'])}" + (f", on {shapes}" if shapes else "")
        picture.box(x, y, wide, 28, phase, line=FAINT if wide > 3 else "none", tip=tip)
        name = event["name"].removeprefix("aten::")
        if wide > 7.5 * len(name) + 8:
            picture.text(x + wide / 2, y + 14, name, size=12, color="#1f2937")
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = 10 + share * (width - 20)
        anchor = "start" if share == 0 else "end" if share == 1 else "middle"
        picture.text(x, picture.height - 12, time_words(share * end), size=11, anchor=anchor)
        picture.line([(x, 4), (x, picture.height - 22)], color=FAINT, thick=0.7, dash="2 4")
    return picture


def time_words(microseconds: float) -> str:
    """A time with its unit.

    >>> time_words(12.3), time_words(4567.0)
    ('12.3 µs', '4.57 ms')
    """
    if microseconds < 1000:
        return f"{microseconds:.3g} µs"
    return f"{microseconds / 1000:.3g} ms"


def sum_by_name(events: Rows) -> list[dict[str, Any]]:
    """How often each kind of event happened and its own time, the longest first."""
    found: dict[str, list[float]] = {}
    for event in events:
        found.setdefault(event["name"], []).append(event["own"])
    total = sum(sum(times) for times in found.values()) or 1.0
    rows = [
        {"name": name, "calls": len(times), "own time": time_words(sum(times)), "share": sum(times) / total}
        for name, times in found.items()
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -row["share"])


# --- Attention -----------------------------------------------------------------------------------


def draw_attention(text: str, weights: Sequence[Sequence[float]], cell: int = 20) -> Picture:
    """Weights[to][from] of one head: each row is a character that looks, each column one looked at."""
    size, left = len(text), 34
    picture = Picture(left + cell * size + 8, left + cell * size + 8, "Attention weights")
    shown = [c if c.strip() else "␣" for c in text]
    share = np.asarray(weights, float)[..., None]
    white, blue = np.array([255, 255, 255]), np.array([37, 99, 235])
    pixels = (white + (blue - white) * share).astype(np.uint8)
    picture.image(left, left, cell * size, cell * size, pixels)
    for place, character in enumerate(shown):
        middle = left + (place + 0.5) * cell
        picture.text(middle, left - 10, character, size=13, mono=True)
        picture.text(left - 10, middle, character, size=13, mono=True)
        for source in range(place + 1):
            tip = f"{character} ({place + 1}) looks at {shown[source]} ({source + 1}): {share[place][source][0]:.2f}"
            picture.box(
                left + source * cell, left + place * cell, cell, cell, "transparent", line="none",
                tip=tip,
            )  # fmt: skip
    picture.box(left, left, cell * size, cell * size, line=FAINT)
    return picture


# --- Histograms ----------------------------------------------------------------------------------

ROWS = 60


def over_steps(histograms: Sequence[Mapping[str, Any]]) -> tuple[Array, float, float]:
    """Histograms side by side on one axis: array[row][step] of shares, the lowest numbers first."""
    low, high = min(h["low"] for h in histograms), max(h["high"] for h in histograms)
    found = np.zeros((ROWS, len(histograms)))
    for step, h in enumerate(histograms):
        counts = np.array(h["counts"], float)
        middles = h["low"] + (np.arange(len(counts)) + 0.5) * (h["high"] - h["low"]) / len(counts)
        rows = ((middles - low) / ((high - low) or 1.0) * ROWS).astype(int).clip(0, ROWS - 1)
        np.add.at(found[:, step], rows, counts / (counts.max() or 1.0))
    return found.clip(0, 1), low, high


def draw_over_steps(
    histograms: Sequence[Mapping[str, Any]], title: str, last: int, width: int = 460
) -> Picture:
    """How the numbers of a parameter spread as training goes on: dark is where most are."""
    height, left = 220, 62
    shares, low, high = over_steps(histograms)
    picture = Picture(width, height + 44, title)
    picture.text(left, 10, title, anchor="start", bold=True, size=13)
    white, blue = np.array([255, 255, 255]), np.array([37, 99, 235])
    pixels = (white + (blue - white) * shares[::-1, :, None] ** 0.5).astype(np.uint8)
    picture.image(left, 22, width - left - 8, height, pixels)
    picture.box(left, 22, width - left - 8, height, line=FAINT)
    for share, value in ((0.0, high), (0.5, (low + high) / 2), (1.0, low)):
        picture.text(left - 6, 22 + share * height, shorten(value), size=11, anchor="end")
    picture.text(left, height + 34, "step 1", size=11, anchor="start")
    picture.text(width - 8, height + 34, f"step {last}", size=11, anchor="end")
    return picture


def draw_histogram(found: Mapping[str, Any], title: str, width: int = 460) -> Picture:
    """One histogram as bars, with the mean and the spread in words."""
    height, left = 130, 62
    picture = Picture(width, height + 60, title)
    most, wide = max(found["counts"]) or 1, (width - left - 8) / len(found["counts"])
    for place, count in enumerate(found["counts"]):
        tall = height * count / most
        picture.box(
            left + place * wide, 8 + height - tall, max(wide - 1, 1), tall, BLUE, line="none"
        )
    picture.line([(left, 8 + height), (width - 8, 8 + height)], color=INK, thick=1)
    picture.text(left, height + 22, shorten(found["low"]), size=11, anchor="start")
    picture.text(width - 8, height + 22, shorten(found["high"]), size=11, anchor="end")
    words = "no finite number"
    if found["mean"] is not None:
        words = f"mean {shorten(found['mean'])}, spread {shorten(found['spread'])}"
    if found["wild"]:
        words += f"; {found['wild']} are infinite or no number"
    picture.text(left, height + 44, words, size=12, anchor="start", color=GREY)
    return picture
