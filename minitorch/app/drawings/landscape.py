"""A function of two numbers as a surface in space, seen from the side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .picture import ACCENT, FAINT, INK, Picture, shorten, two_colours

Rows = Sequence[Sequence[float | None]]
Spot = tuple[float, float, float]

WIDTH, HEIGHT = 380, 346
TILT = 0.5
"""How much of the depth is seen: 0 from the side, 1 from above."""


def landscape(
    rows: Rows,
    ranges: tuple[tuple[float, float], tuple[float, float]],
    title: str,
    *,
    turn: float = 35,
    spot: Spot | None = None,
) -> Picture:
    """Draw `rows[j][i]`, the value at the i-th x and the j-th y, turned by an angle in degrees.

    Args:
        rows: the values; None where there is none
        ranges: from where to where x and y go
        title: what is drawn
        turn: the angle from which it is seen
        spot: a point (x, y, value) to mark
    """
    heights = np.array([[np.nan if v is None else v for v in row] for row in rows], float)
    low, high = limits(heights)
    picture = Picture(WIDTH, HEIGHT, title)
    picture.text(WIDTH / 2, 12, title, bold=True)
    place = _Camera(turn)
    _floor(picture, place, ranges)
    levels = np.clip((heights - low) / (high - low), 0, 1)
    _patches(picture, place, levels)
    if spot is not None:
        _mark(picture, place, ranges, spot, (spot[2] - low) / (high - low))
    picture.text(WIDTH / 2, HEIGHT - 8, _about(heights, low, high), size=13)
    return picture


def _about(heights: npt.NDArray[np.float64], low: float, high: float) -> str:
    known = heights[np.isfinite(heights)]
    if not known.size:
        return "no value anywhere here"
    if known.max() - known.min() < 1e-12:
        return f"{shorten(float(known[0]))} everywhere"
    return f"from {shorten(low)} (red) to {shorten(high)} (blue)"


def limits(heights: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The heights between which to draw; a few that stand out far are cut off."""
    known = heights[np.isfinite(heights)]
    if not known.size:
        return 0.0, 1.0
    low, high = (float(v) for v in np.quantile(known, [0.02, 0.98]))
    if high - low < 0.2 * float(known.max() - known.min()):  # a spike: leave it out
        low, high = (low, high) if high > low else (float(known.min()), float(known.max()))
    else:
        low, high = float(known.min()), float(known.max())
    return (low - 1, high + 1) if high - low < 1e-12 else (low, high)


class _Camera:
    """From the unit cube to the picture."""

    def __init__(self, turn: float) -> None:
        self.cos, self.sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))

    def __call__(self, x: float, y: float, z: float) -> tuple[float, float]:
        across, depth = self._turned(x, y)
        return WIDTH / 2 + 230 * across, 166 - 230 * TILT * depth + 105 * (0.5 - z)

    def depth(self, x: float, y: float) -> float:
        """How far behind a point lies."""
        return self._turned(x, y)[1]

    def _turned(self, x: float, y: float) -> tuple[float, float]:
        u, v = x - 0.5, y - 0.5
        return u * self.cos - v * self.sin, u * self.sin + v * self.cos


def _floor(picture: Picture, place: _Camera, ranges: tuple[tuple[float, float], ...]) -> None:
    corners = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    picture.line([place(x, y, 0) for x, y in corners], color=FAINT)
    front = min((0, 1), key=lambda y: place.depth(0.5, y))
    side = min((0, 1), key=lambda x: place.depth(x, 0.5))
    for share, value in zip((0, 0.5, 1), (ranges[0][0], "x", ranges[0][1]), strict=True):
        x, y = place(share, front + (0.13 if front else -0.13), 0)
        picture.text(x, y, shorten(value), size=12, bold=value == "x")
    for share, value in zip((0, 0.5, 1), (ranges[1][0], "y", ranges[1][1]), strict=True):
        x, y = place(side + (0.13 if side else -0.13), share, 0)
        picture.text(x, y, shorten(value), size=12, bold=value == "y")


def _patches(picture: Picture, place: _Camera, levels: npt.NDArray[np.float64]) -> None:
    rows, columns = levels.shape
    patches = []
    for j in range(rows - 1):
        for i in range(columns - 1):
            z = levels[j : j + 2, i : i + 2]
            if np.isnan(z).any():
                continue
            x0, x1 = i / (columns - 1), (i + 1) / (columns - 1)
            y0, y1 = j / (rows - 1), (j + 1) / (rows - 1)
            corners = [(x0, y0, z[0, 0]), (x1, y0, z[0, 1]), (x1, y1, z[1, 1]), (x0, y1, z[1, 0])]
            patches.append((-place.depth(x0, y0), corners, float(z.mean())))
    patches.sort(key=lambda patch: patch[0])
    if not patches:
        return
    colours = two_colours([patch[2] for patch in patches])
    for (_, corners, _), colour in zip(patches, colours, strict=True):
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (place(*c) for c in corners)) + "Z"
        fill = "#{:02x}{:02x}{:02x}".format(*colour)
        picture.add("path", d=path, fill=fill, stroke="#6b7280", stroke_width=0.4)


def _mark(
    picture: Picture,
    place: _Camera,
    ranges: tuple[tuple[float, float], tuple[float, float]],
    spot: Spot,
    level: float,
) -> None:
    (left, right), (near, far) = ranges
    x, y = (spot[0] - left) / (right - left), (spot[1] - near) / (far - near)
    level = min(max(level, 0), 1)
    picture.line([place(x, y, 0), place(x, y, level)], color=INK, dash="3 3", thick=1)
    picture.circle(*place(x, y, level), 5, ACCENT, line="#ffffff", thick=1.5)
