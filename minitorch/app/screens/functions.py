"""The page of functions: values, tangents, and three ways to find the slope."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings import curves
from minitorch.app.drawings.grids import ShapeError, read_list
from minitorch.app.drawings.landscape import landscape
from minitorch.app.frame import View, begin, columns, library, show_difference, views
from minitorch.app.inside.expression import ExpressionError
from minitorch.app.inside.functions import ONE, OPERATORS, REDUCE, TWO, check
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
CURVE, GRID = 161, 25
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
    way, slope = curves.tangent(here)
    with place:
        st.altair_chart(
            curves.draw_curve(xs, values, at, slope), width="stretch", key=f"curve-{view.name}"
        )
        _say_where(values[:-1], way)
        _metrics(at, values[-1], here)
    lines = {way: [row[0] for row in rows[:-1]] for way, rows in found.items()}
    if any(way != "reference" for way in lines):
        st.markdown("##### The slope at every point")
        st.altair_chart(
            curves.draw_slopes(xs, lines, at), width="stretch", key=f"slopes-{view.name}"
        )
        legend({way: curves.WAYS[way] for way in lines})
    if "central difference" in lines:
        _draw_error(view, kind, name, at, here)
    return comparable(asked["points"], values, found)


def comparable(
    points: list[list[float]], values: list[Any], found: dict[str, Any]
) -> dict[str, Any]:
    """All that one library gave, by words that say what it is."""
    names = [", ".join(f"{v} = {n:g}" for v, n in zip("xy", p, strict=False)) for p in points]
    own = {f"slope by {way}": found[way] for way in curves.OWN_WAYS if way in found}
    rows = {"value": values, **own}
    return {what: dict(zip(names, row, strict=True)) for what, row in rows.items()}


def _say_where(values: list[Any], way: str) -> None:
    lacking = sum(value is None for value in values)
    words = (
        f"The dashed line is the tangent at the point, by {way}."
        if way
        else "There is no tangent: neither way to find the slope gives one at this point."
    )
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


# --- The error -----------------------------------------------------------------------------------


def _draw_error(view: View, kind: str, name: str, at: float, here: dict[str, Any]) -> None:
    truth = here.get("reference")
    st.markdown(f"##### How wrong the slope at {at:g} is, for each step size")
    asked = view.ask("functions.by_step", kind=kind, name=name, point=[at], epsilons=curves.STEPS)
    if asked is None:
        return
    if truth is None:
        st.caption("There is no slope at this point to compare with; move the point.")
        return
    errors = {way: [curves.error(d, truth) for d in found] for way, found in asked.items()}
    if here.get("autodiff") is not None:
        errors["autodiff"] = [curves.error(here["autodiff"], truth)] * len(curves.STEPS)
    st.altair_chart(curves.draw_errors(errors), width="stretch", key=f"errors-{view.name}")
    legend({curves.NAMES[way]: curves.COLOURS[way] for way in errors})
    st.caption(curves.about_error(errors["central"]))


def legend(colours: dict[str, str]) -> None:
    """What the colours of a chart stand for."""
    st.html(
        " &emsp; ".join(
            f'<span style="white-space: nowrap"><b style="color: {colour}">&#9473;</b> {name}</span>'
            for name, colour in colours.items()
        )
    )


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
    return comparable(points, values, found)


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
    try:
        return read_list(st.session_state.get("flist", "3, 1, 4, 1, 5"), 20)
    except ShapeError as error:
        st.warning(f"{error}.")
        return None


def show_source(view: View, kind: str, name: str) -> None:
    """The code of the function, as it was saved last."""
    parts = view.library.ask("functions.source", kind=kind, name=name)
    if isinstance(parts, list) and parts:
        with st.expander("The code that is drawn", icon=":material/code:"):
            for part in parts:
                st.caption(f"minitorch/{part['file']}, line {part['line']}")
                st.code(part["code"], language="python")


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
        show_source(view, kind, name)
        if kind == "reduce" and not draw_fold(view, name):
            continue
        if len(variables) == 1:
            answers.append(draw_curve(view, kind, name, areas[0], variable))
        else:
            answers.append(draw_surfaces(view, kind, name, areas, variable))
    show_difference(answers)
