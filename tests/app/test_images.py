"""The page of images: its lesson learns, goes on where it stopped, and looks as the network does."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.app import handwriting
from minitorch.app.drawings import lenet
from minitorch.app.inside import images as lesson


@pytest.fixture(scope="module")
def parts() -> list[dict]:
    return list(lesson.train("digits", 150, 2, 0.15, 10))


def test_training_reports_every_epoch(parts) -> None:
    assert parts[0]["epoch"] == 0
    ends = [part for part in parts if "loss" in part]
    assert [part["epoch"] for part in ends] == [1, 2]
    assert ends[-1]["loss"] < ends[0]["loss"]
    X, labels = lesson.unpack_images("digits", parts[0]["validation"])
    expected, expected_labels = lesson.load("digits", "test")
    assert np.array_equal(X, expected)
    assert np.array_equal(labels, expected_labels)
    assert ends[-1]["correct"] == sum(np.equal(ends[-1]["predicted"], labels))


def test_a_look_inside_is_what_the_network_does(parts) -> None:
    X, _ = lesson.load("digits", "test", 1)
    weights = parts[-1]["weights"]
    answer = lesson.look("digits", weights, X[0].tolist())
    assert int(np.argmax(answer["shares"])) == parts[-1]["predicted"][0]
    assert np.isclose(sum(answer["shares"]), 1)
    kernel = lesson.read_weight(weights["conv1.weights"])[0, 0]
    bias = lesson.read_weight(weights["conv1.bias"])[0, 0, 0]
    padded = np.pad(X[0], ((0, 2), (0, 2)))
    first = sum(kernel[i, j] * padded[i : i + 8, j : j + 8] for i, j in np.ndindex(3, 3))
    assert np.allclose(answer["first"][0], np.maximum(first + bias, 0))
    assert np.allclose(answer["pooled"][0, 0, 0], answer["second"][0, :2, :2].mean())
    filters = tuple(lesson.read_weight(weights[f"conv{n}.weights"]) for n in (1, 2))
    assert "<image" in str(lenet.draw_maps(answer, filters))


def test_going_on_starts_from_the_weights(parts) -> None:
    end = parts[-1]
    more = next(lesson.train("digits", 150, 1, 0.15, 10, weights=end["weights"], done=2))
    assert more["epoch"] == 2
    assert more["correct"] == end["correct"]


def test_readings_are_counted() -> None:
    readings = [lenet.Reading(0, 3, 3, 0.9), lenet.Reading(1, 3, 8, 0.5), lenet.Reading(2, 3, 8, 1)]
    counts = lenet.count_pairs(readings)
    assert counts[3, 8] == 2
    assert counts.sum() == 3
    assert "3,8@" in str(lenet.draw_confusion(counts, (3, 8)))


@pytest.mark.parametrize(("dataset", "size"), [("digits", 8), ("mnist", 28)])
def test_a_drawing_is_cut_out_scaled_and_centred(dataset, size) -> None:
    drawing = np.zeros((28, 28))
    drawing[3:9, 2:5] = 1.0  # a small bar, far from the middle
    image = handwriting.prepare(drawing, dataset)
    assert image is not None
    assert image.shape == (size, size)
    ink = np.flatnonzero(image.sum(0))
    assert abs(ink.mean() - (size - 1) / 2) <= 0.5
    rows = np.flatnonzero(image.sum(1))
    assert rows[-1] - rows[0] + 1 == (8 if dataset == "digits" else 20)
    assert handwriting.prepare(np.zeros((28, 28)), dataset) is None


def test_a_leaning_stroke_is_set_upright() -> None:
    leaning = np.zeros((28, 28))
    for row in range(4, 24):
        leaning[row, 22 - row // 2 : 25 - row // 2] = 1.0
    image = handwriting.prepare(leaning, "digits")
    assert image is not None
    assert np.flatnonzero(image.max(0) > 0.5).tolist() == [3, 4]
