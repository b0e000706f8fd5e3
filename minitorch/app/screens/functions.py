"""The page of functions: values, tangents, and three ways to find the slope."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawing import ACCENT, BLUE, GREY, VIOLET
from minitorch.app.frame import View, begin, columns, library, show_difference, views
from minitorch.app.inside.expression import ExpressionError
from minitorch.app.inside.functions import ONE, OPERATORS, REDUCE, TWO, check
from minitorch.app.landscape import landscape
from minitorch.app.library import Missing, Problem
from minitorch.course.stubs import LIBRARY

KINDS = {
    "operators": "Your operators",
    "one": "One argument",
    "two": "Two arguments",
    "reduce": "Reduce",
    "typed": "Type your own",
}
LISTS = {"operators": OPERATORS, "one": ONE, "two": TWO, "reduce": REDUCE}
FIRST = {"operators": "sigmoid", "one": "square", "two": "mul2", "reduce": "sum_red"}
TWO_NUMBERS = ("add", "mul", "max", "lt", "eq", "is_close", "log_back", "inv_back", "relu_back")
STEPS = [f"1e-{k:02}" for k in range(1, 13)]
FINE_STEPS = [float(10.0 ** (-k / 2)) for k in range(1, 27)]
CURVE, GRID = 161, 25
LEAST = 1e-17  # the smallest error that is drawn
NAMES = {
    "central": "central difference",
    "forward": "difference to the right only",
    "autodiff": "autodiff",
}
COLOURS = {"central": ACCENT, "forward": VIOLET, "autodiff": BLUE}
WAYS = {"autodiff": BLUE, "central difference": ACCENT, "reference": "#22a35a"}

Ranges = tuple[tuple[float, float], tuple[float, float]]


# --- What to draw ---------------------------------------------------------------------------


def choose_function() -> tuple[str, str, list[str]] | None:
    """Kind, name and variables of the chosen function; None if what was typed is none."""
    kind = st.segmented_control(
        "Which functions", list(KINDS), default="operators", format_func=KINDS.__getitem__,
        required=True, key="fkind", bind="query-params",
    )  # fmt: skip
    if kind == "typed":
        return _typed()
    names = list(LISTS[kind])
    name = st.selectbox(
        "Function", names, index=names.index(FIRST[kind]), key=f"f{kind}", bind="query-params"
    )
    two = kind in ("two", "reduce") or (kind == "operators" and name in TWO_NUMBERS)
    variables = ["x", "y"] if two else ["x"]
    st.markdown(f"`{name}({', '.join(variables)}) = {LISTS[kind][name]}`")
    return kind, name, variables


def _typed() -> tuple[str, str, list[str]] | None:
    text = st.text_input(
        "An expression in x, or in x and y", "sigmoid(3 * x) - x ** 2", key="ftext",
        bind="query-params", help="+ - * / ** < > ==, exp, log, sigmoid, relu, inv, neg, max",
    )  # fmt: skip
    try:
        return "typed", text, check(text)
    except ExpressionError as error:
        st.warning(
            f"This cannot be drawn: {error}. Allowed are numbers, x and y, the signs "
            "+ - * / ** < > == and the functions exp, log, sigmoid, relu, inv, neg, max."
        )
        return None


def choose_range(variable: str) -> tuple[float, float, float]:
    """From where to where a variable goes, and the point to look at."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        low = _end(f"{variable} from", -4.0, f"{variable}from")
        high = _end(f"{variable} to", 4.0, f"{variable}to")
        share = st.slider(
            f"Point {variable}", 0, 100, 65, format="%d %%", key=f"{variable}at", width=420,
            bind="query-params",
            help="Where to look closely, from the left end of the range (0 %) to the right",
        )  # fmt: skip
    if high - low < 0.01:
        st.warning("A range goes from a smaller number to a larger one; this one is 1 wide now.")
        high = low + 1
    return low, high, round(low + (high - low) * share / 100, 6)


def _end(label: str, value: float, key: str) -> float:
    return st.number_input(
        label, -1000.0, 1000.0, value, 1.0, format="%g", key=key, bind="query-params", width=140
    )


# --- Answers --------------------------------------------------------------------------------


def slopes(view: View, asked: dict[str, Any], variable: str) -> dict[str, Any]:
    """The slopes at points, by each way that is written; one card where one is not."""
    found: dict[str, Any] = {}
    autodiff = view.library.ask("functions.autodiff", **asked, variable=variable)
    central = view.library.ask("functions.central", **asked, epsilon=chosen_step())
    ours = library(str(LIBRARY.parent)).ask("functions.autodiff", **asked, variable="Scalar")
    if not isinstance(autodiff, (Missing, Problem)):
        found["autodiff"] = autodiff["slopes"]
    if not isinstance(central, (Missing, Problem)):
        found["central difference"] = central
    if not isinstance(ours, (Missing, Problem)):
        found["reference"] = ours["slopes"]
    for answer in (central, autodiff):
        if view.checked(answer) is None:
            break
    return found


def chosen_step() -> float:
    """The step of the central difference."""
    return float(st.session_state.get("fstep", "1e-05"))


def number(value: float | None) -> str:
    """A number for a table, or a word where there is none."""
    return "none" if value is None else f"{value:.6g}"


# --- One argument ----------------------------------------------------------------------------


def draw_curve(
    view: View, kind: str, name: str, area: tuple[float, float, float], variable: str
) -> Any:
    """The curve with its tangent, its slopes, and the error over the step size."""
    low, high, at = area
    xs = [float(x) for x in np.linspace(low, high, CURVE)]
    asked = {"kind": kind, "name": name, "points": [[x] for x in [*xs, at]]}
    values = view.ask("functions.values", **asked)
    if values is None:
        return None
    place = st.container()
    found = slopes(view, asked, variable)
    here = {way: rows[-1][0] for way, rows in found.items()}
    slope = next((d for d in here.values() if d is not None), None)
    with place:
        st.altair_chart(_curve(xs, values, at, slope), width="stretch", key=f"curve-{view.name}")
        _say_where(values[:-1])
        _metrics(at, values[-1], here)
    lines = {way: [row[0] for row in rows[:-1]] for way, rows in found.items()}
    if any(way != "reference" for way in lines):
        st.markdown("##### The slope at every point")
        st.altair_chart(_slopes(xs, lines, at), width="stretch", key=f"slopes-{view.name}")
        legend({way: WAYS[way] for way in lines})
    if "central difference" in lines:
        _draw_error(view, kind, name, at, here)
    return {"values": values, "slopes": found.get("autodiff", found.get("central difference"))}


def _curve(xs: list[float], values: list[Any], at: float, slope: float | None) -> Any:
    frame = pd.DataFrame({"x": xs, "f(x)": values[:-1]})
    chart = alt.Chart(frame).mark_line(color=BLUE, strokeWidth=2.5).encode(x="x", y="f(x)")
    here = values[-1]
    layers: list[Any] = [chart]
    if here is not None and slope is not None:
        reach = 0.25 * (xs[-1] - xs[0])
        ends = [max(xs[0], at - reach), min(xs[-1], at + reach)]
        tangent = pd.DataFrame({"x": ends, "f(x)": [here + slope * (x - at) for x in ends]})
        layers.append(
            alt.Chart(tangent).mark_line(color=ACCENT, strokeDash=[6, 4]).encode(x="x", y="f(x)")
        )
    if here is not None:
        point = pd.DataFrame({"x": [at], "f(x)": [here]})
        layers.append(
            alt.Chart(point).mark_circle(color=ACCENT, size=90, opacity=1).encode(x="x", y="f(x)")
        )
    return alt.layer(*layers).properties(height=320)


def _say_where(values: list[Any]) -> None:
    lacking = sum(value is None for value in values)
    words = "The dashed line is the tangent at the point."
    if lacking == len(values):
        words = "The function has no value anywhere in this range; choose another."
    elif lacking:
        words += f" In {100 * lacking / len(values):.0f} % of the range the function has no value."
    st.caption(words)


def _metrics(at: float, value: float | None, here: dict[str, float | None]) -> None:
    with st.container(horizontal=True):
        st.metric(f"f({at:g})", number(value), width="content")
        for way, slope in here.items():
            st.metric(f"slope: {way}", number(slope), width="content")


def _slopes(xs: list[float], lines: dict[str, list[Any]], at: float) -> Any:
    """The lines over each other: the reference wide and pale, the others on top."""
    looks = {
        "reference": {"strokeWidth": 8, "opacity": 0.35},
        "autodiff": {"strokeWidth": 2.5},
        "central difference": {"strokeWidth": 2.5, "strokeDash": [6, 6]},
    }
    layers: list[Any] = []
    for way, look in looks.items():
        if way in lines:
            frame = pd.DataFrame({"x": xs, "slope": lines[way]})
            line = alt.Chart(frame).mark_line(color=WAYS[way], clip=True, **look)
            layers.append(line.encode(x="x", y="slope"))
    rule = alt.Chart(pd.DataFrame({"x": [at]})).mark_rule(color=GREY, strokeDash=[2, 4])
    return alt.layer(*layers, rule.encode(x="x")).properties(height=300)


def legend(colours: dict[str, str]) -> None:
    """What the colours of a chart stand for."""
    st.html(
        " &emsp; ".join(
            f'<span style="white-space: nowrap"><b style="color: {colour}">&#9473;</b> {name}</span>'
            for name, colour in colours.items()
        )
    )


# --- The error -----------------------------------------------------------------------------------


def _draw_error(view: View, kind: str, name: str, at: float, here: dict[str, Any]) -> None:
    truth = here.get("reference")
    st.markdown(f"##### How wrong the slope at {at:g} is, for each step size")
    asked = view.ask("functions.by_step", kind=kind, name=name, point=[at], epsilons=FINE_STEPS)
    if asked is None:
        return
    if truth is None:
        st.caption("There is no slope at this point to compare with; move the point.")
        return
    errors = {way: [_error(d, truth) for d in found] for way, found in asked.items()}
    if here.get("autodiff") is not None:
        errors["autodiff"] = [_error(here["autodiff"], truth)] * len(FINE_STEPS)
    st.altair_chart(_errors(errors), width="stretch", key=f"errors-{view.name}")
    legend({NAMES[way]: COLOURS[way] for way in errors})
    st.caption(_about_error(errors["central"]))


def _error(slope: float | None, truth: float) -> float | None:
    """The distance, at least what can be drawn on a logarithmic scale."""
    return None if slope is None else max(abs(slope - truth), LEAST)


def _about_error(errors: list[float | None]) -> str:
    known = [(e, step) for e, step in zip(errors, FINE_STEPS, strict=True) if e is not None]
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
    return words + "Larger steps see the curve bend, smaller ones lose digits to rounding."


def _errors(errors: dict[str, list[Any]]) -> Any:
    def log(field: str) -> dict[str, Any]:
        return {
            "shorthand": field,
            "scale": alt.Scale(type="log"),
            "axis": alt.Axis(format=".0e", tickCount=6),
        }

    layers = []
    for way, found in errors.items():
        frame = pd.DataFrame({"step": FINE_STEPS, "error": found}).dropna()
        dots = way != "autodiff" and alt.OverlayMarkDef(size=25, color=COLOURS[way])
        line = alt.Chart(frame).mark_line(color=COLOURS[way], clip=True, point=dots)
        layers.append(line.encode(x=alt.X(**log("step")), y=alt.Y(**log("error"))))
    return alt.layer(*layers).properties(height=320)


# --- Two arguments, and lists ----------------------------------------------------------------------


def draw_surfaces(
    view: View, kind: str, name: str, areas: list[tuple[float, float, float]], variable: str
) -> Any:
    """The function and its two slopes as surfaces."""
    (x0, x1, x), (y0, y1, y) = areas
    xs, ys = np.linspace(x0, x1, GRID), np.linspace(y0, y1, GRID)
    points = [[float(a), float(b)] for b in ys for a in xs] + [[x, y]]
    asked = {"kind": kind, "name": name, "points": points}
    values = view.ask("functions.values", **asked)
    if values is None:
        return None
    found = slopes(view, asked, variable)
    way = "autodiff" if "autodiff" in found else "central difference"
    surfaces = {"f(x, y)": values}
    if way in found:
        surfaces["slope in x"] = [row[0] for row in found[way]]
        surfaces["slope in y"] = [row[1] for row in found[way]]
    ranges: Ranges = ((x0, x1), (y0, y1))
    _show_surfaces(view, surfaces, ranges, (x, y))
    here = {f"{way}, {v}": rows[-1][i] for way, rows in found.items() for i, v in enumerate("xy")}
    st.markdown(f"At **({x:g}, {y:g})** the value is **{number(values[-1])}**. The slopes there:")
    rows = {"slope": ["in x", "in y"]}
    for way in found:
        rows[way] = [number(here[f"{way}, {v}"]) for v in "xy"]
    st.dataframe(rows, hide_index=True, key=f"table-{view.name}")
    return {"values": values, "slopes": found.get("autodiff", found.get("central difference"))}


def _show_surfaces(
    view: View, surfaces: dict[str, list[Any]], ranges: Ranges, at: tuple[float, float]
) -> None:
    turn = st.session_state.get("fturn", 35)
    alone = len(views(view.room)) == 1
    places = st.columns(3) if alone else [st.container() for _ in surfaces]
    for (title, values), place in zip(surfaces.items(), places, strict=False):
        rows = [values[j * GRID : (j + 1) * GRID] for j in range(GRID)]
        spot = None if values[-1] is None else (*at, values[-1])
        picture = landscape(rows, ranges, title, turn=turn, spot=spot)
        with place:
            board(picture, key=f"surface-{view.name}-{title}")


def draw_fold(view: View, name: str) -> bool:
    """A list of the user's, folded from the left; False where it cannot be."""
    numbers = _read_list()
    if numbers is None:
        return True
    folded = view.ask("functions.fold", name=name, numbers=numbers)
    if folded is None:
        return False
    rows = {"element": numbers, "total so far": [number(total) for total in folded["totals"]]}
    st.dataframe(rows, hide_index=True, key=f"fold-{view.name}")
    st.markdown(f"`{name}` of the whole list gives **{number(folded['result'])}**.")
    return True


def _read_list() -> list[float] | None:
    text = st.session_state.get("flist", "3, 1, 4, 1, 5")
    try:
        numbers = [float(part) for part in text.replace("[", "").replace("]", "").split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 20 or not all(math.isfinite(n) for n in numbers):
        st.warning("A list is 1 to 20 numbers with commas between them: 3, 1, 4")
        return None
    return numbers


# --- The page ----------------------------------------------------------------------------------

room = begin("functions")
chosen = choose_function()
if chosen is not None:
    kind, name, variables = chosen
    areas = [choose_range(v) for v in variables]
    with st.container(horizontal=True):
        variable = "Tensor"
        if kind != "reduce":
            variable = st.segmented_control(
                "Autodiff with", ["Scalar", "Tensor"], default="Scalar", required=True, key="fwith",
                bind="query-params",
            )  # fmt: skip
        st.select_slider(
            "Step of the central difference", STEPS, "1e-05", key="fstep", bind="query-params",
            width=260,
        )  # fmt: skip
        if len(variables) == 2:
            st.slider("Turn", 0, 360, 35, 5, key="fturn", bind="query-params", width=260)
    if kind == "reduce":
        st.text_input("A list to reduce", "3, 1, 4, 1, 5", key="flist", bind="query-params")
    answers = []
    for view in columns(room):
        if kind == "reduce" and not draw_fold(view, name):
            continue
        if len(variables) == 1:
            answers.append(draw_curve(view, kind, name, areas[0], variable))
        else:
            answers.append(draw_surfaces(view, kind, name, areas, variable))
    show_difference(answers)
