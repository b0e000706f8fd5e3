"""The page of images: a network learns digits; what it sees, what it confuses, what it makes of yours."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from minitorch.app import handwriting
from minitorch.app.components import board, drawing_box
from minitorch.app.drawings import lenet
from minitorch.app.drawings.lenet import Reading
from minitorch.app.fetching import offer
from minitorch.app.frame import View, begin, columns
from minitorch.app.inside import data
from minitorch.app.inside import images as lesson
from minitorch.app.library import Run
from minitorch.app.runs import Training, show_agreement, threads

SETS = {"digits": "Digits (8 × 8)", "mnist": "MNIST (28 × 28)"}
# Training images, epochs, rate and batch of each data set.
USUAL = {"digits": (1438, 3, 0.15, 10), "mnist": (1000, 2, 0.1, 16)}
LOOKS = ("Mistakes", "Filters and maps", "Draw a digit")
SHOWN = 24  # images of a gallery

Settings = dict[str, Any]


# --- Settings ----------------------------------------------------------------------------------


def choose_settings() -> Settings:
    """What to train with."""
    dataset = st.segmented_control(
        "Data set", list(SETS), default="digits", required=True, key="iset", bind="query-params",
        format_func=SETS.__getitem__,
    )  # fmt: skip
    images, epochs, rate, batch = USUAL[dataset]
    with st.popover("Settings"):
        most = 1438 if dataset == "digits" else 60_000
        return {
            "dataset": dataset,
            "images": _number("Training images", 50, most, images, f"iimg-{dataset}", 50),
            "epochs": _number("Epochs at a time", 1, 30, epochs, f"iep-{dataset}"),
            "rate": _number("Learning rate", 0.01, 1.0, rate, f"irate-{dataset}", 0.01),
            "batch": _number("Batch", 1, 64, batch, f"ibatch-{dataset}"),
            "seed": _number("Seed", 0, 99, 0, "iseed"),
        }


def _number(name: str, low: Any, high: Any, usual: Any, key: str, step: Any = 1) -> Any:
    return st.number_input(name, low, high, usual, step, key=key, bind="query-params")


# --- Looking at it -------------------------------------------------------------------------------


def readings_of(run: Run, labels: Any) -> list[Reading]:
    """What the network takes each validation image for."""
    latest = run.latest
    triples = zip(labels.tolist(), latest["predicted"], latest["sure"], strict=True)
    return [Reading(number, *triple) for number, triple in enumerate(triples)]


def clicked_now(clicked: str | None) -> str | None:
    """What was clicked, if that has not been dealt with before."""
    what, _, mark = (clicked or "").partition("@")
    if not what or mark != str(st.session_state.get("iclicks", 0)):
        return None
    st.session_state["iclicks"] = int(mark) + 1
    return what


def show_mistakes(view: View, run: Run, images: Any, labels: Any) -> None:
    """The confusion matrix, and the images behind one of its cells."""
    readings = readings_of(run, labels)
    mark, cell = st.session_state.get("iclicks", 0), st.session_state.get("icell")
    counts = lenet.count_pairs(readings)
    alone = len(trained) == 1
    left, right = st.columns([5, 6]) if alone else (st.container(), st.container())
    with left:
        st.caption("The confusion matrix: click a number to see its images.")
        clicked = clicked_now(board(lenet.draw_confusion(counts, cell, mark), f"conf-{view.name}"))
        if clicked is not None:
            row, column = map(int, clicked.split(","))
            st.session_state["icell"] = None if (row, column) == cell else (row, column)
            st.rerun()
        wrong = counts * (1 - np.eye(10, dtype=int))
        if wrong.any():
            a, b = np.unravel_index(int(wrong.argmax()), wrong.shape)
            st.markdown(f"Most often, **{a}** is taken for **{b}**: {wrong.max()} times.")
    with right:
        if cell is None:
            chosen = sorted((r for r in readings if not r.right), key=lambda r: -r.sure)
            words = f"All {len(chosen)} mistakes, the surest first"
        else:
            chosen = [r for r in readings if (r.label, r.predicted) == tuple(cell)]
            words = f"{cell[0]} taken for {cell[1]}: {len(chosen)}"
        more = f" (here are {SHOWN})" if len(chosen) > SHOWN else ""
        st.caption(f"{words}{more}. Click an image to see what becomes of it inside.")
        picture = lenet.draw_gallery(images, chosen[:SHOWN], mark)
        clicked = clicked_now(board(picture, f"gallery-{view.name}"))
        if clicked is not None:
            st.session_state["inum-next"] = int(clicked)
            st.rerun()


def show_inside(view: View, run: Run, image: Any) -> None:
    """Filters and maps of one image, and the answer."""
    weights = run.latest["weights"]
    dataset = run.args["dataset"]
    answer = view.ask("images.look", 240, dataset=dataset, weights=weights, image=image.tolist())
    if answer is None:
        return
    board(lenet.draw_answer(image, answer["shares"]), key=f"ians-{view.name}")
    show_maps(view, run, answer)


def show_maps(view: View, run: Run, answer: dict[str, Any]) -> None:
    """The filters, and what they find in an image."""
    weights = run.latest["weights"]
    filters = tuple(lesson.read_weight(weights[f"conv{n}.weights"]) for n in (1, 2))
    st.caption("Filters: blue adds, red takes away. Maps: the brighter, the more was found there.")
    board(lenet.draw_maps(answer, filters), key=f"imaps-{view.name}")


def choose_image(labels: Any) -> int:
    """A number of the validation set."""
    number = st.number_input(
        f"Validation image, 0 to {len(labels) - 1}", 0, len(labels) - 1, 0, key="inum",
        bind="query-params",
    )  # fmt: skip
    st.caption(f"It is a {labels[number]}.")
    return number


def show_drawing(dataset: str, trained: list[tuple[View, Run]]) -> None:
    """A box to draw in, and what each library's network makes of it."""
    left, right = st.columns([2, 3])
    with left:
        st.caption("Draw a digit, large, with mouse or finger.")
        drawn = drawing_box("ibox")
    image = None if drawn is None else handwriting.prepare(drawn, dataset)
    with right:
        if image is None:
            st.caption("Here you will see your digit as the network sees it, and its answer.")
            return
        for view, run in trained:
            answer = view.ask(
                "images.look", 240, dataset=dataset, weights=run.latest["weights"],
                image=image.tolist(),
            )  # fmt: skip
            if answer is None:
                continue
            if len(trained) > 1:
                st.caption(view.name)
            board(lenet.draw_answer(image, answer["shares"]), key=f"idraw-{view.name}")
            best = int(np.argmax(answer["shares"]))
            st.markdown(f"It takes this for a **{best}** ({max(answer['shares']):.0%} sure).")
            with st.expander("Its maps"):
                show_maps(view, run, answer)
        st.caption(HINTS[dataset])


HINTS = {
    "digits": "Your digit is made 8 × 8, as the images of the data set are. They are few, and "
    "their sevens have a bar: digits in another handwriting may be read wrong.",
    "mnist": "Your digit is fitted into 20 × 20 pixels and centred by its mass, as MNIST's are.",
}

room = begin("images")
with st.container(horizontal=True, vertical_alignment="bottom"):
    settings = choose_settings()
    dataset = settings["dataset"]
    few = threads(small=dataset == "digits")
    training = Training(room, f"images-{dataset}", "images.train", settings, few)
    is_here = dataset == "digits" or data.has(dataset)
    if is_here:
        training.show_buttons()
if not is_here:
    offer(room, dataset)
    st.stop()
trained: list[tuple[View, Run]] = []
for view in columns(room):
    run = training.follow(view)
    if run is not None:
        trained.append((view, run))
        total, given = len(run.latest["predicted"]), run.latest["images"]
        training.show_result(view, run, "images", total, f"{given} training images")

show_agreement([training.curve(view, run) for view, run in trained])
if trained:
    if "inum-next" in st.session_state:
        st.session_state["inum"] = st.session_state.pop("inum-next")
        st.session_state["ilook"] = LOOKS[1]
    look = st.segmented_control(
        "Look at", LOOKS, default=LOOKS[0], required=True, key="ilook", bind="query-params"
    )
    X, labels = lesson.unpack_images(settings["dataset"], trained[0][1].latest["validation"])
    if look == LOOKS[2]:
        show_drawing(settings["dataset"], trained)
    else:
        number = choose_image(labels) if look == LOOKS[1] else 0
        for view in columns(room):
            for other, run in trained:
                if other.name == view.name and look == LOOKS[0]:
                    show_mistakes(view, run, X, labels)
                elif other.name == view.name:
                    show_inside(view, run, X[number])
