"""Figures of the guide to many processes: the ring, and what it overlaps with."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    MUTED,
    ORANGE,
    PAPER,
    arrow,
    box,
    canvas,
    figure,
    grid,
    words,
)


def ring_states() -> list[list[list[str]]]:
    """What three ranks have of three chunks, as the letters that are summed: at first, and after each step."""
    ranks = [[letter] * 3 for letter in "abc"]
    states = [[list(chunks) for chunks in ranks]]
    for step in range(4):
        sent = [ranks[r][(r - step) % 3] for r in range(3)]
        for r in range(3):
            chunk = (r - 1 - step) % 3
            both = ranks[r][chunk] + sent[r - 1] if step < 2 else sent[r - 1]
            ranks[r][chunk] = "".join(sorted(set(both)))
        states.append([list(chunks) for chunks in ranks])
    return states


@figure("ranks-ring")
def ring() -> Figure:
    """An all-reduce of three chunks on three ranks, step by step."""
    drawn, ax = canvas(25, 5.4)
    shades = {1: PAPER, 2: LIGHT_BLUE, 3: LIGHT_GREEN}
    titles = ("at first", "reduced once", "reduced twice", "gathered once", "gathered twice")
    for k, (title, state) in enumerate(zip(titles, ring_states(), strict=True)):
        x = 2.4 + 4.6 * k
        words(ax, x + 1.65, 5.0, title, MUTED)
        for r, chunks in enumerate(state):
            y = 4.4 - 1.5 * r
            texts = ["+".join(chunk) for chunk in chunks]
            grid(ax, x, y, [texts], lambda i, j, c=chunks: shades[len(c[j])], cell=1.1, fontsize=8)
        if k:
            color = ORANGE if k < 3 else GREEN
            arrow(ax, (x - 1.1, 2.35), (x - 0.2, 2.35), "", color)
    for r in range(3):
        words(ax, 0.1, 3.85 - 1.5 * r, f"rank {r}", ha="left")
    return drawn


def _lane(ax: Axes, y: float, parts: list[tuple[float, float, str, str, str]]) -> None:
    for start, end, text, fill, edge in parts:
        box(ax, (start + end) / 2, y, text, end - start - 0.08, 0.8, fill, edge, fontsize=9)


@figure("ranks-overlap")
def overlap() -> Figure:
    """A step whose buckets are exchanged after the backward pass, and while it runs."""
    drawn, ax = canvas(25, 6.6)
    forward = (4.6, 7.0, "forward", GREY, MUTED)
    layers = [
        (7.0 + 2.6 * k, 9.6 + 2.6 * k, f"backward {3 - k}", LIGHT_BLUE, BLUE) for k in range(3)
    ]
    for top, title, starts in (
        (5.9, "one after the other", (14.8, 17.2, 19.6)),
        (2.6, "overlapped", (9.6, 12.2, 14.8)),
    ):
        words(ax, 0.1, top, title, ha="left", fontweight="bold")
        words(ax, 0.1, top - 0.9, "computes", ha="left")
        words(ax, 0.1, top - 1.9, "exchanges", ha="left")
        buckets = [
            (s, s + 2.4, f"bucket {3 - k}", LIGHT_ORANGE, ORANGE) for k, s in enumerate(starts)
        ]
        end = starts[-1] + 2.4
        step = (end, end + 1.6, "step", LIGHT_GREEN, GREEN)
        _lane(ax, top - 0.9, [forward, *layers, step])
        _lane(ax, top - 1.9, buckets)
    return drawn
