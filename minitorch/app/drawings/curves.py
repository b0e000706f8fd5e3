"""Charts of a function of one number: its curve, its slopes, and the error of the slopes."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from .landscape import limits
from .picture import ACCENT, BLUE, GREY, VIOLET

STEPS = [float(10.0 ** (-k / 2)) for k in range(1, 27)]
"""The step sizes over which the error is drawn."""
LEAST = 1e-17
"""The smallest error that is drawn."""
WAYS = {"autodiff": BLUE, "central difference": ACCENT, "reference": "#22a35a"}
OWN_WAYS = ("autodiff", "central difference")
"""What comes from the library that a page shows."""
NAMES = {
    "central": "central difference",
    "forward": "difference to the right only",
    "autodiff": "autodiff",
}
COLOURS = {"central": ACCENT, "forward": VIOLET, "autodiff": BLUE}


def draw_curve(xs: list[float], values: list[Any], at: float, slope: float | None) -> Any:
    """The curve, the point at `at` (its value is the last of `values`) and the tangent there."""
    frame = pd.DataFrame({"x": xs, "f(x)": values[:-1]})
    here = values[-1]
    y = alt.Y("f(x)", scale=_scale(values))
    chart = alt.Chart(frame).mark_line(color=BLUE, strokeWidth=2.5, clip=True).encode(x="x", y=y)
    layers: list[Any] = [chart]
    if here is not None and slope is not None:
        reach = 0.25 * (xs[-1] - xs[0])
        ends = [max(xs[0], at - reach), min(xs[-1], at + reach)]
        tangent = pd.DataFrame({"x": ends, "f(x)": [here + slope * (x - at) for x in ends]})
        layers.append(
            alt.Chart(tangent)
            .mark_line(color=ACCENT, strokeDash=[6, 4], clip=True)
            .encode(x="x", y="f(x)")
        )
    if here is not None:
        point = pd.DataFrame({"x": [at], "f(x)": [here]})
        layers.append(
            alt.Chart(point).mark_circle(color=ACCENT, size=90, opacity=1).encode(x="x", y="f(x)")
        )
    return alt.layer(*layers).properties(height=320)


def tangent(slopes: dict[str, float | None]) -> tuple[str, float | None]:
    """The slope of the tangent and what it is from: the library that is shown, never another."""
    for way in OWN_WAYS:
        if slopes.get(way) is not None:
            return way, slopes[way]
    return "", None


def draw_slopes(xs: list[float], lines: dict[str, list[Any]], at: float) -> Any:
    """The lines over each other: the reference wide and pale, the others on top."""
    looks = {
        "reference": {"strokeWidth": 8, "opacity": 0.35},
        "autodiff": {"strokeWidth": 2.5},
        "central difference": {"strokeWidth": 2.5, "strokeDash": [6, 6]},
    }
    known = [slope for slopes in lines.values() for slope in slopes]
    layers: list[Any] = []
    for way, look in looks.items():
        if way in lines:
            frame = pd.DataFrame({"x": xs, "slope": lines[way]})
            line = alt.Chart(frame).mark_line(color=WAYS[way], clip=True, **look)
            layers.append(line.encode(x="x", y=alt.Y("slope", scale=_scale(known))))
    rule = alt.Chart(pd.DataFrame({"x": [at]})).mark_rule(color=GREY, strokeDash=[2, 4])
    return alt.layer(*layers, rule.encode(x="x")).properties(height=300)


def _scale(values: list[Any]) -> Any:
    """From the least value to the most; a few that stand out far, as beside a pole, are cut off."""
    low, high = limits(np.array([np.nan if v is None else v for v in values], float))
    margin = 0.05 * (high - low)
    return alt.Scale(domain=[low - margin, high + margin], zero=False, nice=False)


def error(slope: float | None, truth: float) -> float | None:
    """The distance, at least what can be drawn on a logarithmic scale."""
    return None if slope is None else max(abs(slope - truth), LEAST)


def about_error(errors: list[float | None]) -> str:
    """Where the central difference is best, in words."""
    known = [(e, step) for e, step in zip(errors, STEPS, strict=True) if e is not None]
    if not known:
        return "No step stays where the function has values; move the point."
    best, step = min(known)
    off = "exact" if best <= LEAST else f"off by {best:.0e}"
    words = (
        "Measured against the slope that the reference's autodiff gives. The central difference "
        f"is best with a step near {step:.0e}, where it is {off}. "
    )
    if step > 0.05:
        return words + "Here even large steps are right; small ones lose digits to rounding."
    return words + "Larger steps miss the curvature, smaller ones lose digits to rounding."


def draw_errors(errors: dict[str, list[Any]]) -> Any:
    """The error of each way over the step, both on a logarithmic scale."""

    def log(field: str) -> dict[str, Any]:
        return {
            "shorthand": field,
            "scale": alt.Scale(type="log"),
            "axis": alt.Axis(format=".0e", tickCount=6),
        }

    layers = []
    for way, found in errors.items():
        frame = pd.DataFrame({"step": STEPS, "error": found}).dropna()
        dots = way != "autodiff" and alt.OverlayMarkDef(size=25, color=COLOURS[way])
        line = alt.Chart(frame).mark_line(color=COLOURS[way], clip=True, point=dots)
        layers.append(line.encode(x=alt.X(**log("step")), y=alt.Y(**log("error"))))
    return alt.layer(*layers).properties(height=320)
