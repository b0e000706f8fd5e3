"""What row kernels have in common: maxima and sums along a run of memory."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from .kernels import fold, part
from .scalars import KEYS

Array = Any


@part
def share(task: Any, tasks: Any, count: Any) -> Any:
    """The first and the last of `count` things that belong to a task."""
    return task * count // tasks, (task + 1) * count // tasks


@cache
def folds(real: Any) -> SimpleNamespace:
    """Functions that fold a run of float32 or float64 numbers into one."""
    key, from_key, integer, lowest = KEYS[real]

    @fold
    def largest(x: Array) -> Any:
        """The largest element, or NaN if there is one."""
        top = integer(lowest)
        for i in range(len(x)):
            k = key(x[i])
            top = k if k > top else top
        return from_key(top)

    @fold
    def smallest(x: Array) -> Any:
        """The smallest element, or NaN if there is one."""
        top = integer(lowest)
        for i in range(len(x)):
            k = key(-x[i])
            top = k if k > top else top
        return -from_key(top)

    @fold
    def total(x: Array) -> Any:
        """The sum."""
        s = real(0)
        for i in range(len(x)):
            s += x[i]
        return s

    @fold
    def product(x: Array, y: Array) -> Any:
        """The sum of products."""
        s = real(0)
        for i in range(len(x)):
            s += x[i] * y[i]
        return s

    @fold
    def squares(x: Array) -> Any:
        """The sum of squares."""
        s = real(0)
        for i in range(len(x)):
            s += x[i] * x[i]
        return s

    @fold
    def multiply(x: Array) -> Any:
        """The product of all elements."""
        s = real(1)
        for i in range(len(x)):
            s *= x[i]
        return s

    return SimpleNamespace(
        largest=largest, smallest=smallest, total=total, product=product, squares=squares,
        multiply=multiply,
    )  # fmt: skip
