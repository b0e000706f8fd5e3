"""Kernels of attention.py: whole heads, side by side; and passes over rows of scores.

Operands are given by address and strides: the products of a BLAS read and write them where they
are, whatever the order of their dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .arrays import view_as
from .blas import SMALL, address_of_product, product
from .kernels import PRODUCTS, parallel, part, run_at, step, tasks_for
from .runs import folds, share
from .scalars import functions

Array = Any

LANES = 32
"""How many numbers a loop takes at a time."""

NEAR = 8 * SMALL
"""So many multiplications a head may take: larger ones leave cores to the BLAS."""


def takes(query: Array, key: Array, value: Array) -> bool:
    """Whether there are several heads, each small, and a BLAS that kernels can call."""
    batch = query.shape[:-2]
    each = query.shape[-2] * key.shape[-2] * max(key.shape[-1], value.shape[-1])
    return (
        query.ndim <= 4
        and batch == key.shape[:-2] == value.shape[:-2]
        and query.shape[-1] == key.shape[-1]
        and key.shape[-2] == value.shape[-2]
        and query.size > query.shape[-2] * query.shape[-1]
        and 0 < each <= NEAR
        and address_of_product(query.dtype.type) != 0
    )


def forward(
    query: Array, key: Array, value: Array, scale: float, causal: bool, shares: Array, out: Array
) -> None:
    """Fill shares (..., L, S) and out (..., L, Ev)."""
    _run("attend", (query, key, value, out, shares), scale, causal)


def backward(
    g: Array, query: Array, key: Array, value: Array, scale: float, shares: Array,
    by_query: Array, by_key: Array, by_value: Array,
) -> None:  # fmt: skip
    """Fill the three gradients, from that of the output and the shares."""
    length, keys = shares.shape[-2:]
    slopes = np.empty((tasks_for(_work(query, value, shares)), 1, length, keys), shares.dtype)
    made = by_query, by_key, by_value
    _run("attend_backward", (query, key, value, g, shares, *made, slopes), scale, False)


def _run(name: str, operands: tuple[Array, ...], scale: float, causal: bool) -> None:
    query, key, value, _, shares = heads = [_heads(x) for x in operands[:5]]
    rest = [x[(None,) * (4 - x.ndim)] for x in operands[5:]]
    places = np.array([(x.ctypes.data, *x.strides[:3]) for x in (*heads, *rest)])
    sizes = np.array([*query.shape[:3], key.shape[2], key.shape[3], value.shape[3], causal])
    real = query.dtype.type
    _heads_kernel(name, real)(
        _work(query, value, shares), address_of_product(real), places, sizes, real(scale)
    )


def _work(query: Array, value: Array, shares: Array) -> int:
    return shares.size * (query.shape[-1] + value.shape[-1]) // PRODUCTS


def _heads(x: Array) -> Array:
    """x as (batch, heads, rows, width), the numbers of a row next to each other."""
    if (x.strides[-1] != x.itemsize and x.shape[-1] > 1) or x.strides[-2] < x.shape[
        -1
    ] * x.itemsize:
        x = np.ascontiguousarray(x)
    return x[(None,) * (4 - x.ndim)]


def to_shares(scores: Array, scale: float, causal: bool) -> None:
    """Let scores (..., L, S) be softmax(scale scores); if causal, query i takes of i + 1 keys."""
    run = _to_shares(scores.dtype.type)
    run(
        scores.size,
        view_as(scores, -1, scores.shape[-1]),
        scores.dtype.type(scale),
        scores.shape[-2] if causal else 0,
    )


def to_slopes(slopes: Array, shares: Array, scale: float) -> None:
    """Let gradients of shares be those of the scores that they were made of."""
    run = _to_slopes(slopes.dtype.type)
    rows = (view_as(x, -1, x.shape[-1]) for x in (slopes, shares))
    run(slopes.size, *rows, slopes.dtype.type(scale))


# --- Rows -------------------------------------------------------------------------------------------


@cache
def _row_steps(real: Any) -> tuple[Any, Any]:
    """What happens to a row of scores, and to one of gradients."""
    exp, largest, total = functions(real)["exp"], folds(real).largest, folds(real).total
    product = folds(real).product

    @step
    def exponentials(x: Array, top: Any, scale: Any) -> None:
        """Let x be exp(scale (x - top))."""
        for j in range(len(x)):
            x[j] = exp((x[j] - top) * scale)

    @step
    def share_out(row: Array, n: int, scale: Any) -> None:
        """Let the first n scores be shares, and the others 0."""
        # A loop's rest runs without vector instructions: some keys too many are taken, not -inf,
        # whose exponentials are slow; then they are forgotten.
        exponentials(row[: (n + LANES - 1) // LANES * LANES], largest(row[:n]), scale)
        for j in range(n, len(row)):
            row[j] = real(0)
        part = real(1) / total(row)
        for j in range(len(row)):
            row[j] *= part

    @step
    def slope(row: Array, shares: Array, scale: Any) -> None:
        """Let gradients of shares be those of scores."""
        mean = product(row, shares)
        for j in range(len(row)):
            row[j] = (row[j] - mean) * shares[j] * scale

    return share_out, slope


@cache
def _to_shares(real: Any) -> Callable[..., None]:
    share_out, _ = _row_steps(real)

    def to_shares(task: int, tasks: int, scores: Array, scale: Any, length: int) -> None:
        first, last = share(task, tasks, len(scores))
        for r in range(first, last):
            n = min(r % length + 1, scores.shape[1]) if length else scores.shape[1]
            share_out(scores[r], n, scale)

    return parallel(to_shares)


@cache
def _to_slopes(real: Any) -> Callable[..., None]:
    _, slope = _row_steps(real)

    def to_slopes(task: int, tasks: int, slopes: Array, shares: Array, scale: Any) -> None:
        first, last = share(task, tasks, len(slopes))
        for r in range(first, last):
            slope(slopes[r], shares[r], scale)

    return parallel(to_slopes)


# --- Heads ------------------------------------------------------------------------------------------


@part
def _head(places: Array, operand: int, b: int, h: int) -> Any:
    """The address of a head of an operand."""
    return places[operand, 0] + b * places[operand, 1] + h * places[operand, 2]


@cache
def _heads_kernel(name: str, real: Any) -> Callable[..., None]:
    run, size, multiply = run_at(real), np.dtype(real).itemsize, product(real)
    share_out, slope = _row_steps(real)

    @step
    def combine(
        blas: int, m: int, n: int, k: int, a: int, a_step: int, b: int, b_step: int, c: int, c_step: int,
        a_turned: bool, b_turned: bool,
    ) -> None:  # fmt: skip
        """C = A B, rows of which are so many bytes apart, in pieces that stay on this core."""
        piece = max(SMALL // max(n * k, 1), 8)
        for i in range(0, m, piece):
            at = a + i * (size if a_turned else a_step)
            multiply(
                blas, min(piece, m - i), n, k, at, a_step // size, b, b_step // size,
                c + i * c_step, c_step // size, a_turned, b_turned,
            )  # fmt: skip

    def attend(task: int, tasks: int, blas: int, places: Array, sizes: Array, scale: Any) -> None:
        heads, length, keys, width, deep = sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
        first, last = share(task, tasks, sizes[0] * heads)
        steps = places[:, 3]
        for unit in range(first, last):
            b, h = unit // heads, unit % heads
            query, key = _head(places, 0, b, h), _head(places, 1, b, h)
            value, out, shares = _head(places, 2, b, h), _head(places, 3, b, h), _head(places, 4, b, h)  # fmt: skip
            combine(blas, length, keys, width, query, steps[0], key, steps[1], shares, steps[4], False, True)  # fmt: skip
            for i in range(length):
                n = min(i + 1, keys) if sizes[6] else keys
                share_out(run(shares + i * steps[4], keys), n, scale)
            combine(blas, length, deep, keys, shares, steps[4], value, steps[2], out, steps[3], False, False)  # fmt: skip

    def attend_backward(
        task: int, tasks: int, blas: int, places: Array, sizes: Array, scale: Any
    ) -> None:
        heads, length, keys, width, deep = sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
        first, last = share(task, tasks, sizes[0] * heads)
        steps, slopes = places[:, 3], _head(places, 8, task, 0)
        for unit in range(first, last):
            b, h = unit // heads, unit % heads
            query, key, value = _head(places, 0, b, h), _head(places, 1, b, h), _head(places, 2, b, h)  # fmt: skip
            g, shares = _head(places, 3, b, h), _head(places, 4, b, h)
            combine(blas, length, keys, deep, g, steps[3], value, steps[2], slopes, steps[8], False, True)  # fmt: skip
            by_value = _head(places, 7, b, h)
            combine(blas, keys, deep, length, shares, steps[4], g, steps[3], by_value, steps[7], True, False)  # fmt: skip
            for i in range(length):
                slope(run(slopes + i * steps[8], keys), run(shares + i * steps[4], keys), scale)
            by_query, by_key = _head(places, 5, b, h), _head(places, 6, b, h)
            combine(blas, length, width, keys, slopes, steps[8], key, steps[1], by_query, steps[5], False, False)  # fmt: skip
            combine(blas, keys, width, length, slopes, steps[8], query, steps[0], by_key, steps[6], True, False)  # fmt: skip

    return parallel(attend if name == "attend" else attend_backward)
