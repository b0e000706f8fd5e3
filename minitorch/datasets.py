"""Points in the unit square, labelled 0 or 1: the data of lessons 0 to 3."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass
class Graph:
    """N points and their labels."""

    N: int
    X: list[Point]
    y: list[int]


def _check_count(N: int) -> None:
    if N < 0:
        raise ValueError(f"N must not be negative, it is {N}")


def make_pts(N: int) -> list[Point]:
    """N random points, from Python's `random`."""
    _check_count(N)
    return [(random.random(), random.random()) for _ in range(N)]


def _labelled(N: int, rule: Callable[[float, float], bool]) -> Graph:
    X = make_pts(N)
    return Graph(N, X, [int(rule(x1, x2)) for x1, x2 in X])


def simple(N: int) -> Graph:
    """1 in the left half."""
    return _labelled(N, lambda x1, x2: x1 < 0.5)


def diag(N: int) -> Graph:
    """1 below the diagonal x1 + x2 = 0.5."""
    return _labelled(N, lambda x1, x2: x1 + x2 < 0.5)


def split(N: int) -> Graph:
    """1 in a strip at the left and a strip at the right."""
    return _labelled(N, lambda x1, x2: x1 < 0.2 or x1 > 0.8)


def xor(N: int) -> Graph:
    """1 in the top left and the bottom right quarter."""
    return _labelled(N, lambda x1, x2: (x1 < 0.5 < x2) or (x2 < 0.5 < x1))


def circle(N: int) -> Graph:
    """1 outside a circle of radius sqrt(0.1) round the centre."""
    return _labelled(N, lambda x1, x2: (x1 - 0.5) ** 2 + (x2 - 0.5) ** 2 > 0.1)


def spiral(N: int) -> Graph:
    """Two arms that wind round each other: 0 on the first, 1 on the second."""

    def arm(count: int, turn: int) -> list[Point]:
        angles = [turn * 10.0 * i / max(count, 1) for i in range(5, 5 + count)]
        return [(t * math.cos(t) / 20.0 + 0.5, t * math.sin(t) / 20.0 + 0.5) for t in angles]

    _check_count(N)
    second = N // 2
    first = N - second
    mirrored = [(x2, x1) for x1, x2 in arm(second, -1)]
    return Graph(N, arm(first, 1) + mirrored, [0] * first + [1] * second)


datasets: dict[str, Callable[[int], Graph]] = {
    "Simple": simple,
    "Diag": diag,
    "Split": split,
    "Xor": xor,
    "Circle": circle,
    "Spiral": spiral,
}
