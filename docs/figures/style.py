"""How the figures look: colours, and the few shapes they are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle

INK = "#22303c"
MUTED = "#7b8894"
FAINT = "#d5dbe1"
BLUE = "#2f6fb0"
ORANGE = "#cf6f1e"
GREEN = "#2f8558"
RED = "#bf3f3a"

PAPER = "#ffffff"
GREY = "#f1f4f6"
LIGHT_BLUE = "#d9e8f6"
LIGHT_ORANGE = "#fbe3cc"
LIGHT_GREEN = "#d8eee1"
LIGHT_RED = "#f7d9d7"

SETTINGS: dict[Any, Any] = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "minitorch",
    "mathtext.fontset": "dejavusans",
}

FIGURES: dict[str, Callable[[], Figure]] = {}
"""Every figure, by the name of its file."""


def figure(name: str) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Register the function that draws a figure."""

    def register(draw: Callable[[], Figure]) -> Callable[[], Figure]:
        if name in FIGURES:
            raise ValueError(f"two figures are called {name!r}")
        FIGURES[name] = draw
        return draw

    return register


def save(name: str, folder: Path) -> Path:
    """Draw a figure into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    with plt.rc_context(SETTINGS):
        drawn = FIGURES[name]()
        drawn.savefig(path, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.08)
        plt.close(drawn)
    path.write_text(_squeezed(path.read_text()))
    return path


def _squeezed(svg: str) -> str:
    """The same picture in fewer bytes: coordinates of two decimals, no comments, no indentation.

    Numbers that a reader sees stand between tags, and stay as they are.
    """
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\.\d\d)\d+", r"\1", tag[0]), svg)
    return "\n".join(line.strip() for line in svg.splitlines() if line.strip()) + "\n"


# --- Drawings --------------------------------------------------------------------

UNIT = 0.46
"""Inches per unit of a drawing; a cell is one unit wide."""


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty drawing, measured in units, with the origin at the bottom left."""
    drawn, ax = plt.subplots(figsize=(width * UNIT, height * UNIT))
    drawn.subplots_adjust(left=0, right=1, bottom=0, top=1)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")
    return drawn, ax


def plots(columns: int, width: float = 3.0, height: float = 2.6) -> tuple[Figure, list[Any]]:
    """A row of ordinary plots."""
    drawn, axes = plt.subplots(
        1, columns, figsize=(width * columns, height), squeeze=False, layout="constrained"
    )
    return drawn, list(axes[0])


def words(ax: Axes, x: float, y: float, text: str, color: str = INK, **style: Any) -> None:
    """Write centred at a point."""
    style = {"ha": "center", "va": "center", **style}
    ax.text(x, y, text, color=color, **style)


def box(
    ax: Axes,
    x: float,
    y: float,
    text: str = "",
    width: float = 2.0,
    height: float = 1.0,
    fill: str = LIGHT_BLUE,
    edge: str = BLUE,
    **style: Any,
) -> None:
    """A rounded box centred at a point."""
    patch = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0,rounding_size=0.18",
        facecolor=fill,
        edgecolor=edge,
        linewidth=1.3,
    )
    ax.add_patch(patch)
    words(ax, x, y, text, **style)


def arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    color: str = INK,
    offset: tuple[float, float] = (0.0, 0.32),
    bend: float = 0.0,
    **style: Any,
) -> None:
    """An arrow, with words beside its middle."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=11,
            color=color,
            linewidth=1.4,
            shrinkA=0,
            shrinkB=0,
            connectionstyle=f"arc3,rad={bend}",
        )
    )
    if text:
        middle = (start[0] + end[0]) / 2 + offset[0], (start[1] + end[1]) / 2 + offset[1]
        words(ax, *middle, text, color=color, **{"fontsize": 9.5, **style})


def grid(
    ax: Axes,
    x: float,
    y: float,
    values: Sequence[Sequence[Any]],
    fill: str | Callable[[int, int], str] = PAPER,
    cell: float = 1.0,
    edge: str = INK,
    **style: Any,
) -> None:
    """A table of cells; (x, y) is its top left corner."""
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            colour = fill if isinstance(fill, str) else fill(i, j)
            corner = x + j * cell, y - (i + 1) * cell
            ax.add_patch(
                Rectangle(corner, cell, cell, facecolor=colour, edgecolor=edge, linewidth=1.0)
            )
            words(ax, corner[0] + cell / 2, corner[1] + cell / 2, str(value), **style)


def blank(rows: int, columns: int) -> list[list[str]]:
    """The values of a table without numbers."""
    return [[""] * columns for _ in range(rows)]


def cube(
    ax: Axes,
    x: float,
    y: float,
    shape: tuple[int, int, int],
    fill: Callable[[int, int, int], str] = lambda d, r, c: PAPER,
    cell: float = 0.7,
) -> None:
    """A stack of cells, depth first, seen from the front, above and the right.

    (x, y) is the bottom left corner of the front; `fill(depth, row, column)` colours a cell.
    """
    depth, rows, columns = shape
    slant = 0.42 * cell

    def face(corners: list[tuple[float, float]], colour: str) -> None:
        ax.add_patch(Polygon(corners, facecolor=colour, edgecolor=INK, linewidth=0.9))

    for r in range(rows):
        for c in range(columns):
            left, low = x + c * cell, y + (rows - 1 - r) * cell
            face(
                [(left, low), (left + cell, low), (left + cell, low + cell), (left, low + cell)],
                fill(0, r, c),
            )
    top, right = y + rows * cell, x + columns * cell
    for d in range(depth):
        a, b = d * slant, (d + 1) * slant
        for c in range(columns):
            left = x + c * cell
            face(
                [
                    (left + a, top + a),
                    (left + cell + a, top + a),
                    (left + cell + b, top + b),
                    (left + b, top + b),
                ],
                fill(d, 0, c),
            )
        for r in range(rows):
            low = y + (rows - 1 - r) * cell
            face(
                [
                    (right + a, low + a),
                    (right + b, low + b),
                    (right + b, low + cell + b),
                    (right + a, low + cell + a),
                ],
                fill(d, r, columns - 1),
            )
