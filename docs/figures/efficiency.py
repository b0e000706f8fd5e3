"""Figures of module 3: cores, races, products, the GPU."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from .style import (
    BLUE,
    FAINT,
    GREEN,
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


@figure("parallel-lanes")
def parallel_lanes() -> Figure:
    drawn, ax = canvas(19, 6.0)
    shades = (LIGHT_BLUE, LIGHT_ORANGE, LIGHT_GREEN, LIGHT_RED)
    words(ax, 0.3, 5.45, "one core", ha="left")
    for i in range(16):
        grid(ax, 3.2 + 0.95 * i, 5.87, [[i]], LIGHT_BLUE, cell=0.85, fontsize=8.5)
    for lane in range(4):
        y = 4.0 - 0.95 * lane
        words(ax, 0.3, y - 0.42, f"core {lane + 1}", ha="left")
        for i in range(4):
            grid(ax, 3.2 + 0.95 * i, y, [[4 * lane + i]], shades[lane], cell=0.85, fontsize=8.5)
    arrow(ax, (7.6, 2.2), (18.2, 2.2), "time saved", MUTED)
    return drawn


@figure("parallel-race")
def parallel_race() -> Figure:
    """Two cores that share a buffer for an index."""
    drawn, ax = canvas(20, 6.2)
    words(ax, 3.6, 5.9, "core 1", BLUE, fontweight="bold")
    words(ax, 10, 5.9, "one buffer", MUTED, fontweight="bold")
    words(ax, 16.4, 5.9, "core 2", ORANGE, fontweight="bold")
    steps = [
        (4.8, "fill: index of cell 7", None, "(0, 7)", LIGHT_BLUE),
        (3.5, None, "fill: index of cell 42", "(4, 2)", LIGHT_ORANGE),
        (2.2, "read: cell (4, 2)!", None, "(4, 2)", LIGHT_RED),
        (0.9, None, "read: cell (4, 2)", "(4, 2)", LIGHT_ORANGE),
    ]
    for y, first, second, content, fill in steps:
        box(ax, 10, y, content, 2.2, 0.9, fill, MUTED)
        if first:
            wrong = "!" in first
            box(
                ax,
                3.6,
                y,
                first,
                5.2,
                0.9,
                LIGHT_RED if wrong else LIGHT_BLUE,
                RED if wrong else BLUE,
                fontsize=9.5,
            )
            ends = ((8.85, y), (6.25, y)) if "read" in first else ((6.25, y), (8.85, y))
            arrow(ax, *ends, color=RED if wrong else BLUE)
        if second:
            box(ax, 16.4, y, second, 5.2, 0.9, LIGHT_ORANGE, ORANGE, fontsize=9.5)
            ends = ((11.15, y), (13.75, y)) if "read" in second else ((13.75, y), (11.15, y))
            arrow(ax, *ends, color=ORANGE)
    arrow(ax, (0.4, 5.2), (0.4, 0.5), color=MUTED)
    words(ax, 0.05, 2.8, "time", MUTED, fontsize=9, rotation=90)
    return drawn


@figure("matmul-fused")
def matmul_fused() -> Figure:
    drawn, ax = canvas(21, 8.6)
    words(ax, 0.2, 8.2, "zip, then reduce", ha="left", fontweight="bold")
    grid(ax, 0.4, 7.2, blank(3, 3), LIGHT_BLUE, cell=0.7)
    grid(ax, 3.2, 7.2, blank(3, 3), LIGHT_ORANGE, cell=0.7)
    arrow(ax, (5.7, 6.2), (7.2, 6.2), "zip")
    cube(ax, 7.8, 5.1, (3, 3, 3), lambda d, r, c: LIGHT_RED, cell=0.7)
    words(ax, 12.8, 5.1, "$n^3$ numbers\nwritten and read", RED, fontsize=9.5)
    arrow(ax, (14.6, 6.2), (16.4, 6.2), "reduce")
    grid(ax, 17.2, 7.2, blank(3, 3), LIGHT_GREEN, cell=0.7)
    words(ax, 0.2, 3.6, "fused", ha="left", fontweight="bold")
    grid(ax, 0.4, 2.7, blank(3, 3), lambda i, j: LIGHT_BLUE if i == 1 else PAPER, cell=0.7)
    grid(ax, 3.2, 2.7, blank(3, 3), lambda i, j: LIGHT_ORANGE if j == 2 else PAPER, cell=0.7)
    arrow(ax, (5.7, 1.6), (7.2, 1.6))
    box(ax, 10.4, 1.6, "total += a · b", 5.6, 1.1, GREY, MUTED, family="monospace")
    words(ax, 10.4, 0.6, "one number, in a register", MUTED, fontsize=9.5)
    arrow(ax, (13.6, 1.6), (16.4, 1.6), "once")
    grid(
        ax,
        17.2,
        2.7,
        blank(3, 3),
        lambda i, j: LIGHT_GREEN if (i, j) == (1, 2) else PAPER,
        cell=0.7,
    )
    return drawn


@figure("matmul-backward")
def matmul_backward() -> Figure:
    """The three products of a layer, with their shapes."""
    drawn, ax = canvas(23, 4.4)

    def product(x: float, title: str, parts: list[tuple[str, tuple[int, int], str]]) -> None:
        words(ax, x + 3.2, 4.1, title, fontweight="bold")
        left = x
        for i, (name, (rows, columns), fill) in enumerate(parts):
            grid(ax, left, 2.2 + 0.25 * rows, blank(rows, columns), fill, cell=0.5)
            words(ax, left + 0.25 * columns, 0.7, name, fontsize=10)
            left += 0.5 * columns + 0.3
            words(ax, left + 0.05, 2.2, "·" if i == 0 else "=" if i == 1 else "", fontsize=13)
            left += 0.5

    product(
        0.4,
        "forward",
        [("A", (3, 4), LIGHT_BLUE), ("B", (4, 2), LIGHT_ORANGE), ("C", (3, 2), LIGHT_GREEN)],
    )
    product(
        8.2,
        "gradient of A",
        [("G", (3, 2), LIGHT_RED), ("$B^T$", (2, 4), LIGHT_ORANGE), ("like A", (3, 4), LIGHT_BLUE)],
    )
    product(
        16.4,
        "gradient of B",
        [("$A^T$", (4, 3), LIGHT_BLUE), ("G", (3, 2), LIGHT_RED), ("like B", (4, 2), LIGHT_ORANGE)],
    )
    return drawn


@figure("gpu-grid")
def gpu_grid() -> Figure:
    drawn, ax = canvas(20, 6.0)
    words(ax, 10, 5.7, "the grid: 3 blocks of 4 threads, for 10 cells", fontweight="bold")
    number = 0
    for b in range(3):
        left = 0.6 + 6.5 * b
        ax.add_patch(
            Rectangle((left, 2.6), 5.7, 2.5, facecolor=GREY, edgecolor=MUTED, linewidth=1.2)
        )
        words(ax, left + 2.85, 4.75, f"block {b}", MUTED, fontsize=9.5)
        for t in range(4):
            x = left + 0.95 + 1.27 * t
            idle = number >= 10
            box(
                ax,
                x,
                3.6,
                f"{t}",
                0.95,
                0.95,
                LIGHT_RED if idle else LIGHT_BLUE,
                RED if idle else BLUE,
            )
            if not idle:
                grid(ax, x - 0.5, 1.5, [[number]], LIGHT_GREEN)
                arrow(ax, (x, 3.1), (x, 1.55), color=MUTED)
            number += 1
    words(ax, 17.9, 1.0, "the guard:\nnothing to do", RED, fontsize=9.5)
    words(ax, 6.5, 0.1, "cell = block · 4 + thread", MUTED, fontsize=9.5)
    return drawn


@figure("gpu-blocks")
def gpu_blocks() -> Figure:
    """A table of 3 by 5 cells under a grid of 2 by 2 blocks, each of 4 by 2 threads."""
    drawn, ax = canvas(16.5, 6.6)
    shades = ((LIGHT_BLUE, LIGHT_ORANGE), (LIGHT_GREEN, LIGHT_RED))

    def inside(i: int, j: int) -> bool:
        return i < 3 and j < 5

    grid(
        ax,
        1.6,
        5.4,
        [[f"{i}, {j}" if inside(i, j) else "" for j in range(8)] for i in range(4)],
        lambda i, j: shades[i // 2][j // 4] if inside(i, j) else PAPER,
        cell=1.1,
        edge=MUTED,
        fontsize=8.5,
    )
    for i in range(2):
        for j in range(2):
            corner = 1.6 + 4.4 * j, 5.4 - 2.2 * (i + 1)
            ax.add_patch(Rectangle(corner, 4.4, 2.2, fill=False, edgecolor=INK, linewidth=1.8))
    for j in range(2):
        words(ax, 3.8 + 4.4 * j, 5.8, f"blockIdx.x = {j}", MUTED, fontsize=9)
    for i in range(2):
        words(ax, 1.3, 4.3 - 2.2 * i, f"blockIdx.y = {i}", MUTED, fontsize=9, rotation=90)
    words(ax, 13.5, 3.6, "row, column\nof the table", fontsize=9.5)
    words(ax, 13.5, 1.9, "empty: threads\nthat the guard\nholds back", RED, fontsize=9.5)
    words(
        ax,
        6.0,
        0.4,
        "column = blockIdx.x · 4 + threadIdx.x,   row = blockIdx.y · 2 + threadIdx.y",
        MUTED,
        fontsize=9,
    )
    return drawn


@figure("gpu-reduce")
def gpu_reduce() -> Figure:
    """Eight numbers summed in three rounds."""
    drawn, ax = canvas(18.5, 7.4)
    rows = [[3, 1, 4, 1, 5, 9, 2, 6]]
    for step in (1, 2, 4):
        before = rows[-1]
        rows.append(
            [v + before[j + step] if j % (2 * step) == 0 else v for j, v in enumerate(before)]
        )
    for r, row in enumerate(rows):
        y = 7.0 - 1.9 * r
        step = 2**r
        grid(ax, 4.0, y, [row], lambda i, j, s=step: LIGHT_GREEN if j % s == 0 else GREY)
        words(
            ax,
            0.2,
            y - 0.5,
            "loaded" if r == 0 else f"after round {r}",
            MUTED,
            ha="left",
            fontsize=9.5,
        )
        if r < 3:
            for j in range(0, 8, 2 * step):
                arrow(ax, (4.5 + j, y - 1.02), (4.5 + j, y - 1.86), color=GREEN)
                arrow(ax, (4.5 + j + step, y - 1.02), (4.62 + j, y - 1.86), color=ORANGE)
            words(
                ax, 12.6, y - 1.45, "all threads wait: syncthreads()", MUTED, ha="left", fontsize=9
            )
    return drawn


@figure("gpu-tiles")
def gpu_tiles() -> Figure:
    drawn, ax = canvas(20, 6.4)

    def matrix(x: float, title: str, lit) -> None:
        grid(ax, x, 5.4, blank(6, 6), lit, cell=0.7, edge=FAINT)
        for i in range(3):
            for j in range(3):
                ax.add_patch(
                    Rectangle(
                        (x + 1.4 * i, 1.2 + 1.4 * j),
                        1.4,
                        1.4,
                        fill=False,
                        edgecolor=INK,
                        linewidth=1.2,
                    )
                )
        words(ax, x + 2.1, 5.9, title, fontweight="bold")

    matrix(
        0.4, "A", lambda i, j: (LIGHT_BLUE if j // 2 != 1 else "#8fbbe3") if i // 2 == 1 else PAPER
    )
    matrix(
        7.2,
        "B",
        lambda i, j: (LIGHT_ORANGE if i // 2 != 1 else "#eeb37a") if j // 2 == 2 else PAPER,
    )
    matrix(15.0, "A B", lambda i, j: LIGHT_GREEN if (i // 2, j // 2) == (1, 2) else PAPER)
    arrow(ax, (12.0, 3.3), (14.6, 3.3))
    words(ax, 5.9, 3.3, "·", fontsize=16)
    words(
        ax,
        9.8,
        0.5,
        "one block of threads, one block of the result: pairs of tiles pass through shared memory, one after the other",
        MUTED,
        fontsize=9,
    )
    return drawn
