"""Drawings of a network that reads digits: what it confuses, what it sees, how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .picture import ACCENT, FAINT, GREY, INK, Picture, greys, two_colours

DARK = "#1f2937"
CELL, THUMB = 36, 76
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Reading:
    """A validation image and what the network takes it for."""

    number: int
    label: int
    predicted: int
    sure: float

    @property
    def right(self) -> bool:
        """Whether it is what the network takes it for."""
        return self.label == self.predicted


def count_pairs(readings: Sequence[Reading]) -> Array:
    """How often each digit (row) was taken for each digit (column)."""
    counts = np.zeros((10, 10), int)
    for reading in readings:
        counts[reading.label, reading.predicted] += 1
    return counts


def draw_confusion(counts: Array, chosen: tuple[int, int] | None, mark: object = "") -> Picture:
    """The confusion matrix; each cell that is not 0 can be clicked: `row,column@mark`."""
    left, top = 54, 40
    picture = Picture(left + 10 * CELL + 4, top + 10 * CELL + 4, "The confusion matrix")
    picture.text(left + 5 * CELL, 10, "taken for", size=13)
    picture.text(10, top + 5 * CELL, "is", size=13)
    most = max(int((counts * (1 - np.eye(10, dtype=int))).max()), 1)
    for digit in range(10):
        picture.text(left + (digit + 0.5) * CELL, top - 11, digit, bold=True)
        picture.text(left - 14, top + (digit + 0.5) * CELL, digit, bold=True)
    for row, column in np.ndindex(10, 10):
        count = int(counts[row, column])
        x, y = left + column * CELL, top + row * CELL
        id = f"{row},{column}@{mark}" if count else None
        picture.box(
            x, y, CELL, CELL, _shade(count, most, row == column), line=FAINT, id=id,
            tip=f"{row} taken for {column}: {count}",
        )  # fmt: skip
        if count:
            picture.text(x + CELL / 2, y + CELL / 2, count, size=14, color=DARK)
    if chosen is not None:
        row, column = chosen
        picture.box(
            left + column * CELL, top + row * CELL, CELL, CELL, line=ACCENT, thick=3
        )  # fmt: skip
    return picture


def _shade(count: int, most: int, right: bool) -> str:
    if not count:
        return "#ffffff"
    if right:
        return "#bbf7d0"
    share = 0.25 + 0.75 * min(count / most, 1)
    white, orange = np.array([255, 255, 255]), np.array([251, 146, 60])
    red, green, blue = (white + (orange - white) * share).astype(int)
    return f"#{red:02x}{green:02x}{blue:02x}"


def draw_gallery(images: Array, readings: Sequence[Reading], mark: object = "") -> Picture:
    """Images with what they are and what they were taken for; each can be clicked: `number@mark`."""
    across = 6
    rows = -(-len(readings) // across)
    picture = Picture(
        across * (THUMB + 10), rows * (THUMB + 46) + 4, "Images of the validation set"
    )
    for place, reading in enumerate(readings):
        row, column = divmod(place, across)
        x, y = column * (THUMB + 10) + 3, row * (THUMB + 46) + 3
        picture.image(x, y, THUMB, THUMB, greys(images[reading.number]))
        picture.box(
            x, y, THUMB, THUMB, "transparent", line=FAINT, id=f"{reading.number}@{mark}",
            tip=f"validation image {reading.number}: {reading.label} taken for {reading.predicted}",
        )  # fmt: skip
        middle = x + THUMB / 2
        words = f"{reading.label} as {reading.predicted}" if not reading.right else reading.label
        picture.text(middle, y + THUMB + 12, words, size=14, bold=True)
        picture.text(middle, y + THUMB + 29, f"{reading.sure:.0%} sure", size=12, color=GREY)
    return picture


def draw_answer(image: Array, shares: Sequence[float]) -> Picture:
    """What the network is given, and how sure it is of each digit."""
    side, left = 150, 190
    picture = Picture(480, 10 * 26 + 8, "How sure the network is of each digit")
    picture.image(2, 30, side, side, greys(image))
    picture.box(2, 30, side, side, line=FAINT)
    picture.text(2 + side / 2, 14, "what the network sees", size=13)
    best = int(np.argmax(shares))
    for digit, share in enumerate(shares):
        y = 4 + digit * 26
        picture.text(left - 12, y + 12, digit, bold=digit == best)
        picture.box(left, y + 3, 230, 18, line=FAINT)
        picture.box(
            left, y + 3, max(230 * share, 0.5), 18, ACCENT if digit == best else GREY, line="none"
        )
        picture.text(left + 240, y + 12, f"{share:.0%}", size=13, anchor="start")
    return picture


def draw_maps(answer: dict[str, Any], filters: tuple[Array, Array]) -> Picture:
    """An image on its way through the network: filters, maps and what pooling leaves of them."""
    side, step, across = 104, 128, 4
    first, second, pooled = (np.asarray(answer[key]) for key in ("first", "second", "pooled"))
    picture = Picture(across * step - 16, 770, "The maps of both convolutions")
    _titled(picture, 0, "First convolution and ReLU", "4 filters, 4 maps")
    for number in range(4):
        x = number * step + 2
        _filter(picture, x, 34, filters[0][number, 0], 42)
        _map(picture, x, 84, side, first[number], float(first.max()))
    _titled(picture, 208, "Second convolution and ReLU", "4 filters for each of 8 maps")
    for number in range(8):
        row, column = divmod(number, across)
        x, y = column * step + 2, 242 + row * 160
        for channel in range(4):
            _filter(picture, x + channel * 26, y, filters[1][number, channel], 24)
        _map(picture, x, y + 32, side, second[number], float(second.max()))
    _titled(picture, 566, "Average pooling", "what the linear layers see")
    for number in range(8):
        row, column = divmod(number, across)
        x, y = column * step + 2, 600 + row * 84
        _map(picture, x, y, 76, pooled[number], float(pooled.max()))
    return picture


def _titled(picture: Picture, y: float, title: str, more: str) -> None:
    picture.text(2, y + 14, title, anchor="start", bold=True, size=16)
    if more:
        picture.text(picture.width - 4, y + 14, more, anchor="end", size=14, color=INK)


def _filter(picture: Picture, x: float, y: float, weights: Array, side: float) -> None:
    most = float(np.abs(weights).max()) or 1.0
    picture.image(x, y, side, side, two_colours(weights, -most, most))
    picture.box(x, y, side, side, line=FAINT)


def _map(picture: Picture, x: float, y: float, side: float, values: Array, most: float) -> None:
    picture.image(x, y, side, side, greys(values, 0.0, most or 1.0))
    picture.box(x, y, side, side, line=FAINT)
