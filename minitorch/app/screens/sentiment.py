"""The page of sentiment: a network reads sentences about films; what each word does to its answer."""

from __future__ import annotations

from typing import Any

import streamlit as st

from minitorch.app.components import board
from minitorch.app.drawings import words
from minitorch.app.fetching import offer
from minitorch.app.frame import View, begin, columns, show_difference
from minitorch.app.inside import data
from minitorch.app.library import Run
from minitorch.app.runs import Training, show_agreement, threads

SETS = {"toy": "A toy set of 60 sentences", "sst2": "SST-2 with GloVe"}
ABOUT = {
    "toy": "A toy set of 60 sentences, written for this page: 40 to train with, 20 to validate with. "
    "Each word is a vector of 16 random numbers. It shows how the network works, not how well.",
    "sst2": "Sentences of film reviews from SST-2, each word as GloVe's vector of 50 numbers; "
    "validated with all 872 sentences of its development set.",
}
# Sentences, epochs, rate, batch, features and widths of each data set.
USUAL = {"toy": (40, 20, 0.2, 5, 16, "1 2 3"), "sst2": (1000, 4, 0.2, 10, 32, "3 4 5")}
WIDTHS = ("1 2 3", "3 4 5", "2 3", "1", "3")
LOOKS = ("Type a sentence", "Validation sentences")


def choose_settings() -> dict[str, Any]:
    """What to train with."""
    dataset = st.segmented_control(
        "Data set", list(SETS), default="toy", required=True, key="sset", bind="query-params",
        format_func=SETS.__getitem__,
    )  # fmt: skip
    sentences, epochs, rate, batch, features, widths = USUAL[dataset]
    with st.popover("Settings"):
        most, step = (40, 5) if dataset == "toy" else (6000, 100)
        found = {
            "dataset": dataset,
            "sentences": _number("Training sentences", 10, most, sentences, f"sn-{dataset}", step),
            "epochs": _number("Epochs at a time", 1, 100, epochs, f"sep-{dataset}"),
            "rate": _number("Learning rate", 0.01, 1.0, rate, f"srate-{dataset}", 0.01),
            "batch": _number("Batch", 1, 64, batch, f"sbatch-{dataset}"),
            "features": _number("Features of each width", 1, 100, features, f"sfeat-{dataset}"),
        }
        wide = st.selectbox(
            "Widths of the windows, in words", WIDTHS, WIDTHS.index(widths), key=f"sw-{dataset}",
            bind="query-params",
        )  # fmt: skip
        found["seed"] = _number("Seed", 0, 99, 0, "sseed")
        st.caption("New settings count from *Start over* on.")
    return found | {"widths": [int(width) for width in wide.split()]}


def _number(name: str, low: Any, high: Any, usual: Any, key: str, step: Any = 1) -> Any:
    return st.number_input(name, low, high, usual, step, key=key, bind="query-params")


def show_sentence(view: View, run: Run, text: str) -> Any | None:
    """What the network makes of a sentence, word by word."""
    given = {key: run.args[key] for key in ("dataset", "features", "widths")}
    answer = view.ask("sentiment.read", 240, weights=run.latest["weights"], text=text, **given)
    if answer is None:
        return None
    if not answer["words"]:
        st.caption("Type a sentence above.")
        return None
    board(words.draw_verdict(answer["positive"]), key=f"sverdict-{view.name}")
    verdict = "positive" if answer["positive"] > 0.5 else "negative"
    st.markdown(f"The network takes this sentence to be **{verdict}**.")
    tell_unknown(answer)
    board(words.draw_words(answer), key=f"swords-{view.name}")
    st.caption(
        "Left: the probability of positive with the word, less that without it. Right: each "
        "feature of the network looks for its best window of words, and only that one counts (max "
        "pooling); what the window adds to the score is shared out among its words. Blue is positive, "
        "red negative."
    )
    st.markdown(
        f"**The windows that max pooling chose**, strongest first. They add up to a score of "
        f"{answer['score']:.2f} with the biases of {answer['bias']:.2f}, and its sigmoid is "
        f"{answer['positive']:.2f}."
    )
    st.dataframe(sum_windows(answer["windows"])[:10], hide_index=True, key=f"swin-{view.name}")
    return answer


def sum_windows(windows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each window once, with how many features chose it and what they add."""
    found: dict[str, list[float]] = {}
    for window in windows:
        found.setdefault(window["text"], []).append(window["gives"])
    rows = [
        {"window": text, "features": len(given), "adds to the score": round(sum(given), 3)}
        for text, given in found.items()
    ]
    return sorted(rows, key=lambda row: -abs(row["adds to the score"]))


def tell_unknown(answer: dict[str, Any]) -> None:
    """Say which words the network has no vector of their own for."""
    unknown = [word["word"] for word in answer["words"] if not word["known"]]
    if unknown:
        names = ", ".join(f"`{word}`" for word in dict.fromkeys(unknown))
        many = len(set(unknown)) > 1
        st.info(
            f"Unknown {'words' if many else 'word'}: {names}. All unknown words share one vector, "
            "so the network cannot tell them apart.",
            icon=":material/help:",
        )


def show_validation(view: View, run: Run, only_wrong: bool) -> None:
    """Every validation sentence with what it is and what it was taken for."""
    latest = run.latest
    names = ("negative", "positive")
    rows = [
        {
            "sentence": text,
            "is": names[label],
            "taken for": names[positive > 0.5],
            "positive": positive,
            "": "✓" if label == (positive > 0.5) else "✗",
        }
        for text, label, positive in zip(
            latest["validation"], latest["truth"], latest["positive"], strict=True
        )
    ]
    wrong = sum(row[""] == "✗" for row in rows)
    st.markdown(f"{len(rows)} sentences, none of them trained with: **{wrong}** are read wrong.")
    if only_wrong:
        rows = [row for row in rows if row[""] == "✗"]
    st.dataframe(
        rows,
        hide_index=True,
        key=f"sval-{view.name}",
        column_config={
            "positive": st.column_config.ProgressColumn(min_value=0, max_value=1, format="percent"),
            "sentence": st.column_config.TextColumn(width="large"),
        },
    )
    unknown = latest["unknown"]
    if unknown:
        some = ", ".join(f"`{word}`" for word in unknown[:20])
        more = f" and {len(unknown) - 20} more" if len(unknown) > 20 else ""
        st.caption(f"Words of these sentences that are unknown: {some}{more}.")


room = begin("sentiment")
with st.container(horizontal=True, vertical_alignment="bottom"):
    settings = choose_settings()
    dataset = settings["dataset"]
    few = threads(small=dataset == "toy")
    training = Training(room, f"sentiment-{dataset}", "sentiment.train", settings, few)
    is_here = dataset == "toy" or data.has(dataset)
    if is_here:
        training.show_buttons()
if not is_here:
    offer(room, dataset)
    st.stop()
st.caption(ABOUT[dataset])
trained: dict[str, Run] = {}
curves = []
for view in columns(room):
    run = training.follow(view)
    if run is not None:
        trained[view.name] = run
        curves.append(training.curve(view, run))
        total, given = len(run.latest["validation"]), run.latest["sentences"]
        training.show_result(view, run, "sentences", total, f"{given} training sentences")

show_agreement(curves)
if trained:
    look = st.segmented_control(
        "Look at", LOOKS, default=LOOKS[0], required=True, key="slook", bind="query-params"
    )
    text, only_wrong = "", False
    if look == LOOKS[0]:
        text = st.text_input(
            "A sentence about a film", "A great story, but a dull and tedious film",
            key="stext", bind="query-params", max_chars=300,
        )  # fmt: skip
    else:
        only_wrong = st.toggle("Only those that are read wrong", key="swrong", bind="query-params")
    answers = []
    for view in columns(room):
        if view.name in trained and look == LOOKS[0]:
            answers.append(show_sentence(view, trained[view.name], text))
        elif view.name in trained:
            show_validation(view, trained[view.name], only_wrong)
    show_difference(answers)
