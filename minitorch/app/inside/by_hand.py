"""A line as a classifier: scores, probabilities and losses of points, by the network of task 0.5."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import minitorch
from minitorch import operators
from minitorch.training.manual_points import Network

Weights = Sequence[float]
"""w1, w2 and b."""


def make_points(dataset: str, count: int, seed: int) -> dict[str, Any]:
    """Labelled points of the unit square."""
    random.seed(seed)
    made = minitorch.datasets[dataset](count)
    return {"points": [list(point) for point in made.X], "labels": list(made.y)}


def judge(
    points: Sequence[Sequence[float]], labels: Sequence[int], weights: Weights, grid: int
) -> dict[str, Any]:
    """What the line says of each point, and the probability of label 1 on a grid.

    The first row of the surface lies at the bottom.
    """
    network = Network(*weights)
    scores = [network.linear(x1, x2) for x1, x2 in points]
    length = math.hypot(weights[0], weights[1])
    shares = [i / (grid - 1) for i in range(grid)]
    return {
        "scores": scores,
        "distances": [s / length if length else None for s in scores],
        "chances": [network((x1, x2)) for x1, x2 in points],
        "right": [(s > 0) == (label == 1) for s, label in zip(scores, labels, strict=True)],
        "surface": [[network((x, y)) for x in shares] for y in shares],
    }


def measure(
    points: Sequence[Sequence[float]], labels: Sequence[int], chances: Sequence[float]
) -> dict[str, Any]:
    """The loss of each point, their mean, and its slope in w1, w2 and b.

    The loss is minus the logarithm of the probability that the true label was given. Its slope in
    the score is probability minus label, whence the slopes in the three numbers.
    """
    sure = [p if label else 1.0 - p for p, label in zip(chances, labels, strict=True)]
    losses = [operators.neg(operators.log(p)) for p in sure]
    off = [p - label for p, label in zip(chances, labels, strict=True)]
    slopes = [
        [operators.mul(d, x1), operators.mul(d, x2), d]
        for d, (x1, x2) in zip(off, points, strict=True)
    ]
    return {
        "losses": losses,
        "loss": sum(losses) / len(losses),
        "gradient": [sum(column) / len(slopes) for column in zip(*slopes, strict=True)],
    }
