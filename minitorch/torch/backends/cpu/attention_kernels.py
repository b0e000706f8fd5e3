"""Kernels of attention.py: rows of scores to shares in one pass, and their derivative."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from .kernels import parallel, step
from .runs import folds, share
from .scalars import functions

Array = Any

LANES = 32
"""How many numbers a loop takes at a time."""


def to_shares(scores: Array, scale: float, causal: bool) -> None:
    """Let scores (..., L, S) be softmax(scale scores); if causal, query i takes of i + 1 keys."""
    run = _to_shares(scores.dtype.type)
    run(scores.size, _rows(scores), scores.dtype.type(scale), scores.shape[-2] if causal else 0)


def to_slopes(slopes: Array, shares: Array, scale: float) -> None:
    """Let gradients of shares be those of the scores that they were made of."""
    run = _to_slopes(slopes.dtype.type)
    run(slopes.size, _rows(slopes), _rows(shares), slopes.dtype.type(scale))


def _rows(x: Array) -> Array:
    return x.reshape(-1, x.shape[-1])


@cache
def _to_shares(real: Any) -> Callable[..., None]:
    exp, largest, total = functions(real)["exp"], folds(real).largest, folds(real).total

    @step
    def exponentials(x: Array, top: Any, scale: Any) -> None:
        """Let x be exp(scale (x - top))."""
        for j in range(len(x)):
            x[j] = exp((x[j] - top) * scale)

    def to_shares(task: int, tasks: int, scores: Array, scale: Any, length: int) -> None:
        first, last = share(task, tasks, len(scores))
        for r in range(first, last):
            row = scores[r]
            n = min(r % length + 1, len(row)) if length else len(row)
            # A loop's rest runs without vector instructions: some keys too many are taken, not -inf,
            # whose exponentials are slow; then they are forgotten.
            exponentials(row[: (n + LANES - 1) // LANES * LANES], largest(row[:n]), scale)
            for j in range(n, len(row)):
                row[j] = real(0)
            part = real(1) / total(row)
            for j in range(len(row)):
                row[j] *= part

    return parallel(to_shares)


@cache
def _to_slopes(real: Any) -> Callable[..., None]:
    product = folds(real).product

    def to_slopes(task: int, tasks: int, slopes: Array, shares: Array, scale: Any) -> None:
        first, last = share(task, tasks, len(slopes))
        for r in range(first, last):
            row, weights = slopes[r], shares[r]
            mean = product(row, weights)
            for j in range(len(row)):
                row[j] = (row[j] - mean) * weights[j] * scale

    return parallel(to_slopes)
