"""The 2-D points of lessons 0 to 3."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch import Graph, datasets, make_pts

pytestmark = pytest.mark.task0_0

RULES: dict[str, Callable[[float, float], bool]] = {
    "Simple": lambda x1, x2: x1 < 0.5,
    "Diag": lambda x1, x2: x1 + x2 < 0.5,
    "Split": lambda x1, x2: x1 < 0.2 or x1 > 0.8,
    "Xor": lambda x1, x2: (x1 < 0.5 and x2 > 0.5) or (x1 > 0.5 and x2 < 0.5),
    "Circle": lambda x1, x2: (x1 - 0.5) ** 2 + (x2 - 0.5) ** 2 > 0.1,
}


def test_names() -> None:
    assert list(datasets) == ["Simple", "Diag", "Split", "Xor", "Circle", "Spiral"]
    for name, build in datasets.items():
        assert getattr(minitorch, name.lower()) is build


@pytest.mark.parametrize("name", RULES)
@given(st.integers(1, 60))
def test_labels_follow_the_rule(name: str, n: int) -> None:
    graph = datasets[name](n)
    assert isinstance(graph, Graph)
    assert graph.N == n == len(graph.X) == len(graph.y)
    assert graph.y == [int(RULES[name](*x)) for x in graph.X]
    assert all(0.0 <= value < 1.0 for x in graph.X for value in x)


@pytest.mark.parametrize("name", RULES)
def test_both_labels_occur(name: str) -> None:
    assert set(datasets[name](300).y) == {0, 1}


@pytest.mark.parametrize("n", [2, 10, 50, 51])
def test_spiral(n: int) -> None:
    """Two arms, the second mirrored, both within the square."""
    graph = datasets["Spiral"](n)
    assert graph.N == n == len(graph.X) == len(graph.y)
    assert graph.y == [0] * (n - n // 2) + [1] * (n // 2)
    if n >= 10:
        assert all(-0.3 <= value <= 1.3 for x in graph.X for value in x)
    if n % 2 == 0:
        half = n // 2
        t = 10.0 * 5 / half
        assert graph.X[0] == (t * math.cos(t) / 20 + 0.5, t * math.sin(t) / 20 + 0.5)
        for (a, b), (c, d) in zip(graph.X[:half], graph.X[half:], strict=True):
            assert c + b == pytest.approx(1.0) or c == pytest.approx(b)
            assert d + a == pytest.approx(1.0) or d == pytest.approx(a)


def test_points_follow_the_seed() -> None:
    random.seed(3)
    first = make_pts(5)
    random.seed(3)
    assert make_pts(5) == first
    assert len(set(first)) == 5
