"""Where the boxes of a graph go: columns from left to right, few crossings, gentle curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
Edge = tuple[int, int]
"""A box and the number of its input: the arrow that comes in there."""


@dataclass(frozen=True)
class Layout:
    """A place for every box, in columns and rows, and the points that each arrow passes.

    Attributes:
        places: column and row of each box
        routes: for each arrow the places from the box it leaves to the box it enters
        columns: how many columns there are
        rows: how many rows the highest column spans
    """

    places: list[Point]
    routes: dict[Edge, list[Point]]
    columns: int
    rows: float


def place(inputs: Sequence[Sequence[int]]) -> Layout:
    """Lay out a graph, given the inputs of each box; a box comes after its inputs.

    The last box is the result: it stands at the right, and every other box as close to where it
    is used as it can. An arrow over several columns gets a place of its own in each.
    """
    column = _columns(inputs)
    chains: dict[Edge, list[int]] = {}
    stops = list(column)
    for box, sources in enumerate(inputs):
        for slot, source in enumerate(sources):
            between = range(column[source] + 1, column[box])
            chains[box, slot] = [source, *range(len(stops), len(stops) + len(between)), box]
            stops += between
    before: list[list[int]] = [[] for _ in stops]
    after: list[list[int]] = [[] for _ in stops]
    entry = [0.0] * len(stops)  # what enters a box higher up should stand higher up
    for (_, slot), chain in chains.items():
        for stop in chain[:-1]:
            entry[stop] += 0.1 * slot
        for left, right in pairwise(chain):
            before[right].append(left)
            after[left].append(right)
    layers: list[list[int]] = [[] for _ in range(max(stops) + 1)]
    for stop, at in enumerate(stops):
        layers[at].append(stop)
    _order(layers, before, after, entry)
    row = _rows(layers, before, after, len(inputs))
    spot = [(float(at), row[stop]) for stop, at in enumerate(stops)]
    routes = {edge: [spot[stop] for stop in chain] for edge, chain in chains.items()}
    return Layout(spot[: len(inputs)], routes, len(layers), max(row) + 1)


def _columns(inputs: Sequence[Sequence[int]]) -> list[int]:
    """How far to the right each box stands: one step before the first box that uses it."""
    back = [0] * len(inputs)
    for box in reversed(range(len(inputs))):
        for source in inputs[box]:
            back[source] = max(back[source], back[box] + 1)
    return [max(back) - steps for steps in back]


def _order(
    layers: list[list[int]], before: list[list[int]], after: list[list[int]], entry: list[float]
) -> None:
    """Sort each column by the mean height of its neighbours, back and forth, to undo crossings."""
    for sweep in range(6):
        near, turn = (before, layers) if sweep % 2 == 0 else (after, layers[::-1])
        height = {stop: i - len(layer) / 2 for layer in layers for i, stop in enumerate(layer)}
        for layer in turn:
            mean = {s: _mean([height[n] for n in near[s]], height[s]) + entry[s] for s in layer}
            layer.sort(key=mean.__getitem__)
            height |= {stop: i - len(layer) / 2 for i, stop in enumerate(layer)}


def _rows(
    layers: list[list[int]], before: list[list[int]], after: list[list[int]], boxes: int
) -> list[float]:
    """Heights that pull neighbours together without letting boxes touch."""
    row = [0.0] * sum(map(len, layers))
    for layer in layers:
        for i, stop in enumerate(layer):
            row[stop] = i - (len(layer) - 1) / 2
    for _ in range(12):
        for layer in layers:
            wish = [_mean([row[n] for n in before[s] + after[s]], row[s]) for s in layer]
            gaps = [1.0 if a < boxes and b < boxes else 0.7 for a, b in pairwise(layer)]
            for stop, height in zip(layer, _spread(wish, gaps), strict=True):
                row[stop] = height
    top = min(row)
    return [height - top for height in row]


def _spread(wish: list[float], gaps: list[float]) -> list[float]:
    """Heights close to those wished for, in the same order, with at least the gaps between."""
    found = wish[:1]
    for want, gap in zip(wish[1:], gaps, strict=True):
        found.append(max(want, found[-1] + gap))
    shift = (sum(wish) - sum(found)) / len(wish)
    return [height + shift for height in found]


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def curve(points: Sequence[Point], pieces: int = 10) -> list[Point]:
    """Points of a smooth line that leaves and enters every given point level."""
    found = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        for step in range(1, pieces + 1):
            t = step / pieces
            ease = t * t * (3 - 2 * t)
            found.append((x0 + (x1 - x0) * t, y0 + (y1 - y0) * ease))
    return found
