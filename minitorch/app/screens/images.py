"""The page of images: a network learns digits; what it sees, what it confuses, what it makes of yours."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from minitorch.app import handwriting, lenet
from minitorch.app.components import board, drawing_box
from minitorch.app.frame import View, begin, columns, views
from minitorch.app.inside import images as lesson
from minitorch.app.lenet import Reading
from minitorch.app.library import Run

SETS = {"digits": "Digits (8 × 8)", "mnist": "MNIST (28 × 28)"}
# Training images, epochs, rate and batch of each data set.
USUAL = {"digits": (1438, 3, 0.15, 10), "mnist": (1000, 2, 0.2, 32)}
LOOKS = ("Mistakes", "Filters and maps", "Draw a digit")
SHOWN = 24  # images of a gallery

Settings = dict[str, Any]


# --- Data and runs -----------------------------------------------------------------------------


@st.cache_data
def data_sets() -> list[str]:
    """The data sets that are on this machine."""
    return ["digits", *(["mnist"] if lesson.has_mnist() else [])]


def choose_settings() -> Settings:
    """What to train with."""
    known = data_sets()
    dataset = "digits"
    if len(known) > 1:
        dataset = st.segmented_control(
            "Data set", known, default="digits", required=True, key="iset", bind="query-params",
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


def begin_run(view: View, settings: Settings, **more: Any) -> Run:
    """Begin to train, from the start or from where an earlier run ended."""
    if not more:
        st.session_state[f"icurve-{view.name}-{settings['dataset']}"] = []
    # So small images gain nothing from a second thread; the page is glad of it.
    threads = {"NUMBA_NUM_THREADS": "1"} if settings["dataset"] == "digits" else {}
    return view.start(run_name(settings), "images.train", settings=threads, **settings, **more)


def run_name(settings: Settings) -> str:
    """Each data set has a run of its own."""
    return f"images-{settings['dataset']}"


def train_on(settings: Settings) -> None:
    """Go on from where the runs ended, for more epochs."""
    for view in views(room):
        run = view.run(run_name(settings))
        if run is None or "weights" not in run.latest:
            begin_run(view, settings)
            continue
        st.session_state[f"icurve-{view.name}-{settings['dataset']}"] = curve(view, run)
        begin_run(view, settings, weights=run.latest["weights"], done=run.latest["epoch"])


def start_over(settings: Settings) -> None:
    """Train from new weights."""
    for view in views(room):
        begin_run(view, settings)


def show_buttons(settings: Settings) -> None:
    """Pause, go on, train on, start over: for all libraries that are shown."""
    runs = [run for view in views(room) if (run := view.run(run_name(settings)))]
    states = {run.state for run in runs}
    if "running" in states:
        st.button("Pause", icon=":material/pause:", key="ipause",
                  on_click=lambda: [run.pause() for run in runs])  # fmt: skip
    elif "paused" in states:
        st.button("Go on", icon=":material/play_arrow:", key="igo", type="primary",
                  on_click=lambda: [run.go() for run in runs])  # fmt: skip
    else:
        st.button("Train on", icon=":material/play_arrow:", key="imore", type="primary",
                  on_click=train_on, args=(settings,))  # fmt: skip
    st.button("Start over", icon=":material/restart_alt:", key="inew", on_click=start_over,
              args=(settings,), help="New weights, with the present settings")  # fmt: skip


# --- Training ------------------------------------------------------------------------------------


def curve(view: View, run: Run) -> list[dict[str, Any]]:
    """Loss and share of right answers after each epoch, those of earlier runs included."""
    before = st.session_state.get(f"icurve-{view.name}-{run.args['dataset']}", [])
    total = max(len(run.latest.get("predicted", [])), 1)
    return before + [
        {"epoch": p["epoch"], "loss": p["loss"], "right in %": 100 * p["correct"] / total}
        for p in list(run.parts)
        if "loss" in p
    ]


def show_training(view: View, run: Run, seen: tuple[Any, ...]) -> None:
    """How far the training is; the whole page is drawn anew when an epoch has ended."""
    if as_seen(run) != seen:
        st.rerun()
    latest = run.latest
    if not latest:
        st.progress(0.0, "Getting ready: data, kernels, first weights")
        return
    last = run.args.get("done", 0) + run.args["epochs"]
    done = latest["epoch"] + latest.get("step", 0) / latest["steps"]
    words = {"running": "Training", "paused": "Paused", "ended": "Trained"}[run.state]
    st.progress(min(done / last, 1.0), f"{words}: epoch {latest['epoch']} of {last}")


def as_seen(run: Run) -> tuple[Any, ...]:
    """What decides whether the page has to be drawn anew."""
    return run.state, run.latest.get("epoch"), run.failure is not None


def show_result(view: View, run: Run) -> None:
    """The share of right answers on all validation images, and both curves."""
    latest, points = run.latest, curve(view, run)
    total = len(latest["predicted"])
    left, right = st.columns(2)
    left.metric("Validation images read right", f"{latest['correct']} of {total}",
                f"{latest['correct'] / total:.1%}", delta_color="off", delta_arrow="off")  # fmt: skip
    if "seconds" in latest:
        right.metric("Time of an epoch", f"{latest['seconds']:.1f} s",
                     f"{latest['images']} training images", delta_color="off",
                     delta_arrow="off")  # fmt: skip
    if points:
        left.line_chart(points, x="epoch", y="loss", height=170, color="#c2410c")
        right.line_chart(points, x="epoch", y="right in %", height=170, color="#2563eb")


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
    left, right = st.columns([5, 6])
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
    filters = tuple(lesson.read_weight(weights[f"conv{n}.weights"]) for n in (1, 2))
    board(lenet.draw_answer(image, answer["shares"]), key=f"ians-{view.name}")
    st.caption("Filters: blue adds, red takes away. Maps: the brighter, the more was found there.")
    board(lenet.draw_maps(image, answer, filters), key=f"imaps-{view.name}")


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
        st.caption(HINTS[dataset])


HINTS = {
    "digits": "Your digit is made 8 × 8, as the images of the data set are. They are few, and "
    "their sevens have a bar: another hand can puzzle the network.",
    "mnist": "Your digit is fitted into 20 × 20 pixels and centred by its mass, as MNIST's are.",
}

room = begin("images")
with st.container(horizontal=True, vertical_alignment="bottom"):
    settings = choose_settings()
    for view in views(room):
        if view.run(run_name(settings)) is None:
            begin_run(view, settings)
    show_buttons(settings)
trained: list[tuple[View, Run]] = []
for view in columns(room):
    run = view.run(run_name(settings))
    if run is None:
        continue
    if run.failure is not None:
        view.checked(run.failure)
        continue
    every = 0.5 if run.state == "running" or not run.latest else None
    st.fragment(show_training, run_every=every)(view, run, as_seen(run))
    if run.latest:
        trained.append((view, run))
        show_result(view, run)

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
