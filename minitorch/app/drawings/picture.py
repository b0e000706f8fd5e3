"""Pictures in SVG: rectangles, circles, lines, arrows, texts, and small images from arrays."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Sequence
from html import escape, unescape
from typing import Any

import numpy as np
import numpy.typing as npt

INK = "var(--st-text-color, #31333f)"
FAINT = "var(--st-border-color, #d5d6d9)"
PAPER = "var(--st-background-color, #ffffff)"
ACCENT = "#c2410c"
BLUE, RED, GREEN, VIOLET, GREY = "#2563eb", "#dc2626", "#15803d", "#7c3aed", "#6b7280"
SHADES = ("#fed7aa", "#bfdbfe", "#bbf7d0", "#ddd6fe", "#fecaca", "#e5e7eb")


class Picture:
    """A drawing of a given size, in pixels; shapes with an `id` can be clicked on a board."""

    def __init__(self, width: float, height: float, title: str = "") -> None:
        self.width, self.height = round(width), round(height)
        self.title = title
        self.parts: list[str] = []

    def __str__(self) -> str:
        title = f"<title>{escape(self.title)}</title>" if self.title else ""
        role = "group" if any(" data-id=" in part for part in self.parts) else "img"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" role="{role}" font-size="14">{title}{"".join(self.parts)}</svg>'
        )

    def add(self, tag: str, inner: str = "", **attributes: Any) -> None:
        """Add an element; `_` in a name becomes `-`, and what is None is left out.

        What has a `data_id` can be clicked, and needs a `<title>`: by it a screen reader names it.
        """
        if attributes.get("data_id") is not None:
            name = re.match(r"<title>(.+?)</title>", inner)
            if name is None:
                raise ValueError(f"the shape {attributes['data_id']!r} can be clicked: name it")
            attributes |= {"role": "button", "aria_label": unescape(name[1])}
        given = "".join(
            f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
            for name, value in attributes.items()
            if value is not None
        )
        self.parts.append(f"<{tag}{given}>{inner}</{tag}>")

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        *,
        line: str = INK,
        thick: float = 1,
        round: float = 0,
        dash: str | None = None,
        id: str | None = None,
        tip: str = "",
    ) -> None:
        """A rectangle from its upper left corner."""
        self.add(
            "rect", _tip(tip), x=x, y=y, width=width, height=height, rx=round, fill=fill,
            stroke=line, stroke_width=thick, stroke_dasharray=dash, data_id=id,
        )  # fmt: skip

    def circle(
        self,
        x: float,
        y: float,
        radius: float,
        fill: str = "none",
        *,
        line: str = INK,
        thick: float = 1,
        id: str | None = None,
        tip: str = "",
    ) -> None:
        """A circle around a point."""
        self.add(
            "circle", _tip(tip), cx=x, cy=y, r=radius, fill=fill, stroke=line, stroke_width=thick,
            data_id=id,
        )  # fmt: skip

    def text(
        self,
        x: float,
        y: float,
        words: object,
        *,
        size: float = 14,
        color: str = INK,
        anchor: str = "middle",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """Words, with `y` the middle of the line; a click goes through to what is below."""
        self.add(
            "text", escape(str(words)), x=x, y=y, fill=color, font_size=size, text_anchor=anchor,
            dominant_baseline="central", font_weight="600" if bold else None,
            font_family="var(--st-code-font, monospace)" if mono else None, pointer_events="none",
        )  # fmt: skip

    def line(
        self,
        points: Sequence[tuple[float, float]],
        *,
        color: str = INK,
        thick: float = 1.5,
        dash: str | None = None,
        arrow: bool = False,
    ) -> None:
        """A line through points, with an arrow head at its end if asked for."""
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.add(
            "path", d=path, fill="none", stroke=color, stroke_width=thick, stroke_dasharray=dash,
            stroke_linejoin="round",
        )  # fmt: skip
        if arrow:
            self._head(points[-2], points[-1], color)

    def _head(self, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
        along = np.subtract(end, start)
        along = 8 * along / (np.hypot(*along) or 1)
        aside = 0.45 * np.array([-along[1], along[0]])
        back = np.array(end) - along
        corners = [np.array(end), back + aside, back - aside]
        path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in corners) + " Z"
        self.add("path", d=path, fill=color)

    def image(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        pixels: npt.NDArray[np.uint8],
        *,
        smooth: bool = False,
    ) -> None:
        """An array of (rows, columns, 3) as an image."""
        data = base64.b64encode(as_png(pixels)).decode()
        self.add(
            "image", x=x, y=y, width=width, height=height, href=f"data:image/png;base64,{data}",
            preserveAspectRatio="none", style=None if smooth else "image-rendering: pixelated",
        )  # fmt: skip

    def cells(
        self,
        x: float,
        y: float,
        values: Sequence[Sequence[object]],
        *,
        size: float = 44,
        fills: Sequence[Sequence[str]] | None = None,
        lit: set[tuple[int, int]] | frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        """A grid of numbers; `lit` cells have a thick border."""
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                self.box(
                    x + j * size, y + i * size, size, size,
                    fills[i][j] if fills else PAPER, line=FAINT,
                )  # fmt: skip
                dark = INK if not fills or fills[i][j] == PAPER else "#1f2937"
                self.text(
                    x + (j + 0.5) * size, y + (i + 0.5) * size, shorten(value),
                    size=size * 0.32, color=dark,
                )  # fmt: skip
        for i, j in lit:
            self.box(x + j * size, y + i * size, size, size, line=ACCENT, thick=3)


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def shorten(value: object) -> str:
    """A number in few characters, as a cell can hold it.

    >>> shorten(2.0), shorten(0.12345), shorten("x")
    ('2', '0.123', 'x')
    """
    if isinstance(value, float):
        value += 0.0  # -0 is 0
        whole = (value.is_integer() or abs(value) >= 1000) and abs(value) < 1e6
        return f"{value:.0f}" if whole else f"{value:.3g}"
    return str(value)


# --- Colours and images ----------------------------------------------------------------------


def two_colours(
    values: npt.ArrayLike, low: float = 0.0, high: float = 1.0
) -> npt.NDArray[np.uint8]:
    """Numbers as pixels from red over white to blue."""
    share = np.clip((np.asarray(values, float) - low) / ((high - low) or 1.0), 0, 1)[..., None]
    share = np.nan_to_num(share, nan=0.5)
    red, white, blue = (
        np.array([248, 113, 113]),
        np.array([255, 255, 255]),
        np.array([96, 165, 250]),
    )
    mixed = np.where(
        share < 0.5, red + (white - red) * share * 2, white + (blue - white) * (share * 2 - 1)
    )
    return mixed.astype(np.uint8)


def greys(values: npt.ArrayLike, low: float = 0.0, high: float = 1.0) -> npt.NDArray[np.uint8]:
    """Numbers as pixels from black to white."""
    share = np.clip((np.asarray(values, float) - low) / ((high - low) or 1.0), 0, 1)
    return np.repeat((255 * share).astype(np.uint8)[..., None], 3, axis=-1)


def as_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """An array of (rows, columns, 3) as a PNG file."""
    rows, columns, _ = pixels.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), pixels.reshape(rows, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    head = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines.tobytes()))
        + chunk(b"IEND", b"")
    )


def surface(
    points: Sequence[tuple[float, float]],
    labels: Sequence[int],
    values: npt.ArrayLike | None,
    *,
    size: int = 360,
    radius: float = 5,
) -> Picture:
    """Points of the unit square over the values of a model on a grid: `values[row][column]`.

    The first row of `values` lies at the bottom. Red rings are label 0, blue discs label 1.
    """
    picture = Picture(size, size, "Points and the decision surface")
    if values is not None:
        picture.image(0, 0, size, size, two_colours(np.asarray(values, float)[::-1]), smooth=True)
    picture.box(0.5, 0.5, size - 1, size - 1, line=FAINT)
    for (x, y), label in zip(points, labels, strict=True):
        at = (x * (size - 2 * radius) + radius, (1 - y) * (size - 2 * radius) + radius)
        if label:
            picture.circle(*at, radius, BLUE, line="#ffffff")
        else:
            picture.circle(*at, radius, "#ffffff", line=RED, thick=2.5)
    return picture
