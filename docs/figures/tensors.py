"""Figures of module 2: storage and strides, broadcasting, the verbs, gradients."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import (
    BLUE,
    GREY,
    INK,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_ORANGE,
    LIGHT_RED,
    MUTED,
    ORANGE,
    PAPER,
    RED,
    arrow,
    blank,
    box,
    canvas,
    cube,
    figure,
    grid,
    words,
)


@figure("tensors-cube")
def tensors_cube() -> Figure:
    drawn, ax = canvas(17, 5.6)
    lit = lambda d, r, c: LIGHT_ORANGE if (d, r, c) == (1, 0, 2) else GREY  # noqa: E731
    cube(ax, 1.6, 0.6, (2, 3, 3), lit, cell=1.15)
    words(ax, 3.3, 0.2, "dim 2 (size 3)", MUTED, fontsize=9)
    words(ax, 0.5, 2.3, "dim 1\n(size 3)", MUTED, fontsize=9)
    words(ax, 6.5, 0.75, "dim 0\n(size 2)", MUTED, fontsize=9)
    for depth, x in ((0, 8.0), (1, 12.6)):
        grid(
            ax,
            x,
            4.2,
            [[9 * depth + 3 * i + j for j in range(3)] for i in range(3)],
            lambda i, j, d=depth: LIGHT_ORANGE if (d, i, j) == (1, 0, 2) else GREY,
        )
        words(ax, x + 1.5, 4.7, f"[{depth}, :, :]", MUTED, fontsize=9.5, family="monospace")
    words(
        ax,
        11.8,
        0.5,
        "index (1, 0, 2)  →  1 · 9 + 0 · 3 + 2 · 1 = position 11",
        ORANGE,
        fontsize=10,
    )
    return drawn


def _stored(ax: Axes, x: float, y: float, lit: int) -> None:
    grid(ax, x, y, [list("012345")], lambda i, j: LIGHT_ORANGE if j == lit else GREY)


@figure("tensors-strides")
def tensors_strides() -> Figure:
    """A table and its transpose over the same storage."""
    drawn, ax = canvas(18, 7.4)
    lit = 5
    for left, rows, columns, strides, cell in (
        (1.0, 2, 3, (3, 1), (1, 2)),
        (11.2, 3, 2, (1, 3), (2, 1)),
    ):
        values = [[i * strides[0] + j * strides[1] for j in range(columns)] for i in range(rows)]
        grid(
            ax,
            left + 0.8,
            6.2,
            values,
            lambda i, j, c=cell: LIGHT_ORANGE if (i, j) == c else LIGHT_BLUE,
        )
        words(
            ax,
            left + 0.8 + columns / 2,
            6.8,
            f"shape ({rows}, {columns})   strides {strides}",
            fontsize=10,
        )
        _stored(ax, left - 0.6, 1.8, lit)
        words(ax, left + 2.4, 0.4, "the same storage", MUTED, fontsize=9)
        start = left + 0.8 + cell[1] + 0.5, 6.2 - cell[0] - 1.0
        arrow(ax, start, (left - 0.6 + lit + 0.5, 1.85), color=ORANGE, bend=-0.12)
    words(ax, 6.7, 3.6, "1 · 3 + 2 · 1", ORANGE, fontsize=9.5)
    words(ax, 16.8, 3.0, "2 · 1 + 1 · 3", ORANGE, fontsize=9.5)
    return drawn


@figure("broadcasting-grids")
def broadcasting_grids() -> Figure:
    drawn, ax = canvas(21, 6.4)

    def sum_of(x: float, small: str, real, fits: bool = True) -> None:
        grid(ax, x, 5.2, blank(4, 3), LIGHT_BLUE, cell=0.8)
        words(ax, x + 2.85, 3.6, "+", fontsize=14)
        grid(
            ax,
            x + 3.3,
            5.2,
            blank(4, 3),
            lambda i, j: LIGHT_ORANGE if real(i, j) else "#fdf5ed",
            cell=0.8,
            edge=INK if fits else RED,
        )
        words(ax, x + 1.2, 5.6, "(4, 3)", fontsize=10)
        words(ax, x + 4.5, 5.6, small, fontsize=10)

    sum_of(0.2, "(3,)", lambda i, j: i == 0)
    sum_of(7.2, "(4, 1)", lambda i, j: j == 0)
    sum_of(14.2, "(4,)", lambda i, j: False, fits=False)
    for x, upper, lower, verdict, colour in (
        (3.0, "43", " 3", "fits", MUTED),
        (10.0, "43", "41", "fits", MUTED),
        (17.0, "43", " 4", "3 against 4", RED),
    ):
        for y, digits in ((1.55, upper), (0.95, lower)):
            for i, digit in enumerate(digits):
                wrong = colour == RED and i == 1
                words(ax, x + 0.7 * i, y, digit, RED if wrong else INK, fontsize=11)
        words(ax, x + 2.4, 1.25, verdict, colour, fontsize=9.5)
    words(ax, 10.2, 0.2, "dark: real cells; light: read again, never copied", MUTED, fontsize=9)
    return drawn


@figure("broadcasting-cubes")
def broadcasting_cubes() -> Figure:
    """(2, 3, 4) with (3, 1): added on the left, repeated along two dimensions."""
    drawn, ax = canvas(21, 5.2)
    pale = "#fdf5ed"
    real = lambda d, r, c: LIGHT_ORANGE if d == c == 0 else pale  # noqa: E731
    cube(ax, 0.6, 1.4, (2, 3, 4), lambda d, r, c: LIGHT_BLUE, cell=0.85)
    words(ax, 2.3, 0.8, "(2, 3, 4)", fontsize=10)
    words(ax, 5.6, 2.9, "+", fontsize=14)
    grid(ax, 6.4, 3.95, blank(3, 1), LIGHT_ORANGE, cell=0.85)
    words(ax, 6.85, 0.8, "(3, 1)", fontsize=10)
    arrow(ax, (7.9, 2.7), (9.6, 2.7), "read as")
    cube(ax, 10.2, 1.4, (2, 3, 4), real, cell=0.85)
    words(ax, 11.9, 0.8, "(1, 3, 1), as (2, 3, 4)", fontsize=10)
    words(ax, 15.2, 2.9, "=", fontsize=14)
    cube(ax, 16.0, 1.4, (2, 3, 4), lambda d, r, c: LIGHT_GREEN, cell=0.85)
    words(ax, 17.7, 0.8, "(2, 3, 4)", fontsize=10)
    words(
        ax,
        10.2,
        0.2,
        "dark: the three real cells; light: read again, never copied",
        MUTED,
        fontsize=9,
    )
    return drawn


@figure("broadcasting-matmul")
def broadcasting_matmul() -> Figure:
    drawn, ax = canvas(20, 5.4)
    grid(ax, 0.4, 4.1, blank(3, 2), lambda i, j: LIGHT_BLUE if i == 1 else PAPER, cell=0.8)
    words(ax, 1.2, 4.6, "A  (3, 2)")
    grid(ax, 3.2, 3.7, blank(2, 4), lambda i, j: LIGHT_ORANGE if j == 2 else PAPER, cell=0.8)
    words(ax, 4.8, 4.6, "B  (2, 4)")
    arrow(ax, (7.0, 2.9), (8.6, 2.9), "zip")
    lit = LIGHT_GREEN
    cube(ax, 9.2, 1.4, (2, 3, 4), lambda d, r, c: lit if (r, c) == (1, 2) else PAPER, cell=0.8)
    words(ax, 11.1, 0.8, "all products (3, 2, 4)", MUTED, fontsize=9)
    arrow(ax, (13.9, 2.9), (15.5, 2.9), "reduce")
    grid(ax, 16.0, 4.1, blank(3, 4), lambda i, j: lit if (i, j) == (1, 2) else PAPER, cell=0.8)
    words(ax, 17.6, 4.6, "A B  (3, 4)")
    words(ax, 3.6, 0.8, "a row meets a column", MUTED, fontsize=9)
    words(ax, 17.6, 0.8, "summed over the middle", MUTED, fontsize=9)
    return drawn


@figure("operations-verbs")
def operations_verbs() -> Figure:
    drawn, ax = canvas(21, 5.8)
    words(ax, 3.0, 5.4, "map", fontweight="bold")
    grid(ax, 0.3, 4.4, blank(2, 3), LIGHT_BLUE, cell=0.75)
    arrow(ax, (2.75, 3.65), (3.5, 3.65))
    grid(ax, 3.7, 4.4, blank(2, 3), LIGHT_GREEN, cell=0.75)
    words(ax, 3.0, 1.7, "the shape stays", MUTED, fontsize=9)

    words(ax, 10.0, 5.4, "zip", fontweight="bold")
    grid(ax, 7.2, 4.4, blank(2, 3), LIGHT_BLUE, cell=0.75)
    grid(ax, 7.2, 2.6, blank(1, 3), LIGHT_ORANGE, cell=0.75)
    arrow(ax, (9.7, 3.3), (10.5, 3.3))
    grid(ax, 10.7, 4.1, blank(2, 3), LIGHT_GREEN, cell=0.75)
    words(ax, 10.0, 1.2, "shapes are broadcast", MUTED, fontsize=9)

    words(ax, 17.6, 5.4, "reduce", fontweight="bold")
    shades = (LIGHT_BLUE, LIGHT_ORANGE, LIGHT_RED)
    grid(ax, 14.2, 4.9, blank(2, 3), lambda i, j: shades[j], cell=0.75)
    arrow(ax, (16.7, 4.15), (17.5, 4.15), "dim 0")
    grid(ax, 17.9, 4.5, blank(1, 3), lambda i, j: shades[j], cell=0.75)
    words(ax, 20.6, 4.15, "(1, 3)", MUTED, fontsize=9)
    grid(ax, 14.2, 2.6, blank(2, 3), lambda i, j: shades[i], cell=0.75)
    arrow(ax, (16.7, 1.85), (17.5, 1.85), "dim 1")
    grid(ax, 17.9, 2.6, blank(2, 1), lambda i, j: shades[i], cell=0.75)
    words(ax, 19.4, 1.85, "(2, 1)", MUTED, fontsize=9)
    words(ax, 17.4, 0.5, "cells of one colour are combined into one", MUTED, fontsize=9)
    return drawn


@figure("operations-index")
def operations_index() -> Figure:
    """Ordinal to index to positions, for a zip of (2, 3) and (3,)."""
    drawn, ax = canvas(21, 6.6)
    steps = [
        (2.0, "cell 4", "of the output"),
        (7.0, "index (1, 1)", "to_index"),
    ]
    for x, text, how in steps:
        box(ax, x, 3.4, text, 3.0, 1.0)
        words(
            ax, x, 2.5, how, MUTED, fontsize=9, family="monospace" if "_" in how else "sans-serif"
        )
    arrow(ax, (3.6, 3.4), (5.4, 3.4))
    rows = [
        (5.6, "a: (1, 1)", "position 4 in a", LIGHT_BLUE, BLUE),
        (3.4, "out: (1, 1)", "position 4 in out", LIGHT_GREEN, "#2f8558"),
        (1.2, "b: (1,)", "position 1 in b", LIGHT_ORANGE, ORANGE),
    ]
    for y, index, position, fill, edge in rows:
        box(ax, 12.6, y, index, 3.0, 1.0, fill, edge)
        box(ax, 18.2, y, position, 4.2, 1.0, fill, edge)
        arrow(ax, (8.6, 3.4), (11.0, y))
        arrow(ax, (14.2, y), (16.0, y))
    words(ax, 12.6, 0.3, "broadcast_index", MUTED, fontsize=9, family="monospace")
    words(ax, 18.2, 0.3, "index_to_position", MUTED, fontsize=9, family="monospace")
    return drawn


@figure("gradients-back")
def gradients_back() -> Figure:
    drawn, ax = canvas(21, 6.7)

    def pair(x: float, title: str, there, back) -> None:
        words(ax, x + 2.1, 6.35, title, fontweight="bold")
        words(ax, x - 0.1, 4.5, "forward", MUTED, fontsize=8.5, rotation=90)
        words(ax, x - 0.1, 1.45, "backward", ORANGE, fontsize=8.5, rotation=90)
        (in_cells, out_cells, links) = there
        for y, arrows in ((4.5, False), (1.45, True)):
            colour = ORANGE if arrows else INK
            top = y + 0.45 * in_cells - 0.05
            for i in range(in_cells):
                grid(
                    ax,
                    x + 0.4,
                    top - 0.9 * i,
                    [[""]],
                    LIGHT_ORANGE if arrows else LIGHT_BLUE,
                    cell=0.8,
                )
            top_out = y + 0.45 * out_cells - 0.05
            for j in range(out_cells):
                grid(
                    ax,
                    x + 3.1,
                    top_out - 0.9 * j,
                    [[""]],
                    LIGHT_ORANGE if arrows else LIGHT_GREEN,
                    cell=0.8,
                )
            for i, j in links:
                a = x + 1.25, top - 0.9 * i - 0.4
                b = x + 3.05, top_out - 0.9 * j - 0.4
                arrow(ax, b if arrows else a, a if arrows else b, color=colour)
        words(ax, x + 2.1, -0.25, back, MUTED, fontsize=9)

    pair(0.4, "map", (2, 2, [(0, 0), (1, 1)]), "slope times d")
    pair(5.8, "zip", (2, 1, [(0, 0), (1, 0)]), "one slope per input")
    pair(11.2, "sum", (3, 1, [(0, 0), (1, 0), (2, 0)]), "d to everyone")
    pair(16.6, "broadcast", (1, 3, [(0, 0), (0, 1), (0, 2)]), "the sum of all d")
    return drawn
