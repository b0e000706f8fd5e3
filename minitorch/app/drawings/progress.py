"""Curves over epochs as a picture: straight axes, a few round numbers, names above."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .picture import ACCENT, BLUE, FAINT, GREEN, INK, VIOLET, Picture

COLOURS = (BLUE, ACCENT, GREEN, VIOLET)
LEFT, BOTTOM, TOP = 52, 26, 30


def draw_curves(
    series: Mapping[str, Sequence[float]],
    title: str,
    *,
    first: int = 1,
    at: Sequence[int] | None = None,
    last: int | None = None,
    logarithmic: bool = False,
    width: int = 420,
    height: int = 240,
    colours: Sequence[str] = COLOURS,
    thick: Sequence[float] = (2, 2, 2, 2),
    unit: str = "epoch",
) -> Picture:
    """One line for each series of numbers over the epochs, from epoch `first` on.

    Args:
        series: numbers by name; what is not finite, or not above 0 on a logarithmic axis, is left out
        title: for readers that cannot see it
        first: where the axis begins
        at: the epoch of each number; None: `first`, the one after it, and so on
        last: where the axis ends; None: at the last number
        logarithmic: whether the axis has powers of ten
        width: in pixels
        height: in pixels
        colours: of the lines, in turn
        thick: the width of each line
        unit: what is counted to the right
    """
    picture = Picture(width, height, title)
    known = [v for values in series.values() for v in values if _is_shown(v, logarithmic)]
    low, high = _limits(known, logarithmic)
    most = max((len(values) for values in series.values()), default=0)
    epochs = at or range(first, first + max(most, 2))
    end = last or epochs[-1]

    def x_of(epoch: float) -> float:
        return LEFT + (epoch - first) / max(end - first, 1) * (width - LEFT - 12)

    def y_of(value: float) -> float:
        share = (_scale(value, logarithmic) - low) / (high - low)
        return height - BOTTOM - share * (height - BOTTOM - TOP)

    for value in _ticks(low, high, logarithmic):
        picture.line([(LEFT, y_of(value)), (width - 12, y_of(value))], color=FAINT, thick=1)
        picture.text(LEFT - 6, y_of(value), _words(value), size=11, anchor="end")
    for epoch in sorted({first, round((first + end) / 2), end}):
        picture.text(x_of(epoch), height - 12, epoch, size=11)
    picture.text(LEFT - 8, height - 12, unit, size=11, anchor="end", color=INK)
    for values, colour, wide in zip(series.values(), colours, thick, strict=False):
        placed = zip(epochs, values, strict=False)
        shown = [(x_of(epoch), y_of(v)) for epoch, v in placed if _is_shown(v, logarithmic)]
        if len(shown) == 1:
            picture.circle(*shown[0], 3, colour, line=colour)
        elif shown:
            picture.line(_thinned(shown, width), color=colour, thick=wide)
    _draw_names(picture, series, colours)
    return picture


def _draw_names(picture: Picture, series: Mapping[str, object], colours: Sequence[str]) -> None:
    x = LEFT
    for name, colour in zip(series, colours, strict=False):
        picture.line([(x, 10), (x + 16, 10)], color=colour, thick=3)
        picture.text(x + 21, 10, name, size=12, anchor="start")
        x += 38 + 7 * len(name)


def _is_shown(value: float, logarithmic: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not logarithmic)


def _scale(value: float, logarithmic: bool) -> float:
    return math.log10(value) if logarithmic else value


def _limits(values: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    if logarithmic:
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return float(low), float(max(high, low + 1))
    low = min(0.0, *values)
    return low, max(max(values), low + 1e-9)


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """A few round numbers between both ends.

    >>> _ticks(0.0, 37.0, False)
    [0.0, 10.0, 20.0, 30.0]
    """
    if logarithmic:
        step = max(math.ceil((high - low) / 5), 1)
        return [10.0**power for power in range(round(low), round(high) + 1, step)]
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    start = math.ceil(low / step)
    return [step * n for n in range(start, math.floor(high / step + 1e-9) + 1)]


def _words(value: float) -> str:
    return f"{value:g}" if 1e-3 <= abs(value) < 1e4 or not value else f"{value:.0e}"


def _thinned(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """As many points as a screen can show, the last among them."""
    every = math.ceil(len(points) / most)
    return [*points[:-1:every], points[-1]]
