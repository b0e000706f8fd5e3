"""A line that separates points: the picture of both, and the points by their score."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from .picture import ACCENT, BLUE, GREY, RED, Picture, surface

SIZE, RADIUS = 420, 6
COLOUR = alt.Color("label:N", scale=alt.Scale(domain=[0, 1], range=[RED, BLUE]), legend=None)


def draw(
    data: dict[str, Any], judged: dict[str, Any], parameters: list[float], chosen: int
) -> Picture:
    """The points over the surface, the line, and the distance of the chosen point from it."""
    points = data["points"]
    picture = surface(points, data["labels"], judged["surface"], size=SIZE, radius=RADIUS)
    ends = line_ends(*parameters)
    if ends:
        picture.line([spot(*end) for end in ends], color="#1f2937", thick=2)
    distance = judged["distances"][chosen]
    if distance is not None:
        x, y = points[chosen]
        length = math.hypot(parameters[0], parameters[1])
        foot = (x - distance * parameters[0] / length, y - distance * parameters[1] / length)
        picture.line([spot(x, y), spot(*foot)], color=ACCENT, thick=2, dash="4 3")
    for number, (point, right) in enumerate(zip(points, judged["right"], strict=True)):
        if not right:
            picture.circle(*spot(*point), RADIUS + 3, line="#111827", thick=1.5)
        words = f"point {number + 1}: score {judged['scores'][number]:.2f}"
        picture.circle(
            *spot(*point), RADIUS + 5, "transparent", line="none", id=str(number), tip=words
        )
    picture.circle(*spot(*points[chosen]), RADIUS + 5, line=ACCENT, thick=2.5)
    return picture


def spot(x: float, y: float) -> tuple[float, float]:
    """A point of the unit square in the picture."""
    inner = SIZE - 2 * RADIUS
    return x * inner + RADIUS, (1 - y) * inner + RADIUS


def line_ends(w1: float, w2: float, b: float) -> list[tuple[float, float]]:
    """Where the line w1 x + w2 y + b = 0 enters and leaves the unit square."""
    found = []
    for edge in (0.0, 1.0):
        if w2 and 0 <= -(w1 * edge + b) / w2 <= 1:
            found.append((edge, -(w1 * edge + b) / w2))
        if w1 and 0 <= -(w2 * edge + b) / w1 <= 1:
            found.append((-(w2 * edge + b) / w1, edge))
    found = list(dict.fromkeys(found))
    return [found[0], found[-1]] if len(found) > 1 else []


def draw_flat(
    data: dict[str, Any], judged: dict[str, Any], losses: list[float] | None
) -> list[Any]:
    """The points by their score: their probability, and what they cost."""
    scores = judged["scores"]
    reach = max(4.0, *(abs(s) for s in scores))
    line = pd.DataFrame({"score": np.linspace(-reach, reach, 101)})
    points = pd.DataFrame({"score": scores, "label": data["labels"], "chance": judged["chances"]})
    line["chance"] = 1 / (1 + np.exp(-line["score"]))
    charts = [_layers(line, points, "chance", "probability of blue")]
    if losses is not None:
        points["loss"] = losses
        cost = pd.concat(
            line.assign(loss=np.log1p(np.exp(sign * line["score"])), label=label)
            for label, sign in ((0, 1), (1, -1))
        )
        charts.append(_layers(cost, points, "loss", "loss"))
    return charts


def _layers(line: pd.DataFrame, points: pd.DataFrame, field: str, title: str) -> Any:
    x, y = alt.X("score", title="score"), alt.Y(field, title=title)
    curve: Any = alt.Chart(line).mark_line(color=GREY, clip=True).encode(x=x, y=y)
    if "label" in line:
        curve = curve.encode(color=COLOUR)
    dots = alt.Chart(points).mark_circle(size=60, opacity=0.85)
    zero = alt.Chart(pd.DataFrame({"score": [0]})).mark_rule(strokeDash=[4, 4], color=GREY)
    return alt.layer(zero.encode(x=x), curve, dots.encode(x=x, y=y, color=COLOUR)).properties(
        height=230
    )
