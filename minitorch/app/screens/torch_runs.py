"""Runs of the Torch floor side by side, and how the weights and gradients of one spread."""

from __future__ import annotations

from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.torch_floor import draw_histogram, draw_over_steps
from minitorch.app.frame import View, begin, reference
from minitorch.app.keeping import kept
from minitorch.app.library import Run
from minitorch.app.runs import threads

MODELS = ("perceptron", "convolution", "LSTM", "GPT")
OPTIMISERS = ("SGD", "Adam", "AdamW", "RMSprop")
MOST = 8  # runs

Settings = dict[str, Any]


def choose() -> Settings:
    """What to train next."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        return {
            "model": st.selectbox("Model", MODELS, key="trmodel", bind="query-params"),
            "optimiser": st.selectbox("Optimizer", OPTIMISERS, 1, key="tropt", bind="query-params"),
            "rate": st.number_input(
                "Rate", 0.0001, 10.0, 0.01, format="%g", key="trrate", bind="query-params"
            ),
            "steps": st.number_input(
                "Steps", 10, 2000, 200, 50, key="trsteps", bind="query-params"
            ),
            "seed": st.number_input("Seed", 0, 999, 0, key="trseed", bind="query-params"),
        }


def name_of(settings: Settings) -> str:
    """A run in few words."""
    return f"{settings['model']}, {settings['optimiser']} {settings['rate']:g}, seed {settings['seed']}"


def all_runs(view: View) -> dict[str, Run]:
    """The runs of this tab by their names, in the order in which they were begun."""
    names = kept().setdefault("torch-runs", [])
    return {name: run for name in names if (run := view.run(f"torch-{name}"))}


def begin_run(view: View, settings: Settings) -> None:
    """Train with these settings, in place of a run of the same name."""
    name, names = name_of(settings), kept().setdefault("torch-runs", [])
    view.start(f"torch-{name}", "torch_models.train", settings=threads(small=True), **settings)
    if name not in names:
        names.append(name)


def forget_all(view: View) -> None:
    """End all runs."""
    for name in kept().pop("torch-runs", []):
        view.forget(f"torch-{name}")


def show_runs(runs: dict[str, Run]) -> None:
    """All losses in one chart, and how far each run is."""
    points = [
        {"step": part["step"], "loss": part["loss"], "run": name}
        for name, run in runs.items()
        for part in list(run.parts)
    ]
    chart = {
        "height": 280,
        "mark": {"type": "line", "point": {"size": 14}},
        "encoding": {
            "x": {"field": "step", "type": "quantitative", "axis": {"grid": False}},
            "y": {"field": "loss", "type": "quantitative", "scale": {"zero": True}},
            "color": {
                "field": "run", "type": "nominal", "sort": list(runs),
                "legend": {"orient": "bottom", "columns": 2, "labelLimit": 400},
            },
        },
    }  # fmt: skip
    if points:
        st.vega_lite_chart(points, chart)
    rows = [
        {
            "run": name, "step": f"{run.latest.get('step', 0)} of {run.args['steps']}",
            "loss": run.latest.get("loss"), "state": "failed" if run.failure else run.state,
        }
        for name, run in runs.items()
    ]  # fmt: skip
    st.dataframe(rows, hide_index=True, key="trtable")


def show_weights(name: str, run: Run) -> None:
    """Histograms of one parameter of a run, over all steps and now."""
    parts = list(run.parts)
    if not parts:
        st.caption("Getting ready.")
        return
    parameter = st.selectbox(
        "Parameter", list(parts[-1]["parameters"]), key=f"trparameter-{run.args['model']}"
    )
    for column, which in zip(st.columns(2), ("weights", "gradients"), strict=True):
        found = [part["parameters"][parameter][which] for part in parts]
        with column:
            title = f"The {which} of {parameter}"
            board(draw_over_steps(found, title, parts[-1]["step"]), key=f"trover-{which}")
            st.caption(f"Now, at step {parts[-1]['step']}:")
            board(draw_histogram(found[-1], title), key=f"trnow-{which}")


def show_all(view: View, chosen: str, moving: bool) -> None:
    """All that moves."""
    runs = all_runs(view)
    if moving and not any(run.moving for run in runs.values()):
        st.rerun(scope="app")
    for failure in dict.fromkeys(run.failure for run in runs.values() if run.failure):
        view.checked(failure)
    show_runs(runs)
    if chosen in runs:
        show_weights(chosen, runs[chosen])


room = begin("torch_runs")
view = reference(room)
settings = choose()
with st.container(horizontal=True):
    if st.button("Train with these", type="primary", icon=":material/play_arrow:", key="trgo"):
        if name_of(settings) in all_runs(view) or len(all_runs(view)) < MOST:
            begin_run(view, settings)
        else:
            st.toast(f"{MOST} runs are enough for one picture: remove them first.")
    st.button("Remove all", on_click=forget_all, args=(view,), key="trforget")
runs = all_runs(view)
if not runs:
    st.info("Train once, change the optimizer, the rate or the seed, and train again.")
else:
    names = list(runs)
    chosen = st.selectbox("Look into", names, index=len(names) - 1, key=f"trlook-{len(names)}")
    moving = any(run.moving for run in runs.values())
    st.fragment(show_all, run_every=0.5 if moving else None)(view, chosen, moving)
