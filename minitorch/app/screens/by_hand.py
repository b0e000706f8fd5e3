"""The page by hand: three parameters, a line, and what it costs to be wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.separation import draw, draw_flat
from minitorch.app.frame import View, begin, columns, show_difference, views

SETS = ("Simple", "Diag", "Split", "Xor", "Circle", "Spiral")
PARAMETERS = {"hw1": "w1", "hw2": "w2", "hb": "b"}
BEGIN = {"hw1": 1.0, "hw2": 1.0, "hb": -1.0}
REACH = 10.0  # how far a parameter can go, on either side of 0
GRID = 41


# --- Moves --------------------------------------------------------------------------------------


def count_move() -> None:
    """A slider was moved."""
    st.session_state.moves = st.session_state.get("moves", 0) + 1


def start_again() -> None:
    """All parameters back to where they began."""
    st.session_state.update(BEGIN, moves=0)


def turn(parameters: list[float]) -> None:
    """Set all three parameters, as one move."""
    turned = [round(min(max(value, -REACH), REACH), 2) for value in parameters]
    st.session_state.update(dict(zip(PARAMETERS, turned, strict=True)))
    count_move()


# --- In words ------------------------------------------------------------------------------------


def tell(
    data: dict[str, Any],
    judged: dict[str, Any],
    losses: list[float] | None,
    parameters: list[float],
    chosen: int,
) -> str:
    """How the score, the probability, the loss and the distance of a point come about."""
    x1, x2 = data["points"][chosen]
    w1, w2, b = (f"({value:g})" if value < 0 else f"{value:g}" for value in parameters)
    colour = "blue" if data["labels"][chosen] else "red"
    verdict = "right" if judged["right"][chosen] else "wrong"
    distance = judged["distances"][chosen]
    words = (
        f"**Point {chosen + 1}**, {colour}, is **{verdict}**. Its score is {w1} × {x1:.2f} + "
        f"{w2} × {x2:.2f} + {b} = **{judged['scores'][chosen]:.3f}**; sigmoid makes it a "
        f"probability of **{judged['chances'][chosen]:.3f}** for blue."
    )
    if losses is not None:
        words += f" As it is {colour}, that costs a loss of **{losses[chosen]:.3f}**."
    if distance is not None:
        words += f" It lies **{abs(distance):.3f}** from the line."
    return words


def table(data: dict[str, Any], judged: dict[str, Any], losses: list[float] | None) -> pd.DataFrame:
    """Every point with its numbers, the worst first."""
    points = np.array(data["points"])
    frame = pd.DataFrame(
        {
            "point": range(1, len(points) + 1),
            "x1": points[:, 0],
            "x2": points[:, 1],
            "label": data["labels"],
            "score": judged["scores"],
            "distance": judged["distances"],
            "probability": judged["chances"],
            "right": judged["right"],
        }
    )
    if losses is not None:
        frame["loss"] = losses
        frame = frame.sort_values("loss", ascending=False)
    return frame.round(3)


# --- The challenge ---------------------------------------------------------------------------------


@st.cache_data
def best_loss(points: list[list[float]], labels: list[int]) -> tuple[float, float]:
    """The loss at the beginning and the lowest within reach of the parameters, in plain NumPy."""
    inputs = np.c_[np.array(points), np.ones(len(points))]
    signs = 2.0 * np.array(labels) - 1
    parameters = np.array(list(BEGIN.values()))

    def loss() -> float:
        return float(np.logaddexp(0, -signs * (inputs @ parameters)).mean())

    begin = loss()
    for _ in range(3000):
        slope = -signs / (1 + np.exp(signs * (inputs @ parameters)))
        parameters = np.clip(parameters - 1.3 * (inputs * slope[:, None]).mean(0), -REACH, REACH)
    return begin, loss()


def show_challenge(data: dict[str, Any], loss: float) -> None:
    """How far it is to the target, in moves."""
    begin, best = best_loss(data["points"], data["labels"])
    target = math.ceil(100 * (best + 0.25 * (begin - best))) / 100
    moves = st.session_state.get("moves", 0)
    records = st.session_state.setdefault("records", {})
    game = f"{dataset} {count} {seed}"
    with st.container(border=True):
        st.markdown(
            f"##### :material/flag: Challenge\nBring the loss to **{target:.2f}** in as few moves as "
            "you can. A move is one slider moved, or one gradient step. The lowest loss that a line "
            f"can reach here is {best:.3f}."
        )
        if loss <= target and moves:
            records[game] = min(moves, records.get(game, moves))
            st.success(f"Reached in {_moves(moves)}. Fewest so far: {records[game]}.")
        else:
            st.markdown(f"So far: **{_moves(moves)}**, the loss is **{loss:.3f}**.")
        st.button("Start again", on_click=start_again, key="hagain", icon=":material/replay:")


def _moves(number: int) -> str:
    return f"{number} move" + ("" if number == 1 else "s")


# --- The page -----------------------------------------------------------------------------------


def choose_data() -> tuple[str, int, int]:
    """Which points."""
    dataset = st.segmented_control(
        "Points", SETS, default="Simple", required=True, key="hset", bind="query-params",
        on_change=start_again,
    )  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="bottom"):
        count = st.slider(
            "How many", 10, 200, 50, 10, key="hcount", bind="query-params", width=180,
            on_change=start_again,
        )  # fmt: skip
        seed = st.number_input(
            "Seed", 0, 9999, 1, key="hseed", bind="query-params", width=130, on_change=start_again,
            help="Another number draws other points",
        )  # fmt: skip
        st.select_slider(
            "Rate of a gradient step", [0.5, 1, 2, 5, 10, 20, 50], 5, key="hrate",
            bind="query-params", width=220,
        )  # fmt: skip
    return dataset, count, seed


def choose_parameters() -> list[float]:
    """The values of the parameters."""
    return [
        column.slider(
            f"Parameter {name}", -REACH, REACH, BEGIN[key], 0.1, key=key, bind="query-params",
            on_change=count_move,
        )
        for (key, name), column in zip(PARAMETERS.items(), st.columns(3), strict=True)
    ]  # fmt: skip


def show_view(view: View, parameters: list[float]) -> dict[str, Any] | None:
    """All that one library gives."""
    data = view.ask("by_hand.make_points", dataset=dataset, count=count, seed=seed)
    if data is None:
        return None
    judged = view.ask("by_hand.judge", **data, weights=parameters, grid=GRID)
    if judged is None:
        return None
    alone = len(views(room)) == 1
    left, right = st.columns([5, 4], gap="medium") if alone else (st.container(), st.container())
    with right:
        measured = view.ask("by_hand.measure", **data, chances=judged["chances"])
        losses = measured and measured["losses"]
        show_numbers(view, judged, measured, parameters)
        if measured and view.name == views(room)[0].name:
            show_challenge(data, measured["loss"])
    with left:
        chosen = chosen_point(judged)
        clicked = board(draw(data, judged, parameters, chosen), key=f"hand-{view.name}")
        if clicked is not None and int(clicked) != st.session_state.get(f"clicked-{view.name}"):
            st.session_state[f"clicked-{view.name}"] = st.session_state["point"] = int(clicked)
            st.rerun()
        st.caption("Discs are label 1 (blue), rings label 0 (red); circled points are wrong.")
    st.markdown(tell(data, judged, losses, parameters, chosen))
    st.markdown("##### In one dimension: the points by their score")
    charts = draw_flat(data, judged, losses)
    places = st.columns(len(charts)) if alone else [st.container() for _ in charts]
    for number, (chart, place) in enumerate(zip(charts, places, strict=True)):
        place.altair_chart(chart, width="stretch", key=f"flat-{view.name}-{number}")
    with st.expander("Every point, the worst first"):
        st.dataframe(table(data, judged, losses), hide_index=True, key=f"points-{view.name}")
    return {**data, **judged, **(measured or {})}


def chosen_point(judged: dict[str, Any]) -> int:
    """The point that was clicked last, else the first."""
    number = st.session_state.get("point", 0)
    return min(number, len(judged["scores"]) - 1)


def show_numbers(
    view: View, judged: dict[str, Any], measured: Any, parameters: list[float]
) -> None:
    """How many are right, the loss, and the step that the gradient suggests."""
    right = judged["right"]
    with st.container(horizontal=True):
        st.metric("Right", f"{sum(right)} of {len(right)}", width="content")
        if measured:
            st.metric("Loss", f"{measured['loss']:.4f}", width="content")
    if not measured:
        return
    rate = st.session_state.get("hrate", 5)
    after = [
        value - rate * slope for value, slope in zip(parameters, measured["gradient"], strict=True)
    ]
    rows = {
        "parameter": list(PARAMETERS.values()),
        "now": [f"{value:.2f}" for value in parameters],
        "slope of the loss": [f"{slope:+.4f}" for slope in measured["gradient"]],
        "after a step": [f"{min(max(value, -REACH), REACH):.2f}" for value in after],
    }
    st.dataframe(rows, hide_index=True, key=f"step-{view.name}")
    st.button(
        "One gradient step", on_click=turn, args=(after,), key=f"hstep-{view.name}", type="primary",
        help="Each parameter moves against its slope, times the rate",
    )  # fmt: skip


room = begin("by_hand")
if "hw1" not in st.session_state:
    st.session_state.moves = 0
dataset, count, seed = choose_data()
parameters = choose_parameters()
answers = [show_view(view, parameters) for view in columns(room)]
show_difference(answers)
