"""Tensors as grids of cells: a row, a matrix, or slices side by side, from 0 to 4 dimensions."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from .drawing import ACCENT, FAINT, GREY, INK, PAPER, Picture, shorten

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
        value = ast.literal_eval(text.strip()[:100] or "()")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise problem from None
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not all(type(number) is int for number in numbers):
        raise problem
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
            shade = fill(index)
            picture.box(
                x + left, y + top, self.size, self.size, shade, line=FAINT, id=id(index),
                tip=f"index {index}",
            )  # fmt: skip
            text = shorten(words(index))
            picture.text(
                x + left + self.size / 2, y + top + self.size / 2, text,
                size=self.size * (0.36 if len(text) < 5 else 0.26),
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
