"""Lesson 0: property tests, tried on right operators and on wrong ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitorch import operators, properties

numbers = st.integers(-100_000, 100_000).map(lambda n: n / 1000)

RIGHT: dict[str, tuple[str, Callable[..., float]]] = {
    "add, the other way round": ("add", lambda x, y: y + x),
    "neg as a difference": ("neg", lambda x: 0.0 - x),
    "max that takes the second of equal ones": ("max", lambda x, y: y if y >= x else x),
    "sigmoid by tanh": ("sigmoid", lambda x: 0.5 + 0.5 * math.tanh(x / 2)),
    "relu that asks for x <= 0": ("relu", lambda x: 0.0 if x <= 0 else x),
}
WRONG: dict[str, tuple[str, Callable[..., float]]] = {
    "add subtracts": ("add", lambda x, y: x - y),
    "add is off by one": ("add", lambda x, y: x + y + 1.0),
    "mul adds": ("mul", lambda x, y: x + y),
    "mul doubles": ("mul", lambda x, y: 2.0 * x * y),
    "neg does nothing": ("neg", lambda x: x),
    "inv is neg": ("inv", lambda x: -x),
    "inv of twice the number": ("inv", lambda x: 0.5 / x),
    "lt is at most": ("lt", lambda x, y: 1.0 if x <= y else 0.0),
    "lt is greater": ("lt", lambda x, y: 1.0 if x > y else 0.0),
    "eq is close": ("eq", lambda x, y: 1.0 if abs(x - y) < 0.01 else 0.0),
    "max is min": ("max", lambda x, y: x if x < y else y),
    "max of the distances from 0": ("max", lambda x, y: x if abs(x) > abs(y) else y),
    "is_close without abs": ("is_close", lambda x, y: 1.0 if x - y < 0.01 else 0.0),
    "is_close too wide": ("is_close", lambda x, y: 1.0 if abs(x - y) < 0.1 else 0.0),
    "sigmoid without the minus": ("sigmoid", lambda x: 1.0 / (1.0 + math.exp(x))),
    "sigmoid is flat": ("sigmoid", lambda x: 0.5),
    "relu is abs": ("relu", lambda x: abs(x)),
    "relu is a step": ("relu", lambda x: 1.0 if x > 0 else 0.0),
    "relu_back forgets d": ("relu_back", lambda x, d: 1.0 if x > 0 else 0.0),
    "relu_back passes on": ("relu_back", lambda x, d: d),
}


def with_one_changed(name: str, function: Callable[..., float]) -> Any:
    ops = {n: f for n, f in vars(operators).items() if callable(f)}
    return SimpleNamespace(**ops | {name: function})


def run_all(ops: Any, x: float, y: float, z: float) -> None:
    properties.arithmetic_properties(ops, x, y, z)
    properties.comparison_properties(ops, x, y, z)
    properties.sigmoid_properties(ops, x, y)
    properties.relu_properties(ops, x, y)


@pytest.mark.task0_2
@given(numbers, numbers, numbers)
def test_silent_about_your_operators(x: float, y: float, z: float) -> None:
    run_all(operators, x, y, z)


@pytest.mark.task0_2
@pytest.mark.parametrize("which", RIGHT)
def test_silent_about_right_operators(which: str) -> None:
    """What is written otherwise may still be right: say what holds, not how it is computed."""
    ops = with_one_changed(*RIGHT[which])
    for x, y, z in itertools.product([-37.25, -2.0, 0.0, 0.5, 1.0, 3.125], repeat=3):
        run_all(ops, x, y, z)


@pytest.mark.task0_2
@pytest.mark.parametrize("which", WRONG)
def test_notices(which: str) -> None:
    """A wrong operator must not get past all of your tests."""
    ops = with_one_changed(*WRONG[which])
    pool = [-40.0, -2.0, -0.5, 0.0, 0.005, 0.5, 0.507, 0.55, 2.0, 7.5]
    for x, y, z in itertools.product(pool, repeat=3):
        try:
            run_all(ops, x, y, z)
        except NotImplementedError:
            raise
        except Exception:  # an assertion, or what a wrong operator leads to
            return
    pytest.fail(f"none of your tests notices it: {which}")
