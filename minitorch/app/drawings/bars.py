"""Bars with their numbers, as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from .picture import BLUE, FAINT, Picture

WIDTH, ROW = 460, 46


def draw_bars(
    rows: Sequence[tuple[str, float, str]], title: str, colors: Sequence[str] = ()
) -> Picture:
    """One bar for each row of words, number, and the number as it is to be written."""
    picture = Picture(WIDTH, ROW * len(rows) + 6, title)
    most = max((number for _, number, _ in rows), default=1.0) or 1.0
    for place, (words, number, written) in enumerate(rows):
        y = 4 + place * ROW
        color = colors[place % len(colors)] if colors else BLUE
        picture.text(0, y + 9, words, anchor="start", size=14)
        picture.text(WIDTH - 2, y + 9, written, anchor="end", size=14, bold=True)
        picture.box(0, y + 20, WIDTH, 14, FAINT, line="none", round=4)
        picture.box(0, y + 20, max(WIDTH * number / most, 3), 14, color, line="none", round=4)
    return picture
