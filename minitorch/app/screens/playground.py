"""The playground: a network that learns points, unit by unit, while you watch."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import streamlit as st

from minitorch.app.bars import draw_bars
from minitorch.app.components import board
from minitorch.app.drawing import Picture
from minitorch.app.epochs import epoch_line, log_table, log_text
from minitorch.app.frame import (
    View,
    begin,
    is_passed,
    reference,
    show_difference,
    views,
    workspace,
)
from minitorch.app.library import Run
from minitorch.app.network import (
    describe_id,
    draw_network,
    draw_surface,
    read_id,
    standing_alone,
    unit_name,
)
from minitorch.app.progress import draw_curves
from minitorch.app.rooms import Room
from minitorch.course.checking import has_gpu
from minitorch.course.tasks import find_task

NAME = "playground"
DATA = ("Simple", "Diag", "Split", "Xor", "Circle", "Spiral")
CUDA = "CUDA" if has_gpu() else "CUDA simulator"
BACKENDS = {"Torch": "torch", "Scalar": "scalar", "Tensor": "tensor", "Fast": "fast", CUDA: "cuda"}
NEEDS = {"Fast": ("2.4", "3.1", "3.2"), "Tensor": ("2.4",)}
OPTIMISERS = {"SGD": "sgd", "Momentum": "momentum", "Adam": "adam"}
MOST_UNITS = 32
PATIENCE = 240.0  # seconds for the first answer: the first time, the fast backend is compiled

Plan = dict[str, Any]


# --- Controls ------------------------------------------------------------------------------------


def choose_plan() -> Plan | None:
    """What to train, as the controls say; None where they say what cannot be."""
    first = st.columns([1, 1.3, 1, 1])
    data = first[0].selectbox("Data set", DATA, index=3, key="p_data", bind="query-params")
    units = first[1].text_input(
        "Hidden units, layer by layer", "10, 10", key="p_units", bind="query-params",
        help="One number for each hidden layer: `10, 10` makes two layers of ten units.",
    )  # fmt: skip
    rate = first[2].number_input(
        "Rate", 0.0001, 100.0, 0.5, format="%g", key="p_rate", bind="query-params",
        help="How far each step goes against the gradient.",
    )  # fmt: skip
    backend = first[3].selectbox(
        "Backend", list(BACKENDS), index=list(BACKENDS).index(usual_backend()), key="p_back",
        bind="query-params", help="What computes: Torch, or the library of module 1, 2 or 3.",
    )  # fmt: skip
    with st.expander("More settings: points, noise, test, seed, batch, epochs, optimiser"):
        rows = [st.columns(4), st.columns(4)]
        points = rows[0][0].number_input("Points", 4, 400, 100, 2, key="p_n", bind="query-params")
        noise = rows[0][1].number_input(
            "Noise", 0.0, 0.5, 0.0, 0.01, key="p_noise", bind="query-params",
            help="How far points are moved at random, after they got their labels.",
        )  # fmt: skip
        test = rows[0][2].number_input(
            "Kept for testing, in %", 0, 80, 50, 10, key="p_test", bind="query-params",
            help="These points are not trained on. They show what the network makes of new ones.",
        )  # fmt: skip
        seed = rows[0][3].number_input("Seed", 0, 10**6, 0, key="p_seed", bind="query-params")
        batch = rows[1][0].number_input(
            "Batch", 1, 400, 10, key="p_batch", bind="query-params", help="Points in each step."
        )
        epochs = rows[1][1].number_input(
            "Epochs", 1, 5000, 500, 50, key="p_epochs", bind="query-params"
        )
        optimiser = rows[1][2].selectbox(
            "Optimiser", list(OPTIMISERS), key="p_opt", bind="query-params",
            help="The library's own SGD; or with a velocity; or each weight at its own pace.",
        )  # fmt: skip
        falls = rows[1][3].toggle(
            "The rate falls to 0", True, key="p_falls", bind="query-params",
            help="In a straight line until the last epoch, as in the course's scripts.",
        )  # fmt: skip
    sizes = read_units(units or "")
    if sizes is None:
        st.warning(
            f"Please give 1 to 4 whole numbers from 1 to {MOST_UNITS} for the hidden units, with "
            "commas between them, such as `10, 10`."
        )
        return None
    return {
        "data": data, "points": points, "noise": noise, "test": test / 100, "units": sizes,
        "rate": rate, "falls": falls, "batch": batch, "optimiser": OPTIMISERS[optimiser],
        "seed": seed, "epochs": epochs, "backend": BACKENDS[backend],
    }  # fmt: skip


def usual_backend() -> str:
    """The fastest backend of which the tasks are done; of the reference, all are."""
    if workspace() is None:
        return "Fast"
    done = (name for name, needs in NEEDS.items() if all(is_passed(find_task(n)) for n in needs))
    return next(done, "Scalar")


def read_units(text: str) -> list[int] | None:
    """The units of each hidden layer, or None if the text is no such list."""
    parts = [part.strip() for part in text.replace(";", ",").split(",")]
    if not 1 <= len(parts) <= 4 or not all(part.isdecimal() for part in parts):
        return None
    sizes = [int(part) for part in parts]
    return sizes if all(1 <= size <= MOST_UNITS for size in sizes) else None


# --- Runs ------------------------------------------------------------------------------------


def shown_views(room: Room, plan: Plan) -> list[View]:
    """The libraries to train on; what others were training is ended."""
    shown = [reference(room, "torch")] if plan["backend"] == "torch" else views(room)
    names = {view.name for view in shown}
    for name in {"yours", "reference", "torch"} - names:
        View(name, shown[0].library, room).forget(NAME)
    for view in shown:
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
            for view in shown:
                view.forget(NAME)
            st.rerun()
        if over:
            st.badge("finished", icon=":material/flag:", color="green")
        elif runs:
            st.badge("running" if running else "paused", color="blue" if running else "gray")
    return any(run.moving for run in runs)


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
            kept = plan, view.ask("playground.begin", PATIENCE, **plan)
        st.session_state[f"p_first-{view.name}"] = kept
    return kept[1]


def show_views(shown: list[View], plan: Plan, moving: bool) -> None:
    """All that moves; drawn anew a few times a second while something does."""
    runs = [run for run in (view.run(NAME) for view in shown) if run]
    if moving and not any(run.moving for run in runs):
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
        show_difference([losses_of(run)[:done] for run in runs])


def losses_of(run: Run) -> list[float]:
    """The loss of each epoch."""
    return [part["loss"] for part in run.parts if "epoch" in part]


def show_view(view: View, plan: Plan, side_by_side: bool) -> None:
    """Everything about one library's network."""
    run = view.run(NAME)
    state = present_state(view, plan, run)
    if state is None:
        return
    epochs = [part for part in run.parts if "epoch" in part] if run else []
    arrays = [np.array(array, float) for array in state["weights"]]
    points = state["points"]
    show_numbers(epochs, plan, points, state["torch"])
    if state["message"]:
        st.warning(state["message"], icon=":material/lightbulb:")
    left, right = st.columns([3, 2], gap="medium") if not side_by_side else (st, st)
    chosen = st.session_state.get("p_chosen")
    with left if not side_by_side else st.container():
        network = draw_network(arrays, points["train"]["X"], chosen)
        clicked = board(network, key=f"p_net-{view.name}", least=330)
        if clicked is not None and clicked != st.session_state.get(f"p_clicked-{view.name}"):
            choose_shape(view, clicked)
        show_editor(view, plan, chosen, arrays)
    with right if not side_by_side else st.container():
        show_output(view, plan, chosen, arrays, points, epochs)
    show_log(view, plan, run, epochs, network, arrays, points)


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
                f" | test loss {row['test_loss']:.2f} | test correct {row['test_correct']}/{test}"
            )
    st.markdown(words + (f" Computed by {torch}." if torch else ""))


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
    board(draw_surface(arrays, points, unit), key=f"p_surface-{view.name}", width=380)
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
    train, test = len(points["train"]["X"]), len(points["test"]["X"])
    series = {"train, loss per point": [row["loss"] / train for row in epochs]}
    if test:
        series["test, loss per point"] = [row["test_loss"] / test for row in epochs]
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
        parts = [network, draw_surface(arrays, points), loss_curves(plan, epochs, points)]
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


# --- All backends ------------------------------------------------------------------------------


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
                f"{rows[-1][0]}: reckoned from {part['batches']} of the {part['of']} batches of an epoch."
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


# --- The page ------------------------------------------------------------------------------------

room = begin(NAME)
plan = choose_plan()
if plan is not None:
    shown = shown_views(room, plan)
    if plan["backend"] == "cuda" and not has_gpu():
        st.info(
            "The simulator runs every CUDA thread as a Python thread: an epoch takes seconds. Try "
            "`4, 4` hidden units, 20 points and 10 epochs.", icon=":material/hourglass:",
        )  # fmt: skip
    running = show_buttons(shown, plan)

    if running:
        st.fragment(show_views, run_every=0.5)(shown, plan, True)
    else:
        show_views(shown, plan, False)
    with st.expander("Time per epoch of every backend", icon=":material/timer:"):
        if st.button(
            "Time all backends", key="p_time", disabled=st.session_state.get("p_timing", False)
        ):
            start_timing(room, plan)
            st.session_state["p_timing"] = True
            st.rerun()
        st.fragment(show_timing, run_every=0.5 if st.session_state.get("p_timing") else None)(room)
