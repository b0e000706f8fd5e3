"""Lesson 0: what holds of the operators, whatever the numbers.

Each function is a property test. It gets `ops`, which has the functions of `operators.py`, and numbers
from -100 to 100, 0 and equal ones among them, with at most three decimals. It asserts what must hold, and
raises AssertionError where it does not. `ops` may be right or wrong: a good test is silent about every
right one, however it is written, and notices every wrong one.
"""

from __future__ import annotations

from typing import Any


def arithmetic_properties(ops: Any, x: float, y: float, z: float) -> None:
    """Assert what holds of `add`, `mul`, `neg` and `inv`.

    For example: the order of two numbers does not matter, z (x + y) is z x + z y, x + (-x) is 0, and
    x times `inv(x)` is 1, unless x is 0.
    """
    assert ops.add(x, y) == ops.add(y, x)
    assert ops.add(x, 0.0) == x
    assert ops.add(x, ops.neg(x)) == 0.0
    assert ops.mul(x, y) == ops.mul(y, x)
    assert ops.mul(x, 1.0) == x
    assert abs(ops.mul(z, ops.add(x, y)) - ops.add(ops.mul(z, x), ops.mul(z, y))) < 1e-9
    if x != 0.0:
        assert abs(ops.mul(x, ops.inv(x)) - 1.0) < 1e-9


def comparison_properties(ops: Any, x: float, y: float, z: float) -> None:
    """Assert what holds of `lt`, `eq`, `max` and `is_close`.

    For example: exactly one of x < y, y < x and x = y is 1.0 and the others are 0.0; x < y and y < z give
    x < z; the maximum is one of both and not smaller than either; numbers are close when they are less
    than 0.01 apart.
    """
    assert sorted([ops.lt(x, y), ops.lt(y, x), ops.eq(x, y)]) == [0.0, 0.0, 1.0]
    assert ops.lt(x, x + 1.0) == 1.0
    assert ops.eq(x, x) == 1.0
    if ops.lt(x, y) == 1.0 and ops.lt(y, z) == 1.0:
        assert ops.lt(x, z) == 1.0
    assert ops.max(x, y) in (x, y)
    assert x <= ops.max(x, y) >= y
    assert ops.is_close(x, y) == ops.is_close(y, x)
    assert ops.is_close(x, x + 0.005) == 1.0
    assert ops.is_close(x, x + 0.02) == 0.0
    assert ops.is_close(x, x + 1.0) == 0.0


def sigmoid_properties(ops: Any, x: float, y: float) -> None:
    """Assert what holds of `sigmoid`.

    For example: it lies between 0 and 1, is 1/2 at 0, sigmoid(-x) is 1 - sigmoid(x), and of two numbers
    the larger one has no smaller sigmoid.
    """
    assert 0.0 <= ops.sigmoid(x) <= 1.0
    assert ops.sigmoid(0.0) == 0.5
    assert abs(ops.sigmoid(-x) - (1.0 - ops.sigmoid(x))) < 1e-9
    assert (ops.sigmoid(x) <= ops.sigmoid(y)) or x >= y
    assert ops.sigmoid(1.0) > 0.7
    assert ops.sigmoid(20.0) > 0.999


def relu_properties(ops: Any, x: float, d: float) -> None:
    """Assert what holds of `relu` and `relu_back`.

    For example: relu never is negative, changes no positive number, and is 0 for the others; relu_back
    passes d on where x is positive, and 0 elsewhere.
    """
    assert ops.relu(x) >= 0.0
    assert ops.relu(abs(x)) == abs(x)
    assert ops.relu(-abs(x)) == 0.0
    assert ops.relu_back(abs(x) + 1.0, d) == d
    assert ops.relu_back(-abs(x), d) == 0.0
