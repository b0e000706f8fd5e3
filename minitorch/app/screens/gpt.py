"""A small GPT that learns the guide: what each character looks at, and what it writes."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings.progress import draw_curves
from minitorch.app.drawings.torch_floor import draw_attention
from minitorch.app.frame import View, begin, reference
from minitorch.app.library import Run
from minitorch.app.runs import threads

NAME = "gpt"
SHOWN = 28  # characters of which the attention is drawn


def choose() -> dict[str, Any]:
    """The size of the model, and how long to train it."""
    with st.popover("Settings"):
        return {
            "steps": _number("Steps", 20, 5000, 400, "gsteps", 100),
            "layers": _number("Blocks", 1, 4, 2, "glayers"),
            "heads": st.selectbox("Heads", (1, 2, 4), 1, key="gheads", bind="query-params"),
            "width": st.selectbox("Width", (16, 32, 64, 128), 2, key="gwidth", bind="query-params"),
            "length": _number("Characters that it can see", 8, 64, 32, "glength", 8),
            "rate": _number("Rate", 0.0001, 0.1, 0.003, "grate", 0.001),
            "seed": _number("Seed", 0, 999, 0, "gseed"),
        }


def _number(name: str, low: Any, high: Any, usual: Any, key: str, step: Any = 1) -> Any:
    shown = "%g" if isinstance(usual, float) else None
    return st.number_input(name, low, high, usual, step, key=key, bind="query-params", format=shown)


def show_buttons(view: View, settings: dict[str, Any]) -> Run | None:
    """Train, pause, go on, begin anew."""
    run = view.run(NAME)
    label = "Train" if run is None else "Pause" if run.state == "running" else "Go on"
    over = run is not None and (run.state == "ended" or run.latest.get("over", False))
    if st.button(label, type="primary", key="gplay", disabled=over):
        if run is None:
            view.start(NAME, "gpt.train", settings=threads(small=True), **settings)
        elif run.state == "running":
            run.pause()
        else:
            run.go()
        st.rerun()
    if st.button("Start over", key="gover", disabled=run is None):
        view.forget(NAME)
        st.rerun()
    return run


def show_progress(view: View, run: Run, moving: bool) -> None:
    """How far it is, and the loss."""
    if run.failure is not None:
        view.checked(run.failure)
        return
    if moving != run.moving:
        st.rerun(scope="app")
    losses = [part for part in list(run.parts) if "loss" in part]
    step, steps = run.latest.get("step", 0), run.args["steps"]
    share = min(step / steps, 1.0)
    left = ""
    if share < 1 and "seconds" in run.latest:
        left = f", about {run.latest['seconds'] * (steps - step):.0f} s left"
    st.progress(share, f"Step {step} of {steps}{left}")
    if "parameters" in run.latest:
        st.caption(
            f"{run.latest['parameters']:,} parameters learn the {run.latest['characters']:,} "
            f"characters of the guide. A guess among its {run.latest['kinds']} kinds of characters "
            f"costs a loss of {math.log(run.latest['kinds']):.1f}."
        )
    if losses:
        picture = draw_curves(
            {"loss of a character": [part["loss"] for part in losses]}, "Loss", first=0,
            at=[part["step"] for part in losses], last=steps, width=640, height=200, unit="step",
        )  # fmt: skip
        board(picture, key="gloss")


def show_attention(run: Run) -> None:
    """What each character of a text looks at, head by head."""
    st.markdown("##### Attention")
    st.text_input(
        "A text to look at", "The gradient of the loss", key="gtext", bind="query-params",
        max_chars=SHOWN,
    )  # fmt: skip
    # A callback is called even where a fragment then has the page drawn anew: the training has ended.
    st.button(
        "Look", key="glook", on_click=lambda: run.say({"attention": st.session_state["gtext"]})
    )
    found = run.latest.get("attention")
    if not found or not found["text"]:
        st.caption("Press *Look* to see which characters each one takes its information from.")
        return
    layers, heads = len(found["weights"]), len(found["weights"][0])
    with st.container(horizontal=True):
        layer = _segment("Block", layers, "gblock")
        head = _segment("Head", heads, "ghead")
    picture = draw_attention(found["text"], found["weights"][layer - 1][head - 1])
    board(picture, key="gattention")
    likely = ", ".join(f"“{character}” {share:.0%}" for character, share in found["next"])
    st.caption(
        f"Each row is the query of one character; the bluer a cell, the larger the weight of that column's character. "
        f"Likeliest next: {likely}."
    )


def _segment(name: str, count: int, key: str) -> int:
    return st.segmented_control(
        name, list(range(1, count + 1)), default=1, required=True, key=f"{key}{count}"
    )


def show_writing(run: Run) -> None:
    """What the model writes."""
    st.markdown("##### Writing")
    st.text_input("Begin with", "The ", key="gbegin", bind="query-params", max_chars=100)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        _number("Characters", 10, 400, 200, "gcount", 10)
        _number("Temperature", 0.1, 3.0, 0.8, "gtemp", 0.1)
        _number("From the likeliest", 1, 90, 20, "gtop")
        _number("Seed", 0, 999, 0, "gdice")
    st.button("Write", key="gwrite", on_click=lambda: run.say({"write": asked_writing()}))
    if "written" in run.latest:
        st.code(run.latest["written"], language=None, wrap_lines=True)


def asked_writing() -> dict[str, Any]:
    """How the text is to be written, by the controls as they are now."""
    keys = {"words": "gbegin", "count": "gcount", "temperature": "gtemp", "top_k": "gtop"}
    return {name: st.session_state[key] for name, key in (keys | {"seed": "gdice"}).items()}


def show_answers(run: Run, moving: bool) -> None:
    """What was asked for; drawn anew until all has been answered."""
    if moving != run.moving:
        st.rerun(scope="app")
    left, right = st.columns(2, gap="large")
    with left:
        show_attention(run)
    with right:
        show_writing(run)


room = begin("gpt")
view = reference(room)
with st.container(horizontal=True, vertical_alignment="bottom"):
    settings = choose()
    run = show_buttons(view, settings)
if run is None:
    st.info("Press *Train*: it takes a few minutes, and you can look and write on the way.")
else:
    moving = run.moving
    every = 0.7 if moving else None
    st.fragment(show_progress, run_every=every)(view, run, moving)
    if run.failure is None:
        st.fragment(show_answers, run_every=every)(run, moving)
