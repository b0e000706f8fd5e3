"""How long an epoch takes on every backend, as bars that come in one by one."""

from __future__ import annotations

import math

import streamlit as st

from .components import board
from .drawings.bars import draw_bars
from .frame import reference, views
from .plans import BACKENDS, Plan
from .rooms import Room


def start_timing(room: Room, plan: Plan) -> None:
    """Time every backend: ours in one process, Torch in another."""
    rest = {name: value for name, value in plan.items() if name != "backend"}
    reference(room, "torch").start("timing", "playground.time_backends", backends=["torch"], **rest)
    ours = ["scalar", "tensor", "fast", "cuda"]
    views(room)[0].start("timing", "playground.time_backends", backends=ours, **rest)


def show_timing(room: Room) -> None:
    """One bar for each backend that has been timed."""
    runs = [
        run for run in (v.run("timing") for v in (reference(room, "torch"), views(room)[0])) if run
    ]
    if not runs:
        return
    if st.session_state.get("p_timing") and all(run.state == "ended" for run in runs):
        st.session_state["p_timing"] = False
        st.rerun(scope="app")
    names = {value: name for name, value in BACKENDS.items()}
    parts = [part for run in runs for part in run.parts]
    rows, remarks = [], []
    for part in parts:
        if "open" in part:
            remarks.append(f"{names[part['backend']]}: {part['open']} is still open.")
            continue
        seconds = part["seconds"]
        written = f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
        rows.append((names[part["backend"]], math.log10(max(seconds, 1e-4)) + 4.5, written))
        if part["batches"] < part["of"]:
            remarks.append(
                f"{rows[-1][0]}: estimated from {part['batches']} of the {part['of']} batches of an epoch."
            )
    board(draw_bars(rows, "Time of an epoch"), key="p_bars")
    failures = [run.failure for run in runs if run.failure is not None]
    for failure in failures:
        views(room)[0].checked(failure)
    if st.session_state.get("p_timing"):
        st.caption("Timing: each backend takes a few seconds.")
    else:
        remarks.insert(
            0, "The bars are logarithmic: the same length more is the same factor slower."
        )
    st.caption(" ".join(remarks))
