"""The same network from the same weights, trained by the library and by Torch."""

from __future__ import annotations

from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.agreement import draw_digits, stand, verdict, weight_differences
from minitorch.app.drawings.picture import BLUE, GREEN, VIOLET
from minitorch.app.drawings.progress import draw_curves
from minitorch.app.frame import View, begin, is_passed, reference, views, workspace
from minitorch.app.library import Run
from minitorch.app.rooms import Room
from minitorch.course.tasks import find_task

DATA = ("Simple", "Diag", "Split", "Xor", "Circle", "Spiral")
MODELS = {"Scalar": "scalar", "Tensor": "tensor", "Fast": "fast"}
NEEDS = {"Scalar": ("1.4",), "Tensor": ("2.4",), "Fast": ("3.1", "3.2")}
COLOURS = {"Torch": "#f9b48f", "Scalar": BLUE, "Tensor": GREEN, "Fast": VIOLET}
THICK = (9.0, 5.0, 3.0, 1.5)

Plan = dict[str, Any]
Epochs = list[dict[str, Any]]
Shown = list[tuple[View, dict[str, Run]]]


def choose() -> tuple[Plan, list[str]]:
    """What to train, and on which models."""
    first = st.columns([1, 1, 1, 1, 1])
    data = first[0].selectbox("Data set", DATA, index=3, key="c_data", bind="query-params")
    units = first[1].number_input(
        "Units", 1, 16, 5, key="c_units", bind="query-params", help="Of each of two hidden layers."
    )
    rate = first[2].number_input(
        "Rate", 0.001, 10.0, 0.5, format="%g", key="c_rate", bind="query-params"
    )
    epochs = first[3].number_input("Epochs", 1, 200, 30, 10, key="c_epochs", bind="query-params")
    seed = first[4].number_input("Seed", 0, 10**6, 0, key="c_seed", bind="query-params")
    chosen = st.pills(
        "Models to compare with Torch", list(MODELS), selection_mode="multi", default=usual_models(),
        key="c_models", bind="query-params",
    )  # fmt: skip
    plan = {"data": data, "units": [units, units], "rate": rate, "epochs": epochs, "seed": seed}
    return plan, [name for name in MODELS if name in chosen]


def usual_models() -> list[str]:
    """All models; of a workspace, those whose tasks are done, or the first."""
    if workspace() is None:
        return list(MODELS)
    done = [name for name, needs in NEEDS.items() if all(is_passed(find_task(n)) for n in needs)]
    return done or ["Scalar"]


def find_run(view: View, plan: Plan, backend: str) -> Run:
    """The training of this plan on a backend, begun if it was not yet."""
    plan = plan | {"backend": backend}
    run = view.run(f"compare-{backend}")
    if run is None or run.args != plan or view.is_stale(run):
        run = view.start(f"compare-{backend}", "compare.train", **plan)
    return run


def torch_epochs(room: Room, plan: Plan) -> Epochs | None:
    """Torch's training, which is quick once Torch is loaded; None where a card says why not."""
    kept = st.session_state.get("c_torch")
    if kept is None or kept[0] != plan:
        with st.spinner("Training with Torch. The first time, Torch has to be loaded."):
            answer = reference(room).ask("compare.train_all", 120.0, **plan, backend="torch")
        kept = st.session_state["c_torch"] = plan, answer
    return kept[1]


def show_cards(view: View, runs: dict[str, Run]) -> None:
    """Why a model could not be trained, each reason once."""
    for failure in dict.fromkeys(run.failure for run in runs.values() if run.failure):
        view.checked(failure)


def stage(shown: Shown) -> tuple[bool, int]:
    """Whether a training goes on, and how many have failed."""
    runs = [run for _, each in shown for run in each.values()]
    return any(run.moving for run in runs), sum(run.failure is not None for run in runs)


def show_comparisons(plan: Plan, torch: Epochs, shown: Shown, before: tuple[bool, int]) -> None:
    """Each chosen library beside Torch; what ends or fails meanwhile has the page drawn anew."""
    if stage(shown) != before:
        st.rerun(scope="app")
    places = st.columns(2, gap="large") if len(shown) == 2 else [st.container()]
    for (view, runs), place in zip(shown, places, strict=True):
        with place:
            if len(shown) == 2:
                st.badge(view.name, color="orange" if view.name == "yours" else "blue")
            show_comparison(view, plan, torch, runs, len(shown) == 2)


def show_comparison(
    view: View, plan: Plan, torch: Epochs, runs: dict[str, Run], narrow: bool
) -> None:
    """One library beside Torch: verdicts, curves, digits."""
    models = {name: list(run.parts) for name, run in runs.items() if not run.failure}
    for name, parts in models.items():
        if runs[name].moving:
            st.caption(
                f":material/hourglass: {name}: {stand(parts, plan['epochs'], runs[name].seconds)}"
            )
    models = {name: parts for name, parts in models.items() if len(parts) > 1}
    if not models:
        return
    verdicts = [verdict(name, epochs, torch) for name, epochs in models.items()]
    for words in [words for good, words in verdicts if not good]:
        st.warning(words, icon=":material/call_split:")
    if agreeing := [words for good, words in verdicts if good]:
        st.success("  \n".join(agreeing), icon=":material/check:")
    everyone: dict[str, Epochs] = {"Torch": torch, **models}
    losses = {n: [row["loss"] for row in parts if "loss" in row] for n, parts in everyone.items()}
    colours = [COLOURS[name] for name in everyone]
    left, right = (st.container(), st.container()) if narrow else st.columns(2, gap="medium")
    with left:
        st.markdown("**Loss**, all curves on top of each other")
        picture = draw_curves(
            losses, "Losses", last=plan["epochs"], colours=colours, thick=THICK, width=460
        )
        board(picture, key=f"c_loss-{view.name}")
    with right:
        st.markdown("**Largest difference of any weight** from Torch's")
        differences = {n: weight_differences(parts, torch) for n, parts in models.items()}
        picture = draw_curves(
            differences, "Differences of weights", first=0, last=plan["epochs"], logarithmic=True,
            colours=colours[1:], width=460,
        )  # fmt: skip
        board(picture, key=f"c_weights-{view.name}")
    st.markdown("**The first ten losses**, digit by digit. Red digits differ from Torch's.")
    board(draw_digits(losses), key=f"c_digits-{view.name}", least=640)


room = begin("compare")
plan, models = choose()
if not models:
    st.warning("Please choose at least one model to compare with Torch.")
else:
    shown = [(view, {m: find_run(view, plan, MODELS[m]) for m in models}) for view in views(room)]
    torch = torch_epochs(room, plan)
    if torch is not None:
        name = torch[0]["torch"]
        note = "" if name.startswith("PyTorch") else " PyTorch is not installed here."
        st.caption(
            f"Torch is {name}.{note} Both compute in double precision (float64), with the same "
            "points, in batches of ten, from the same weights."
        )
        before = stage(shown)
        for view, runs in shown:
            show_cards(view, runs)
        every = 0.5 if before[0] else None
        st.fragment(show_comparisons, run_every=every)(plan, torch, shown, before)
