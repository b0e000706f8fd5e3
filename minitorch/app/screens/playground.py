"""The playground: a network that learns points, unit by unit, while you watch."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.network import (
    describe_id,
    draw_network,
    draw_surface,
    read_id,
    standing_alone,
    unit_name,
)
from minitorch.app.drawings.picture import Picture
from minitorch.app.drawings.progress import draw_curves
from minitorch.app.drawings.torch_floor import as_dot
from minitorch.app.epochs import epoch_line, log_table, log_text, time_left
from minitorch.app.frame import View, begin, reference, show_difference, views
from minitorch.app.library import Run
from minitorch.app.opinion import second_opinion
from minitorch.app.plans import Plan, choose_plan
from minitorch.app.rooms import Room
from minitorch.app.timing import show_timing, start_timing
from minitorch.course.checking import has_gpu

NAME = "playground"
FRAME = 0.25  # seconds between two drawings
FIRST_ANSWER_TIMEOUT = (
    240.0  # seconds for the first answer: the first time, the fast backend is compiled
)


# --- Runs ------------------------------------------------------------------------------------


def shown_views(room: Room, plan: Plan) -> list[View]:
    """The libraries to train on; what others were training is ended."""
    shown = [reference(room, "torch")] if plan["backend"] == "torch" else views(room)
    names = {view.name for view in shown}
    for name in {"yours", "reference", "torch"} - names:
        View(name, shown[0].library, room).forget(NAME)
    for view in [*shown, reference(room, "check")]:
        run = view.run(NAME)
        if run is not None and run.args != plan:
            view.forget(NAME)  # other settings: begin anew
    return shown


def ready_run(view: View, plan: Plan) -> Run:
    """The run of a library; if there is none, a new one, paused."""
    run = view.run(NAME)
    if run is None:
        run = view.start(NAME, "playground.train", **plan)
        run.pause()
    return run


def refresh(run: Run) -> None:
    """Ask for the present weights, and wait a moment for them."""
    tell(run, {})


def tell(run: Run, value: dict[str, Any]) -> None:
    """Say something to a paused run, and wait a moment for its answer."""
    run.say(value)
    until = time.monotonic() + 1.0
    while run.moving and time.monotonic() < until:
        time.sleep(0.02)


def show_buttons(shown: list[View], plan: Plan) -> bool:
    """Play or pause, step, reset; whether something is moving."""
    runs = [run for run in (view.run(NAME) for view in shown) if run]
    running = any(run.state == "running" for run in runs)
    over = bool(runs) and all(run.latest.get("over") or run.failure for run in runs)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        label, icon = ("Pause", "pause") if running else ("Play", "play_arrow")
        if st.button(label, icon=f":material/{icon}:", type="primary", key="p_play", disabled=over):
            if running:
                for run in runs:
                    run.pause()
                    refresh(run)
            else:
                for view in shown:
                    ready_run(view, plan).go()
            st.rerun()
        if st.button("Step", icon=":material/skip_next:", key="p_step", disabled=over):
            for view in shown:
                run = ready_run(view, plan)
                run.step()
                refresh(run)
            st.rerun()
        if st.button("Reset", icon=":material/replay:", key="p_reset", disabled=not runs):
            for view in [*shown, reference(shown[0].room, "check")]:
                view.forget(NAME)
            st.rerun()
        if over:
            st.badge("finished", icon=":material/flag:", color="green")
        elif runs:
            st.badge("running" if running else "paused", color="blue" if running else "gray")
    return is_moving(shown)


def is_moving(shown: list[View]) -> bool:
    """Whether a run goes on, or that of the reference which says what is wrong with one."""
    known = [view.run(NAME) for view in [*shown, reference(shown[0].room, "check")]]
    return any(run.moving for run in known if run is not None)


# --- What is seen ------------------------------------------------------------------------------


def present_state(view: View, plan: Plan, run: Run | None) -> dict[str, Any] | None:
    """Points, weights and message as they are now; None where a card says why there are none."""
    if run is not None and run.failure is not None:
        return view.checked(run.failure)
    if run is not None and "weights" in run.latest:
        return run.latest
    kept = st.session_state.get(f"p_first-{view.name}")
    if run is None or kept is None or kept[0] != plan:
        with st.spinner("Making the network. The first time, its code may have to be compiled."):
            kept = plan, view.ask("playground.begin", FIRST_ANSWER_TIMEOUT, **plan)
        st.session_state[f"p_first-{view.name}"] = kept
    return kept[1]


def show_views(shown: list[View], plan: Plan, moving: bool) -> None:
    """All that moves; drawn anew a few times a second while something does."""
    runs = [run for run in (view.run(NAME) for view in shown) if run]
    if moving != is_moving(shown):
        st.rerun(scope="app")
    if len(shown) == 1:
        show_view(shown[0], plan, side_by_side=False)
        return
    for view, column in zip(shown, st.columns(2, gap="large"), strict=True):
        with column:
            st.badge(view.name, color="orange" if view.name == "yours" else "blue")
            show_view(view, plan, side_by_side=True)
    if len(runs) == 2 and not moving and all(run.latest.get("epoch") for run in runs):
        done = min(run.latest["epoch"] for run in runs)
        show_difference([{"loss of epoch": losses_of(run, done)} for run in runs])


def losses_of(run: Run, last: int) -> dict[int, float]:
    """The loss of each epoch."""
    parts = [part for part in run.parts if "epoch" in part]
    return {part["epoch"]: part["loss"] for part in parts if part["epoch"] <= last}


def show_view(view: View, plan: Plan, side_by_side: bool) -> None:
    """Everything about one library's network."""
    run = view.run(NAME)
    state = present_state(view, plan, run)
    if state is None:
        return
    epochs = [part for part in run.parts if "epoch" in part] if run else []
    arrays = [np.array(array, float) for array in state["weights"]]
    points = state["points"]
    if run is not None:
        view.say_if_stale(run, "Reset")
    show_numbers(epochs, plan, points, state["torch"])
    if state["odd"]:
        st.warning(state["odd"], icon=":material/priority_high:")
    if state["message"]:
        st.warning(advice(view, plan, state["message"], epochs), icon=":material/lightbulb:")
    left, right = (
        (st.container(), st.container()) if side_by_side else st.columns([3, 2], gap="medium")
    )
    chosen = st.session_state.get("p_chosen")
    with left:
        network = draw_network(arrays, points["train"]["X"], chosen, plan["activation"])
        clicked = board(network, key=f"p_net-{view.name}", least=330)
        if clicked is not None and clicked != st.session_state.get(f"p_clicked-{view.name}"):
            choose_shape(view, clicked)
        show_editor(view, plan, chosen, arrays)
    with right:
        show_output(view, plan, chosen, arrays, points, epochs)
    show_log(view, plan, run, epochs, network, arrays, points)


def advice(view: View, plan: Plan, message: str, epochs: list[dict[str, Any]]) -> str:
    """What to say about a training; of the student's, only once the reference was tried."""
    if view.name != "yours":
        return message
    other = next(
        (run for v in views(view.room) if v.name == "reference" and (run := v.run(NAME))), None
    )
    check = reference(view.room, "check")
    other = other or check.run(NAME) or check.start(NAME, "playground.train", **plan)
    theirs = [part for part in list(other.parts) if "epoch" in part]
    if check.run(NAME) is other:
        if len(theirs) >= len(epochs):
            other.pause()
        elif other.state == "paused":
            other.go()
    return second_opinion(message, epochs, theirs[: len(epochs)], other.latest.get("message", ""))


def show_numbers(
    epochs: list[dict[str, Any]], plan: Plan, points: dict[str, Any], torch: str
) -> None:
    """One line: where the run stands."""
    train, test = len(points["train"]["X"]), len(points["test"]["X"])
    if not epochs:
        words = f"**Epoch 0/{plan['epochs']}**, untrained. {train} points to train on, {test} to test on."
    else:
        words = f"**{epoch_line(epochs, plan['epochs'], train)}**"
        if test:
            row = epochs[-1]
            words += (
                f" | test loss {row['test_loss']:.4f} | test correct {row['test_correct']}/{test}"
            )
    st.markdown(words + (f" | computed by {torch}" if torch else ""))
    done = epochs[-1]["epoch"] if epochs else 0
    left = time_left(epochs, plan["epochs"]) if 0 < done < plan["epochs"] else None
    st.progress(min(done / plan["epochs"], 1.0), left)


def choose_shape(view: View, id: str) -> None:
    """Remember what was clicked; the run pauses, so that its number can be changed."""
    st.session_state[f"p_clicked-{view.name}"] = st.session_state["p_chosen"] = id
    run = view.run(NAME)
    if run is not None and run.state == "running":
        run.pause()
        refresh(run)
    st.rerun(scope="app")


def find_place(id: str | None, arrays: list[Any]) -> tuple[int, list[int]] | None:
    """Where the number of a clicked shape is, if this network has it."""
    place = read_id(id)
    if place is None or place[0] >= len(arrays):
        return None
    array, index = place
    inside = all(i < size for i, size in zip(index, arrays[array].shape, strict=True))
    return place if inside else None


def show_editor(view: View, plan: Plan, chosen: str | None, arrays: list[Any]) -> None:
    """The number of what was clicked, to be changed."""
    place = find_place(chosen, arrays)
    if chosen is None or place is None:
        st.caption(
            "Each square shows what a unit gives over the unit square. A blue line is a weight above "
            "0, a red one below; wide is large. Click a line to change its weight, a unit to enlarge it."
        )
        return
    value = float(arrays[place[0]][tuple(place[1])])
    key = f"p_edit-{view.name}-{chosen}-{value}"

    def change() -> None:
        edit = [place[0], place[1], st.session_state[key]]
        tell(ready_run(view, plan), {"edits": [edit]})

    words = describe_id(chosen, len(arrays) // 2)
    st.number_input(
        words[0].upper() + words[1:], value=value, step=0.1, format="%.4f", key=key,
        on_change=change, disabled=not math.isfinite(value),
    )  # fmt: skip


def show_output(
    view: View,
    plan: Plan,
    chosen: str | None,
    arrays: list[Any],
    points: dict[str, Any],
    epochs: list[dict[str, Any]],
) -> None:
    """The decision surface, or the chosen unit's output; and the loss so far."""
    layers = len(arrays) // 2
    unit = None
    if chosen and chosen.startswith("u-") and (find_place(chosen, arrays) or chosen < "u-1"):
        layer, number = (int(part) for part in chosen.split("-")[1:])
        unit = (layer, number)
    board(
        draw_surface(arrays, points, unit, plan["activation"]),
        key=f"p_surface-{view.name}",
        width=380,
    )
    squares = "; squares: to test on" if points["test"]["X"] else ""
    legend = f"Discs (1) and rings (0): points to train on{squares}."
    if unit and unit[0] < layers:
        what = unit_name(*unit, layers)
        st.caption(f"What {what} gives: white is 0, blue is more. Click the output for the whole.")
    else:
        st.caption(f"What the network says: blue is 1, red is 0. {legend}")
    board(loss_curves(plan, epochs, points), key=f"p_loss-{view.name}", width=380)


def loss_curves(plan: Plan, epochs: list[dict[str, Any]], points: dict[str, Any]) -> Picture:
    """The mean loss of a point, in training and in testing."""
    series = {"train, loss per point": [row["loss"] for row in epochs]}
    if points["test"]["X"]:
        series["test, loss per point"] = [row["test_loss"] for row in epochs]
    return draw_curves(
        series, "Loss of a point, on average", last=plan["epochs"], width=380, height=200
    )


def show_log(
    view: View,
    plan: Plan,
    run: Run | None,
    epochs: list[dict[str, Any]],
    network: Picture,
    arrays: list[Any],
    points: dict[str, Any],
) -> None:
    """The log as a table, and log and picture to take away."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        busy = run is not None and run.state == "running"
        name = f"{plan['data'].lower()}-{plan['backend']}"
        log = log_text(epochs, plan["epochs"], len(points["train"]["X"])) if not busy else ""
        surface = draw_surface(arrays, points, activation=plan["activation"])
        parts = [network, surface, loss_curves(plan, epochs, points)]
        picture = standing_alone(parts, name) if not busy else ""
        st.download_button(
            "Log", log, f"{name}.txt", "text/plain", key=f"p_log-{view.name}",
            icon=":material/download:", disabled=busy or not epochs, on_click="ignore",
        )  # fmt: skip
        st.download_button(
            "Picture", picture, f"{name}.svg", "image/svg+xml", key=f"p_svg-{view.name}",
            icon=":material/download:", disabled=busy, on_click="ignore",
        )  # fmt: skip
        if busy:
            st.caption("Pause to download.")
    if epochs:
        rows = epochs[-6:] if busy else epochs  # while it moves, the newest are enough
        table = log_table(rows, bool(points["test"]["X"]))
        height = min(38 + 35 * len(rows), 250)
        st.dataframe(table, hide_index=True, height=height, key=f"p_table-{view.name}")


def show_graph(view: View, plan: Plan) -> None:
    """The graph that the library recorded for the loss of the network as it is now."""
    with st.expander("The graph of this network", icon=":material/schema:"):
        if not st.toggle("Draw it", key="p_graph", bind="query-params"):
            st.caption("Every operation from the parameters to the loss, with the shapes between.")
            return
        state = present_state(view, plan, view.run(NAME))
        found = state and view.ask(
            "network_graph.graph", FIRST_ANSWER_TIMEOUT, weights=state["weights"], **plan
        )
        if found and "nodes" in found:
            of = "one point" if plan["backend"] == "scalar" else "up to four points"
            st.caption(f"The loss of {of}: {found['count']} boxes. Blue are the parameters.")
            st.graphviz_chart(as_dot(found["nodes"], found["arrows"]))
        elif found:
            st.info(
                f"With scalars every number is a box: these are {found['count']:,}, too many to "
                "draw. Take fewer units, or another backend."
            )


# --- The page ------------------------------------------------------------------------------------

room = begin(NAME)
plan = choose_plan()
if plan is not None:
    shown = shown_views(room, plan)
    if plan["backend"] == "cuda" and not has_gpu():
        st.info(
            "In the simulator Python runs every CUDA thread: an epoch takes seconds. Try "
            "`4, 4` hidden units, 20 points and 10 epochs.", icon=":material/hourglass:",
        )  # fmt: skip
    running = show_buttons(shown, plan)

    if running:
        st.fragment(show_views, run_every=FRAME)(shown, plan, True)
    else:
        show_views(shown, plan, False)
        if is_moving(shown):  # the reference was asked for its opinion
            st.rerun()
        if plan["backend"] != "torch":
            show_graph(shown[0], plan)
    with st.expander("Time per epoch of every backend", icon=":material/timer:"):
        if st.button(
            "Time all backends", key="p_time", disabled=st.session_state.get("p_timing", False)
        ):
            start_timing(room, plan)
            st.session_state["p_timing"] = True
            st.rerun()
        st.fragment(show_timing, run_every=0.5 if st.session_state.get("p_timing") else None)(room)
