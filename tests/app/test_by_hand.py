"""The lessons of the page by hand, against NumPy and differences."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch.app.inside import by_hand


def loss_of(points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    scores = points @ weights[:2] + weights[2]
    return float(np.logaddexp(0, -(2 * labels - 1) * scores).mean())


@pytest.mark.parametrize("dataset", ["Simple", "Diag", "Split", "Xor", "Circle", "Spiral"])
def test_loss_and_gradient(dataset: str) -> None:
    data = by_hand.make_points(dataset, 40, 3)
    assert data == by_hand.make_points(dataset, 40, 3)
    points, labels = np.array(data["points"]), np.array(data["labels"])
    weights = np.array([1.5, -2.0, 0.25])
    judged = by_hand.judge(**data, weights=weights.tolist(), grid=5)
    measured = by_hand.measure(**data, chances=judged["chances"])
    assert judged["scores"] == pytest.approx(points @ weights[:2] + weights[2])
    assert measured["loss"] == pytest.approx(loss_of(points, labels, weights), abs=1e-5)
    for i, step in enumerate(np.eye(3) * 1e-5):
        slope = loss_of(points, labels, weights + step) - loss_of(points, labels, weights - step)
        assert measured["gradient"][i] == pytest.approx(slope / 2e-5, abs=1e-6)


def test_distances_and_sides() -> None:
    judged = by_hand.judge([[0.0, 0.0], [1.0, 1.0]], [0, 0], [3.0, 4.0, -5.0], 3)
    assert judged["distances"] == pytest.approx([-1.0, 0.4])
    assert judged["right"] == [True, False]
    assert judged["surface"][2][0] == pytest.approx(1 / (1 + np.exp(1.0)))  # x = 0, y = 1


def test_without_a_direction_there_is_no_distance() -> None:
    assert by_hand.judge([[0.2, 0.3]], [1], [0.0, 0.0, 1.0], 2)["distances"] == [None]
