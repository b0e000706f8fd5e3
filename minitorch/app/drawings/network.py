"""A network as a drawing: each unit a small picture of what it gives over the unit square."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..inside.units import Array, dead_units, outputs
from .picture import BLUE, FAINT, GREY, INK, RED, Picture, surface, two_colours

WIDTH, UNIT, ROW, TOP = 560, 38, 46, 34
CELLS = 14
MOST = 10
"""Units of a layer that are drawn."""


def grid(cells: int) -> Array:
    """The middles of cells x cells squares of the unit square, row by row from the bottom."""
    middles = (np.arange(cells) + 0.5) / cells
    return np.stack(np.meshgrid(middles, middles), axis=-1).reshape(-1, 2)


# --- Names of what can be clicked --------------------------------------------------------------


def read_id(id: str | None) -> tuple[int, list[int]] | None:
    """Where a clicked shape's number is: which array, and the place in it.

    A line is `w-LAYER-FROM-TO`, a unit `u-LAYER-UNIT`, counted from 0; the unit's number is its
    bias.

    >>> read_id("w-1-0-3"), read_id("u-1-3"), read_id("elsewhere")
    ((2, [0, 3]), (1, [3]), None)
    """
    kind, *numbers = (id or "").split("-")
    if kind == "w":
        layer, start, end = map(int, numbers)
        return 2 * layer - 2, [start, end]
    if kind == "u" and numbers[0] != "0":
        layer, unit = map(int, numbers)
        return 2 * layer - 1, [unit]
    return None


def describe_id(id: str, layers: int) -> str:
    """A clicked shape in words."""
    kind, *numbers = id.split("-")
    layer, *rest = map(int, numbers)
    if kind == "w":
        return f"weight from {unit_name(layer - 1, rest[0], layers)} to {unit_name(layer, rest[1], layers)}"
    return f"bias of {unit_name(layer, rest[0], layers)}"


def unit_name(layer: int, unit: int, layers: int) -> str:
    """A unit in words; `layers` counts the hidden ones and the output."""
    if layer == 0:
        return f"x{unit + 1}"
    return "the output" if layer == layers else f"unit {unit + 1} of layer {layer}"


# --- The drawing -----------------------------------------------------------------------------


def draw_network(
    arrays: Sequence[Array], X: npt.ArrayLike, chosen: str | None = None, activation: str = "relu"
) -> Picture:
    """The whole network; weights are lines, blue above 0 and red below, wide when large."""
    maps = outputs(arrays, grid(CELLS), activation)
    sizes = [values.shape[1] for values in maps]
    height = TOP + ROW * max(min(size, MOST) for size in sizes) + 22
    picture = Picture(WIDTH, height, "The network")
    places = [_places(number, sizes, height) for number in range(len(sizes))]
    for layer in range(1, len(sizes)):
        _draw_weights(picture, arrays[2 * layer - 2], layer, places, chosen)
    dead = [set(), *dead_units(arrays, X, activation), set()]
    for layer, values in enumerate(maps):
        _draw_head(picture, places[layer][0][0], layer, sizes)
        for unit, at in enumerate(places[layer]):
            pixels = _pixels(values[:, unit], layer == len(maps) - 1)
            name = unit_name(layer, unit, len(maps) - 1)
            _draw_unit(picture, at, pixels, f"u-{layer}-{unit}", chosen, name, unit in dead[layer])
    return picture


def _pixels(values: Array, is_output: bool) -> npt.NDArray[np.uint8]:
    """A unit's values on the grid as an image: the output from 0 to 1, others from 0 to their most."""
    most = max(float(np.max(np.abs(values))), 1e-9)
    low, high = (0.0, 1.0) if is_output or not np.isfinite(most) else (-most, most)
    rows = values.reshape(CELLS, CELLS)[::-1]
    return two_colours(rows, low, high)


def _places(layer: int, sizes: Sequence[int], height: float) -> list[tuple[float, float]]:
    """The middle of each unit that is drawn."""
    count = min(sizes[layer], MOST)
    x = 40 + layer * (WIDTH - 80) / (len(sizes) - 1)
    start = TOP + (height - TOP - 22 - ROW * count) / 2 + ROW / 2
    return [(x, start + ROW * unit) for unit in range(count)]


def _draw_head(picture: Picture, x: float, layer: int, sizes: Sequence[int]) -> None:
    last = layer == len(sizes) - 1
    words = "inputs" if layer == 0 else "output" if last else f"layer {layer}"
    picture.text(x, 12, words, size=13, bold=True)
    if sizes[layer] > MOST:
        picture.text(x, picture.height - 10, f"and {sizes[layer] - MOST} more", size=12)


def _draw_weights(
    picture: Picture,
    weights: Array,
    layer: int,
    places: Sequence[Sequence[tuple[float, float]]],
    chosen: str | None,
) -> None:
    most = float(np.nanmax(np.abs(weights))) or 1.0
    for i, (x1, y1) in enumerate(places[layer - 1]):
        for j, (x2, y2) in enumerate(places[layer]):
            value, id = float(weights[i, j]), f"w-{layer}-{i}-{j}"
            bend = (x2 - x1) / 2
            path = (
                f"M{x1 + UNIT / 2:.0f} {y1:.0f} C{x1 + bend:.0f} {y1:.0f} "
                f"{x2 - bend:.0f} {y2:.0f} {x2 - UNIT / 2:.0f} {y2:.0f}"
            )
            share = min(abs(value) / most, 1.0) if value == value else 0.0
            lit = id == chosen
            picture.add(
                "path", d=path, fill="none", stroke=BLUE if value > 0 else RED,
                stroke_width=round(0.6 + 5 * share + 2 * lit, 2),
                stroke_opacity=1 if lit else round(0.25 + 0.55 * share, 2),
            )  # fmt: skip
            tip = f"<title>{describe_id(id, len(places) - 1)}: {value:.3f}</title>"
            picture.add(
                "path", tip, d=path, fill="none", stroke="transparent", stroke_width=9, data_id=id
            )


def _draw_unit(
    picture: Picture,
    at: tuple[float, float],
    pixels: npt.NDArray[np.uint8],
    id: str,
    chosen: str | None,
    name: str,
    dead: bool,
) -> None:
    x, y = at[0] - UNIT / 2, at[1] - UNIT / 2
    picture.image(x, y, UNIT, UNIT, pixels, smooth=True)
    line, thick = (INK, 3) if id == chosen else (GREY if dead else FAINT, 1.5)
    tip = f"{name} gives 0 for every point: dead" if dead else f"{name}: click to enlarge"
    picture.box(
        x, y, UNIT, UNIT, "transparent", line=line, thick=thick, round=4, id=id, tip=tip,
        dash="3 3" if dead else None,
    )  # fmt: skip
    if dead:
        picture.text(*at, "0", size=15, color=GREY, bold=True)


def draw_surface(
    arrays: Sequence[Array],
    points: dict[str, Any],
    unit: tuple[int, int] | None = None,
    activation: str = "relu",
    size: int = 360,
) -> Picture:
    """What the network, or one of its units, says of the unit square, with the points on it.

    Points to train on are discs (label 1) and rings (label 0), those to test on small squares.
    """
    cells = 50
    layer, number = unit or (len(arrays) // 2, 0)
    values = outputs(arrays, grid(cells), activation)[layer][:, number].reshape(cells, cells)
    if layer < len(arrays) // 2:
        most = max(float(np.nanmax(np.abs(values))), 1e-9)
        values = 0.5 + values / (2 * most)
    train, test = points["train"], points["test"]
    picture = surface(train["X"], train["y"], values, size=size)
    for (x, y), label in zip(test["X"], test["y"], strict=True):
        left, top = x * (size - 8), (1 - y) * (size - 8)
        if label:
            picture.box(left, top, 8, 8, BLUE, line="#ffffff")
        else:
            picture.box(left + 0.5, top + 0.5, 7, 7, "#ffffff", line=RED, thick=2)
    return picture


def standing_alone(pictures: Sequence[Picture], title: str) -> str:
    """Pictures below each other as one SVG file with colours of its own, on white."""
    width = max(picture.width for picture in pictures)
    whole = Picture(width + 40, sum(picture.height + 20 for picture in pictures) + 20, title)
    whole.box(0, 0, whole.width, whole.height, "#ffffff", line="none")
    top = 20.0
    for picture in pictures:
        left = 20 + (width - picture.width) / 2
        whole.add("g", "".join(picture.parts), transform=f"translate({left} {top})")
        top += picture.height + 20
    return re.sub(r"var\([^,()]+, ?([^()]+)\)", r"\1", str(whole))
