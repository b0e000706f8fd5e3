"""The page of sentiment: its lesson learns, and its weights of words add up to the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minitorch.app.drawings import words
from minitorch.app.inside import sentiment as lesson
from minitorch.app.inside.toy_reviews import TRAINING, VALIDATION

NETWORK = {"features": 6, "widths": [1, 2]}


@pytest.fixture(scope="module")
def parts() -> list[dict]:
    return list(lesson.train("toy", 40, 8, 0.3, 5, **NETWORK))


def test_the_toy_set_is_what_the_page_says() -> None:
    assert len(TRAINING) == 40
    assert len(VALIDATION) == 20
    assert not {text for text, _ in TRAINING} & {text for text, _ in VALIDATION}
    assert sum(label for _, label in TRAINING) == 20
    assert all(text == " ".join(lesson.as_words(text)) for text, _ in TRAINING + VALIDATION)


def test_training_learns_and_validates_with_other_sentences(parts) -> None:
    ends = [part for part in parts if "loss" in part]
    assert [part["epoch"] for part in ends] == list(range(1, 9))
    assert ends[-1]["loss"] < ends[0]["loss"]
    assert parts[0]["validation"] == [text for text, _ in VALIDATION]
    assert parts[0]["unknown"] == ["are"]
    right = [
        (p > 0.5) == label for p, label in zip(ends[-1]["positive"], parts[0]["truth"], strict=True)
    ]
    assert ends[-1]["correct"] == sum(right)


def test_what_the_words_do_adds_up(parts) -> None:
    weights = parts[-1]["weights"]
    answer = lesson.read("toy", weights, text="A moving film, utterly brilliant!", **NETWORK)
    assert [word["word"] for word in answer["words"] if not word["known"]] == ["utterly", "!"]
    assert math.isclose(1 / (1 + math.exp(-answer["score"])), answer["positive"], abs_tol=1e-9)
    shares = sum(word["share"] for word in answer["words"])
    assert math.isclose(shares + answer["bias"], answer["score"], abs_tol=1e-9)
    shorter = lesson.read("toy", weights, text="a film , utterly brilliant !", **NETWORK)
    assert math.isclose(answer["words"][1]["without"], shorter["positive"], abs_tol=1e-9)
    assert "utterly (unknown)" in str(words.draw_words(answer))


def test_a_sentence_of_the_validation_set_reads_as_it_was_judged(parts) -> None:
    weights, text = parts[-1]["weights"], parts[0]["validation"][3]
    answer = lesson.read("toy", weights, text=text, **NETWORK)
    assert np.isclose(answer["positive"], parts[-1]["positive"][3], atol=1e-4)


@pytest.mark.parametrize("text", ["", "   ", "?!", "x " * 500])
def test_odd_sentences(parts, text) -> None:
    answer = lesson.read("toy", parts[-1]["weights"], text=text, **NETWORK)
    assert len(answer["words"]) <= lesson.LONGEST
