"""Kernels of norms.py: arithmetic on rows, with sums along them or numbers for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .kernels import fold, parallel, tasks_for
from .runs import folds, share

Array = Any

ROWS = 32
"""How many rows' gradients are added up before they join the rest: long sums stay exact."""


# --- Rows that are normalised by their own statistics -----------------------------------------------


def normalise(
    centred: bool, x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """Normalise each row of (rows, n), about its mean or about 0."""
    rows, n = x.shape
    out, mean, rstd = np.empty_like(x), np.empty(rows, x.dtype), np.empty(rows, x.dtype)
    w = np.ones(n, x.dtype) if weight is None else weight
    b = np.zeros(n, x.dtype) if bias is None else bias
    _normalise(x.dtype.type, centred)(x.size, x, w, b, eps, out, mean, rstd)
    return out, mean, rstd


@cache
def _normalise(real: Any, centred: bool) -> Callable[..., None]:
    total = folds(real).total

    @fold
    def squares(x: Array, mean: Any) -> Any:
        s = real(0)
        for i in range(len(x)):
            d = x[i] - mean
            s += d * d
        return s

    def normalise(
        task: int, tasks: int, x: Array, w: Array, b: Array, eps: float,
        out: Array, means: Array, rstds: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(x))
        n = real(x.shape[1])
        for r in range(first, last):
            row, o = x[r], out[r]
            mean = total(row) / n if centred else real(0)
            rstd = real(1 / np.sqrt(squares(row, mean) / n + eps))
            means[r], rstds[r] = mean, rstd
            for i in range(len(o)):
                o[i] = (row[i] - mean) * rstd * w[i] + b[i]

    return parallel(normalise)


def normalise_backward(
    centred: bool, g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None
) -> tuple[Array, Array, Array]:
    """The gradients by x, weight and bias."""
    n, kind, tasks = x.shape[1], x.dtype, tasks_for(x.size)
    dx, dw, db = np.empty_like(x), np.zeros((tasks, n), kind), np.zeros((tasks, n), kind)
    w = np.ones(n, kind) if weight is None else weight
    _normalise_backward(kind.type, centred)(x.size, g, x, mean, rstd, w, dx, dw, db)
    return dx, dw.sum(axis=0), db.sum(axis=0)


@cache
def _normalise_backward(real: Any, centred: bool) -> Callable[..., None]:
    @fold
    def sums(g: Array, x: Array, w: Array, mean: Any, rstd: Any) -> Any:
        """The sums of g w and of g w times the normalised row."""
        plain, along = real(0), real(0)
        for i in range(len(g)):
            gw = g[i] * w[i]
            plain += gw
            along += gw * (x[i] - mean)
        return plain if centred else real(0), along * rstd

    def normalise_backward(
        task: int, tasks: int, g: Array, x: Array, mean: Array, rstd: Array, w: Array,
        dx: Array, dws: Array, dbs: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(x))
        n = x.shape[1]
        dw, db = dws[task], dbs[task]
        some_w, some_b = np.zeros(n, x.dtype), np.zeros(n, x.dtype)
        for r in range(first, last):
            row, gs, o = x[r], g[r], dx[r]
            m, s = mean[r], rstd[r]
            plain, along = sums(gs, row, w, m, s)
            plain, along = plain / real(n), along / real(n)
            for i in range(n):
                normal = (row[i] - m) * s
                o[i] = (gs[i] * w[i] - plain - normal * along) * s
                some_w[i] += gs[i] * normal
                some_b[i] += gs[i]
            if (r - first) % ROWS == ROWS - 1 or r == last - 1:
                for i in range(n):
                    dw[i] += some_w[i]
                    db[i] += some_b[i]
                    some_w[i] = real(0)
                    some_b[i] = real(0)

    return parallel(normalise_backward)


# --- Rows with numbers of their own: x is (N, C, rest), the numbers are (N, C) --------------------------


def scale_rows(x: Array, scale: Array, shift: Array) -> Array:
    """x scale + shift."""
    if x.shape[2] == 1:
        return x * scale[:, :, None] + shift[:, :, None]
    out = np.empty_like(x)
    _scale_rows(x.dtype.type)(x.size, *_two(x), *_one(scale, shift), *_two(out))
    return out


def combine_rows(g: Array, x: Array, scale: Array, slope: Array, level: Array) -> Array:
    """g scale - x slope - level."""
    if x.shape[2] == 1:
        return g * scale[:, :, None] - x * slope[:, :, None] - level[:, :, None]
    out = np.empty_like(x)
    _combine_rows(x.dtype.type)(x.size, *_two(g, x), *_one(scale, slope, level), *_two(out))
    return out


def row_sums(g: Array, x: Array, mean: Array) -> tuple[Array, Array]:
    """The sums along rows of g, and of g (x - mean)."""
    if x.shape[2] == 1:
        return g[:, :, 0], g[:, :, 0] * (x[:, :, 0] - mean)
    sums, products = np.empty(x.shape[:2], x.dtype), np.empty(x.shape[:2], x.dtype)
    _row_sums(x.dtype.type)(x.size, *_two(g, x), *_one(mean, sums, products))
    return sums, products


def _two(*arrays: Array) -> list[Array]:
    return [v.reshape(-1, v.shape[2]) for v in arrays]


def _one(*arrays: Array) -> list[Array]:
    return [np.ascontiguousarray(v).reshape(-1) for v in arrays]


@cache
def _scale_rows(real: Any) -> Callable[..., None]:
    def scale_rows(task: int, tasks: int, x: Array, scale: Array, shift: Array, out: Array) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            row, o = x[r], out[r]
            a, b = scale[r], shift[r]
            for i in range(len(o)):
                o[i] = row[i] * a + b

    return parallel(scale_rows)


@cache
def _combine_rows(real: Any) -> Callable[..., None]:
    def combine_rows(
        task: int,
        tasks: int,
        g: Array,
        x: Array,
        scale: Array,
        slope: Array,
        level: Array,
        out: Array,
    ) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            gs, row, o = g[r], x[r], out[r]
            a, b, c = scale[r], slope[r], level[r]
            for i in range(len(o)):
                o[i] = (gs[i] * a - row[i] * b) - c

    return parallel(combine_rows)


@cache
def _row_sums(real: Any) -> Callable[..., None]:
    @fold
    def both(g: Array, x: Array, mean: Any) -> Any:
        s, p = real(0), real(0)
        for i in range(len(g)):
            s += g[i]
            p += g[i] * (x[i] - mean)
        return s, p

    def row_sums(
        task: int, tasks: int, g: Array, x: Array, mean: Array, sums: Array, products: Array
    ) -> None:
        first, last = share(task, tasks, len(x))
        for r in range(first, last):
            sums[r], products[r] = both(g[r], x[r], mean[r])

    return parallel(row_sums)
