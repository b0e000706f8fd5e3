"""Drawings of a window that slides over numbers: what it reads, its kernel, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .picture import ACCENT, FAINT, GREY, INK, RED, SHADES, Picture, shorten, two_colours

SIZE = 42
DARK = "#1f2937"
Array = npt.NDArray[np.float64]
Place = tuple[int, int]


@dataclass(frozen=True)
class Slide:
    """A window on its way over numbers; in one dimension, the height is 1.

    Attributes:
        source: what the window slides over, channel x height x width
        kernel: what it multiplies by, channel x window height x window width
        result: what the library gives, height x width
        reverse: whether the window ends at its place instead of beginning there
    """

    source: Array
    kernel: Array
    result: Array
    reverse: bool = False

    @property
    def channels(self) -> int:
        """How many channels are added up."""
        return len(self.source)

    @property
    def window(self) -> Place:
        """Height and width of the window."""
        return self.kernel.shape[1], self.kernel.shape[2]

    def read_at(self, place: Place, offset: Place) -> Place:
        """Where the source is read for one number of the kernel; it may lie beyond the edge."""
        sign = -1 if self.reverse else 1
        return place[0] + sign * offset[0], place[1] + sign * offset[1]

    def value(self, channel: int, at: Place) -> float:
        """A number of the source, 0 beyond its edge."""
        return float(self.source[channel, *at]) if self.is_inside(at) else 0.0

    def is_inside(self, at: Place) -> bool:
        """Whether a place lies within the source."""
        return all(0 <= i < n for i, n in zip(at, self.source.shape[1:], strict=True))

    def offsets(self) -> list[Place]:
        """The places of the kernel, in the order in which they lie on the source."""
        order = list(np.ndindex(*self.window))
        return order[::-1] if self.reverse else order

    def products(self, channel: int, place: Place) -> list[tuple[float, float, bool]]:
        """What is read, what it is multiplied by, and whether it lies within the source."""
        found = []
        for offset in self.offsets():
            at = self.read_at(place, offset)
            weight = float(self.kernel[channel, *offset])
            found.append((self.value(channel, at), weight, self.is_inside(at)))
        return found

    def part(self, channel: int, place: Place) -> float:
        """What one channel contributes to a place of the result."""
        return sum(value * weight for value, weight, _ in self.products(channel, place))

    def sum(self, place: Place) -> float:
        """What a place of the result should be."""
        return sum(self.part(channel, place) for channel in range(self.channels))

    @cached_property
    def wrong(self) -> list[Place]:
        """The places where the library's result is another number."""
        places = np.ndindex(*self.result.shape)
        return [p for p in places if abs(self.sum(p) - float(self.result[p])) > 1e-9]


def tints(values: Array) -> list[list[str]]:
    """A light colour for each number: blue above zero, red below."""
    most = float(np.abs(values).max(initial=0.0)) or 1.0
    pixels = two_colours(values, -1.6 * most, 1.6 * most)
    return [[f"#{r:02x}{g:02x}{b:02x}" for r, g, b in row] for row in pixels.tolist()]


def cell(
    picture: Picture, x: float, y: float, value: object, fill: str = "#ffffff", **more: Any
) -> None:
    """A box with a number."""
    picture.box(x, y, SIZE, SIZE, fill, line=more.pop("line", FAINT), **more)
    picture.text(x + SIZE / 2, y + SIZE / 2, shorten(value), size=16, color=DARK)


def draw_source(slide: Slide, channel: int, place: Place | None) -> Picture:
    """The numbers that the window slides over, the zeros beyond the edge, and the window."""
    (kh, kw), (height, width) = slide.window, slide.source.shape[1:]
    # What the results can read: beyond the lower right edge, or the upper left with reverse.
    above, left = (kh - 1, kw - 1) if slide.reverse else (0, 0)
    rows = max(height, slide.result.shape[0] + kh - 1) if not slide.reverse else height + above
    columns = max(width, slide.result.shape[1] + kw - 1) if not slide.reverse else width + left
    picture = Picture(columns * SIZE + 4, rows * SIZE + 4, "The numbers that the window reads")
    window = {}
    if place is not None:
        window = {slide.read_at(place, offset): offset for offset in slide.offsets()}
    for row, column in np.ndindex(rows, columns):
        at = (row - above, column - left)
        x, y = 2 + column * SIZE, 2 + row * SIZE
        value, inside = slide.value(channel, at), slide.is_inside(at)
        if at in window:
            cell(picture, x, y, value, SHADES[0] if inside else "#fff7ed")
            picture.text(
                x + SIZE - 4, y + 9, f"×{shorten(float(slide.kernel[channel, *window[at]]))}",
                size=11, color=ACCENT, anchor="end", bold=True,
            )  # fmt: skip
        elif inside:
            cell(picture, x, y, value)
        else:
            picture.box(x + 2, y + 2, SIZE - 4, SIZE - 4, line=FAINT, dash="3 3")
            picture.text(x + SIZE / 2, y + SIZE / 2, 0, size=15, color=GREY)
    picture.box(2 + left * SIZE, 2 + above * SIZE, width * SIZE, height * SIZE, line=INK, thick=1.5)
    if window:
        first = min(window)
        picture.box(
            2 + (first[1] + left) * SIZE, 2 + (first[0] + above) * SIZE, kw * SIZE, kh * SIZE,
            line=ACCENT, thick=3,
        )  # fmt: skip
    return picture


def draw_kernel(slide: Slide, channel: int) -> Picture:
    """The kernel as it lies on the source: flipped with reverse."""
    kh, kw = slide.window
    picture = Picture(kw * SIZE + 4, kh * SIZE + 4, "The kernel")
    for number, offset in enumerate(slide.offsets()):
        row, column = divmod(number, kw)
        value = float(slide.kernel[channel, *offset])
        cell(picture, 2 + column * SIZE, 2 + row * SIZE, value, SHADES[3])
    return picture


def draw_result(
    slide: Slide, place: Place, mark: object = "", filled: int | None = None
) -> Picture:
    """What comes out; each cell can be clicked, and its id is `row,column@mark`.

    A single row lies below the numbers that it comes from, cell by cell.

    Args:
        slide: the numbers
        place: the cell that the window computes
        mark: ends each id, so that two clicks on one cell differ when something changed between
        filled: how many cells are there already; None: all
    """
    height, width = slide.result.shape
    left, whole = 2, width * SIZE + 4
    if slide.source.shape[1] == 1:
        left += (slide.window[1] - 1) * SIZE if slide.reverse else 0
        whole = draw_source(slide, 0, None).width
    picture = Picture(whole, height * SIZE + 4, "What comes out")
    colours, wrong = tints(slide.result), set(slide.wrong)
    for number, (row, column) in enumerate(np.ndindex(height, width)):
        x, y = left + column * SIZE, 2 + row * SIZE
        if filled is not None and number >= filled:
            picture.box(x, y, SIZE, SIZE, line=FAINT)
            continue
        value = float(slide.result[row, column])
        tip = f"row {row}, column {column}: {shorten(value)}"
        cell(picture, x, y, value, colours[row][column], id=f"{row},{column}@{mark}", tip=tip)
        if (row, column) in wrong:
            picture.line([(x + 5, y + 37), (x + 37, y + 37)], color=RED, thick=2.5)
    picture.box(left, 2, width * SIZE, height * SIZE, line=INK, thick=1.5)
    row, column = place
    picture.box(left + column * SIZE, 2 + row * SIZE, SIZE, SIZE, line=ACCENT, thick=3)
    return picture


def draw_unrolled(
    slide: Slide, channel: int, place: Place, times: str = "kernel", across: int = 9
) -> Picture:
    """A channel's window as a row, its kernel below, and the products below that."""
    products = slide.products(channel, place)
    lines = [products[i : i + across] for i in range(0, len(products), across)]
    left, tall = 82, 3 * SIZE + 16
    width = max(left + min(across, len(products)) * SIZE, 330)
    picture = Picture(width + 4, tall * len(lines) + 30, "The window, unrolled")
    for number, line in enumerate(lines):
        y = 2 + number * tall
        for row, word in enumerate(("window", f"× {times}", "= product")):
            picture.text(left - 8, y + (row + 0.5) * SIZE, word, size=13, anchor="end")
        for column, (value, weight, inside) in enumerate(line):
            x = left + column * SIZE
            cell(picture, x, y, value, SHADES[0] if inside else "#fff7ed")
            cell(picture, x, y + SIZE, weight, SHADES[3])
            cell(picture, x, y + 2 * SIZE, value * weight, SHADES[2])
    total = f"sum of the products = {shorten(slide.part(channel, place))}"
    picture.text(left, tall * len(lines) + 10, total, anchor="start", bold=True)
    return picture


def draw_frame(slide: Slide, channel: int, place: Place, number: int) -> Picture:
    """One page of a flip book: the source with its window above or beside what is there so far."""
    source, result = draw_source(slide, channel, place), draw_result(slide, place, "", number + 1)
    below = slide.source.shape[1] == 1
    gap = 26
    if below:
        picture = Picture(max(source.width, result.width), source.height + gap + result.height)
        at = (0, source.height + gap)
    else:
        picture = Picture(source.width + gap + result.width, max(source.height, result.height))
        at = (source.width + gap, 0)
    picture.parts += source.parts
    picture.add("g", "".join(result.parts), transform=f"translate({at[0]} {at[1]})")
    return picture


def spell(slide: Slide, channel: int, place: Place) -> str:
    """A channel's sum in words: `1×2 + 0×3 = 2`."""
    terms = [f"{_signed(v)}×{_signed(w)}" for v, w, _ in slide.products(channel, place)]
    if len(terms) > 9:
        terms = [*terms[:8], f"… ({len(terms)} products)"]
    return f"{' + '.join(terms)} = {shorten(slide.part(channel, place))}"


def _signed(value: float) -> str:
    return f"({shorten(value)})" if value < 0 else shorten(value)
