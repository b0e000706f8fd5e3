"""Tensors as grids of cells: a row, a matrix, or slices side by side, from 0 to 4 dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from ...syntax import literal
from .picture import ACCENT, FAINT, GREY, INK, PAPER, Picture, shorten

Index = tuple[int, ...]
DARK = "#1f2937"
"""Ink on the light shades, in either theme."""


class ShapeError(ValueError):
    """What was typed is no shape or index; the text says what is allowed."""


def read_numbers(text: str, what: str = "a shape") -> Index:
    """Whole numbers as a user types them: `(2, 3)`, `2, 3` or `4`.

    >>> read_numbers("2, 3"), read_numbers("(4,)"), read_numbers("5")
    ((2, 3), (4,), (5,))
    """
    problem = ShapeError(f"`{text}` is not {what}: write whole numbers, such as 2, 3")
    try:
        value = literal(text.strip()[:100] or "()")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise problem from None
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not all(type(number) is int for number in numbers):
        raise problem
    return numbers


def read_list(text: str, most: int = 64) -> list[float]:
    """Numbers with commas between them, or ShapeError.

    >>> read_list("1, 2.5, -3")
    [1.0, 2.5, -3.0]
    """
    try:
        numbers = [float(part) for part in text.strip(" []()").split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= most or not all(math.isfinite(n) for n in numbers):
        raise ShapeError(f"Please give 1 to {most} numbers with commas between them: 3, 1, 4")
    return numbers


def read_shape(text: str, most: int = 64, dims: int = 4) -> Index:
    """A shape small enough to be drawn, or ShapeError."""
    shape = read_numbers(text)
    if not 1 <= len(shape) <= dims:
        raise ShapeError(f"{shape} has {len(shape)} dimensions: 1 to {dims} can be drawn here")
    if any(size < 1 for size in shape):
        raise ShapeError(f"{shape} has a size below 1: every dimension needs at least one cell")
    if prod(shape) > most:
        raise ShapeError(f"{shape} has {prod(shape)} cells: up to {most} can be drawn here")
    return shape


def indices(shape: Sequence[int]) -> Iterator[Index]:
    """Every index of a shape, the last dimension counting fastest."""
    return itertools.product(*map(range, shape))


@dataclass(frozen=True)
class Grid:
    """Where the cells of a shape are drawn, from the upper left corner of the whole."""

    shape: Index
    size: float
    width: float
    height: float
    head: float

    def at(self, index: Index) -> tuple[float, float]:
        """The upper left corner of a cell."""
        *outer, row, column = (0,) * (4 - len(index)) + index
        _, _, rows, columns = (1,) * (4 - len(self.shape)) + self.shape
        x = outer[1] * (columns * self.size + _GAP) + column * self.size
        y = outer[0] * (rows * self.size + _GAP + self.head) + self.head + row * self.size
        return x, y

    def draw(
        self,
        picture: Picture,
        x: float,
        y: float,
        words: Callable[[Index], object],
        *,
        fill: Callable[[Index], str] = lambda index: PAPER,
        id: Callable[[Index], str | None] = lambda index: None,
        lit: Sequence[Index] | set[Index] = (),
        light: str = ACCENT,
    ) -> None:
        """Draw the cells into a picture, with a head over each slice."""
        for index in indices(self.shape):
            left, top = self.at(index)
            shade, text = fill(index), shorten(words(index))
            picture.box(
                x + left, y + top, self.size, self.size, shade, line=FAINT, id=id(index),
                tip=f"index {index}: {text}",
            )  # fmt: skip
            picture.text(
                x + left + self.size / 2, y + top + self.size / 2, text,
                size=self.size * min(0.36, 1.7 / max(len(text), 1)),
                color=INK if shade in (PAPER, "none") else DARK,
            )  # fmt: skip
        for index in lit:
            left, top = self.at(index)
            picture.box(x + left, y + top, self.size, self.size, line=light, thick=3)
        if self.head:
            for outer in indices(self.shape[:-2]):
                left, top = self.at((*outer, 0, 0))
                name = ", ".join([*map(str, outer), ":", ":"])
                picture.text(
                    x + left, y + top - 9, f"[{name}]", size=11, color=GREY, anchor="start"
                )


_GAP = 18


def grid(shape: Sequence[int], size: float = 40) -> Grid:
    """The cells of a shape: dimension -3 goes to the right as slices, dimension -4 down."""
    down, right, rows, columns = (1,) * (4 - len(shape)) + tuple(shape)
    head = 18.0 if len(shape) > 2 else 0.0
    return Grid(
        tuple(shape),
        size,
        right * (columns * size + _GAP) - _GAP,
        down * (rows * size + head + _GAP) - _GAP,
        head,
    )


DEEP = (0.42, -0.34)
"""How far one slice of a cube lies behind the one before, in cells to the right and down."""


def cube_size(shape: Sequence[int], size: float) -> tuple[float, float]:
    """Width and height of a cube of cells."""
    slices, rows, columns = shape
    return (columns + slices * DEEP[0]) * size, (rows - slices * DEEP[1]) * size


def draw_cube(
    picture: Picture,
    x: float,
    y: float,
    shape: Sequence[int],
    size: float,
    words: Callable[[Index], object],
    *,
    fill: Callable[[Index], str],
    id: Callable[[Index], str | None],
    lit: Sequence[Index] = (),
) -> None:
    """Three dimensions as a cube: the first slice in front, the others behind; three faces seen."""
    slices, rows, columns = shape
    across, down = DEEP[0] * size, DEEP[1] * size
    y -= slices * down

    def corner(depth: float, row: float, column: float) -> tuple[float, float]:
        return x + column * size + depth * across, y + row * size + depth * down

    def face(index: Index, corners: Sequence[tuple[float, float]]) -> None:
        path = "M" + " L".join(f"{a:.1f} {b:.1f}" for a, b in corners) + " Z"
        tip = f"<title>index {index}: {shorten(words(index))}</title>"
        picture.add("path", tip, d=path, fill=fill(index), stroke=FAINT, data_id=id(index))
        across_to, down_to = (sum(values) / 4 for values in zip(*corners, strict=True))
        flat = abs(corners[0][1] - corners[2][1]) < size * 0.9
        scale = 0.24 if flat or corners[0][0] != corners[3][0] else 0.34
        picture.text(across_to, down_to, shorten(words(index)), size=size * scale, color=DARK)

    def quad(k: int, r: int, c: int, offsets: Sequence[Index]) -> list[tuple[float, float]]:
        return [corner(k + d, r + a, c + b) for d, a, b in offsets]

    for k in reversed(range(slices)):
        for c in range(columns):
            face((k, 0, c), quad(k, 0, c, _TOP))
        for r in range(rows):
            face((k, r, columns - 1), quad(k, r, columns, _SIDE))
    for r in range(rows):
        for c in range(columns):
            face((0, r, c), quad(0, r, c, _FRONT))
    for k, r, c in lit:
        near = [corner(k, r + a, c + b) for a, b in _AROUND]
        face((k, r, c), near[:-1])  # laid open: behind the front, another cell would seem boxed
        far = [corner(k + 1, r + a, c + b) for a, b in _AROUND]
        for edge in (near, far, *zip(near, far, strict=True)):
            picture.line(edge, color=ACCENT, thick=2.5)


_AROUND = ((0, 0), (0, 1), (1, 1), (1, 0), (0, 0))
_TOP = ((0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 0))
_SIDE = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0))
_FRONT = ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0))
