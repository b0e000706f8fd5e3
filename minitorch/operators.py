"""Lesson 0: functions of one and two numbers, and functions of functions.

Every scalar function here is also the body of a tensor kernel: the plain-Python
backend calls it, Numba compiles it for the CPU, and CUDA compiles it for the GPU.
That is why each uses only `math` and calls no other function of this file.

In Python a value outside a function's domain raises (`inv(0)` is a
`ZeroDivisionError`); compiled kernels follow IEEE 754 and give `inf` or `nan`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

EPS = 1e-6
"""Added inside `log`, so that the logarithm of 0 is finite."""

# --- Task 0.1: scalar functions ----------------------------------------------


def mul(x: float, y: float) -> float:
    """x times y."""
    return float(x * y)


def id(x: float) -> float:
    """x itself."""
    return float(x)


def add(x: float, y: float) -> float:
    """x plus y."""
    return float(x + y)


def neg(x: float) -> float:
    """Minus x."""
    return -float(x)


def lt(x: float, y: float) -> float:
    """1.0 if x is less than y, else 0.0."""
    return 1.0 if x < y else 0.0


def eq(x: float, y: float) -> float:
    """1.0 if x equals y, else 0.0."""
    return 1.0 if x == y else 0.0


def max(x: float, y: float) -> float:
    """The larger of x and y."""
    return float(x) if x > y else float(y)


def is_close(x: float, y: float) -> float:
    """1.0 if x and y differ by less than 0.01, else 0.0."""
    return 1.0 if abs(x - y) < 1e-2 else 0.0


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), written so that exp never overflows.

    >>> sigmoid(0.0), sigmoid(-1000.0), sigmoid(1000.0)
    (0.5, 0.0, 1.0)
    """
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


def relu(x: float) -> float:
    """x where x is positive, else 0."""
    return 0.0 if x <= 0 else float(x)


def log(x: float) -> float:
    """Natural logarithm of x + EPS."""
    return math.log(x + EPS)


def exp(x: float) -> float:
    """e to the power of x."""
    return math.exp(x)


def inv(x: float) -> float:
    """1 divided by x."""
    return 1.0 / x


def log_back(x: float, d: float) -> float:
    """Derivative of `log` at x, times d."""
    return d / (x + EPS)


def inv_back(x: float, d: float) -> float:
    """Derivative of `inv` at x, times d."""
    return -d / (x * x)


def relu_back(x: float, d: float) -> float:
    """Derivative of `relu` at x, times d (at 0 the derivative is taken to be 0)."""
    return float(d) if x > 0 else 0.0


# --- Task 0.3: functions of functions ----------------------------------------


def map(fn: Callable[[float], float]) -> Callable[[Iterable[float]], list[float]]:
    """Turn a function of one number into a function of a list.

    >>> map(neg)([1.0, 2.0, 3.0])
    [-1.0, -2.0, -3.0]
    """

    def apply(ls: Iterable[float]) -> list[float]:
        return [fn(x) for x in ls]

    return apply


def zipWith(
    fn: Callable[[float, float], float],
) -> Callable[[Iterable[float], Iterable[float]], list[float]]:
    """Turn a function of two numbers into a function of two lists.

    Stops at the end of the shorter list.

    >>> zipWith(mul)([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    [4.0, 10.0, 18.0]
    """

    def apply(ls1: Iterable[float], ls2: Iterable[float]) -> list[float]:
        return [fn(x, y) for x, y in zip(ls1, ls2, strict=False)]

    return apply


def reduce(fn: Callable[[float, float], float], start: float) -> Callable[[Iterable[float]], float]:
    """Turn a function of two numbers into one that reduces a list, from the left.

    >>> reduce(add, 0.0)([1.0, 2.0, 3.0])
    6.0
    """

    def apply(ls: Iterable[float]) -> float:
        total = float(start)
        for x in ls:
            total = fn(total, x)
        return total

    return apply


def negList(ls: Iterable[float]) -> list[float]:
    """Negate every element.

    >>> negList([1.0, -2.0])
    [-1.0, 2.0]
    """
    return map(neg)(ls)


def addLists(ls1: Iterable[float], ls2: Iterable[float]) -> list[float]:
    """Add two lists element by element.

    >>> addLists([1.0, 2.0], [10.0, 20.0])
    [11.0, 22.0]
    """
    return zipWith(add)(ls1, ls2)


def sum(ls: Iterable[float]) -> float:
    """Sum of all elements; 0.0 of none."""
    return reduce(add, 0.0)(ls)


def prod(ls: Iterable[float]) -> float:
    """Product of all elements; 1.0 of none."""
    return reduce(mul, 1.0)(ls)
