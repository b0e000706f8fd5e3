"""Drawings of pooling: an image cut into tiles by view and permute, and what each tile becomes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .picture import ACCENT, FAINT, INK, SHADES, Picture, shorten

SIZE, SMALL, ACROSS = 38, 25, 16
DARK = "#1f2937"
Array = npt.NDArray[np.float64]
Place = tuple[int, int]

STEPS = (
    ("the image", "One row after the other in storage."),
    ("view", "Each dimension is cut in two. Nothing moves: only shape and strides are new."),
    ("permute", "The two window dimensions go to the end. Still nothing moves: the strides do."),
    ("contiguous", "Now the storage is written anew, tile after tile."),
    ("view", "The two window dimensions become one: every tile is a row."),
)


def shade(tile: Place, columns: int) -> str:
    """The colour of a tile; neighbours differ."""
    return SHADES[(tile[0] * (columns + (columns % 2 == 0)) + tile[1]) % len(SHADES)]


def elements(step: dict[str, Any], kernel: Place) -> list[tuple[tuple[int, ...], Place, int]]:
    """Index, tile and position in storage of each element at a step."""
    found = []
    for index in np.ndindex(*step["shape"]):
        position = sum(i * s for i, s in zip(index, step["strides"], strict=True))
        if len(index) == 2:
            tile = (index[0] // kernel[0], index[1] // kernel[1])
        elif len(index) == 4 and step["cut"]:
            tile = (index[0], index[2])
        else:
            tile = (index[0], index[1])
        found.append((index, tile, position))
    return found


def corner(index: tuple[int, ...], step: dict[str, Any], kernel: Place) -> tuple[float, float]:
    """Where an element is drawn."""
    kh, kw = kernel
    if len(index) == 2:
        return index[1] * SIZE, index[0] * SIZE
    if len(index) == 3:
        return 56 + index[2] * SIZE, (index[0] * step["shape"][1] + index[1]) * (SIZE + 6)
    i, k, j, m = index if step["cut"] else (index[0], index[2], index[1], index[3])
    gap = 6 if step["cut"] else 16
    return (j * kw + m) * SIZE + j * gap, (i * kh + k) * SIZE + i * gap


def draw_step(number: int, step: dict[str, Any], kernel: Place, height: float) -> Picture:
    """One step: the elements by their indices above, the storage below."""
    step = step | {"cut": number == 1}
    shape, strides = (f"({', '.join(map(str, step[key]))})" for key in ("shape", "strides"))
    picture = Picture(ACROSS * SMALL + 4, height, STEPS[number][0])
    picture.text(2, 12, f"shape {shape}, strides {strides}", anchor="start", bold=True)
    columns = (
        step["shape"][1] // kernel[1] if number == 0 else step["shape"][2 if number == 1 else 1]
    )
    top = 30
    bottom, colours, labelled = 0.0, {}, set()
    for index, tile, position in elements(step, kernel):
        x, y = corner(index, step, kernel)
        colours[position] = shade(tile, columns)
        picture.box(2 + x, top + y, SIZE, SIZE, colours[position], line=FAINT)
        value = shorten(float(step["storage"][position]))
        picture.text(2 + x + SIZE / 2, top + y + SIZE / 2, value, size=13, color=DARK)
        if len(index) == 3 and tile not in labelled:
            labelled.add(tile)
            picture.text(50, top + y + SIZE / 2, tile, size=13, anchor="end")
        bottom = max(bottom, top + y + SIZE)
    picture.text(2, bottom + 22, "storage", anchor="start", size=13)
    for position, value in enumerate(step["storage"]):
        row, column = divmod(position, ACROSS)
        x, y = 2 + column * SMALL, bottom + 36 + row * SMALL
        picture.box(x, y, SMALL, SMALL, colours.get(position, "#ffffff"), line=FAINT)
        picture.text(x + SMALL / 2, y + SMALL / 2, shorten(float(value)), size=11, color=DARK)
    return picture


def draw_steps(steps: list[dict[str, Any]], kernel: Place) -> list[Picture]:
    """All steps, as pictures of one height."""
    size = len(steps[0]["storage"])
    tiles = size // (kernel[0] * kernel[1])
    grid = steps[0]["shape"][0] * SIZE + (steps[0]["shape"][0] // kernel[0]) * 16
    tallest = max(grid, tiles * (SIZE + 6))
    height = 30 + tallest + 44 + -(-size // ACROSS) * SMALL
    return [draw_step(number, step, kernel, height) for number, step in enumerate(steps)]


def draw_image(image: Array, kernel: Place, chosen: Place, *, plain: bool = False) -> Picture:
    """An image with its tiles coloured and one of them lit; `plain`: numbers of a gradient."""
    height, width = image.shape
    picture = Picture(width * SIZE + 4, height * SIZE + 4, "The image in tiles")
    for row, column in np.ndindex(height, width):
        tile = (row // kernel[0], column // kernel[1])
        value = float(image[row, column])
        fill = "#ffffff" if plain and not value else shade(tile, width // kernel[1])
        picture.box(2 + column * SIZE, 2 + row * SIZE, SIZE, SIZE, fill, line=FAINT)
        at = (2 + (column + 0.5) * SIZE, 2 + (row + 0.5) * SIZE)
        picture.text(*at, shorten(value), size=13, color=DARK)
    picture.box(2, 2, width * SIZE, height * SIZE, line=INK, thick=1.5)
    _light(picture, chosen, kernel)
    return picture


def draw_pooled(pooled: Array, chosen: Place, mark: object = "") -> Picture:
    """What each tile became; each cell can be clicked, and its id is `row,column@mark`."""
    height, width = pooled.shape
    picture = Picture(width * SIZE + 4, height * SIZE + 4, "What the tiles became")
    for row, column in np.ndindex(height, width):
        picture.box(
            2 + column * SIZE, 2 + row * SIZE, SIZE, SIZE, shade((row, column), width),
            line=FAINT, id=f"{row},{column}@{mark}",
            tip=f"row {row}, column {column}: {shorten(float(pooled[row, column]))}",
        )  # fmt: skip
        at = (2 + (column + 0.5) * SIZE, 2 + (row + 0.5) * SIZE)
        picture.text(*at, shorten(float(pooled[row, column])), size=13, color=DARK)
    picture.box(2, 2, width * SIZE, height * SIZE, line=INK, thick=1.5)
    _light(picture, chosen, (1, 1))
    return picture


def _light(picture: Picture, tile: Place, kernel: Place) -> None:
    x, y = 2 + tile[1] * kernel[1] * SIZE, 2 + tile[0] * kernel[0] * SIZE
    picture.box(x, y, kernel[1] * SIZE, kernel[0] * SIZE, line=ACCENT, thick=3)


def spell(numbers: list[float], kind: str) -> str:
    """How a tile becomes one number: `(1 + 2) / 2 = 1.5` or `max(1, 2) = 2`."""
    words = [shorten(number) for number in numbers]
    if kind == "max":
        return f"max({', '.join(words)}) = {shorten(max(numbers))}"
    return f"({' + '.join(words)}) / {len(words)} = {shorten(sum(numbers) / len(words))}"
