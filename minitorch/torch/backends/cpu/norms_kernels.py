"""Kernels of norms.py: arithmetic on rows, with sums along them or numbers for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .kernels import kernel, number, over_rows, reduction, share, tasks_for
from .runs import squares, total

Array = Any

ROWS = 32
"""How many rows' gradients are added up before they join the rest: long sums stay exact."""


# --- Rows that are normalized by their own statistics -----------------------------------------------


def normalize_rows(
    x: Array, weight: Array | None, bias: Array | None, eps: float, centred: bool
) -> tuple[Array, Array, Array]:
    """Normalize each row of (rows, n), about its mean or about 0."""
    rows, n = x.shape
    out, (mean, rstd) = np.empty(x.shape, x.dtype), np.empty((2, rows, 1), x.dtype)
    w = np.ones(n, x.dtype) if weight is None else weight
    b = np.zeros(n, x.dtype) if bias is None else bias
    _normalize(centred)(x.size, np.ascontiguousarray(x), out, mean, rstd, w, b, eps)
    return out, mean, rstd


@cache
def _normalize(centred: bool) -> Callable[..., None]:
    @over_rows(shared=3)
    def normalize(
        x: Array, out: Array, mean: Array, rstd: Array, w: Array, b: Array, eps: float
    ) -> None:
        """x, out, w and b are (n), mean and rstd (1)."""
        n = number(len(x))
        mean[0] = total(x) / n if centred else 0.0
        rstd[0] = 1 / np.sqrt(squares(x, mean[0]) / n + eps)
        centre, scale = mean[0], rstd[0]
        for i in range(len(out)):
            out[i] = (x[i] - centre) * scale * w[i] + b[i]

    return normalize


def normalize_rows_backward(
    g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None, centred: bool
) -> tuple[Array, Array, Array]:
    """The gradients by x, weight and bias."""
    n, kind, tasks = x.shape[1], x.dtype, tasks_for(x.size)
    dx, sums = np.empty(x.shape, kind), np.zeros((tasks, 2, n), kind)
    w = np.ones(n, kind) if weight is None else weight
    g, x, mean, rstd = map(np.ascontiguousarray, (g, x, mean, rstd))
    _normalize_backward(centred)(x.size, g, x, mean, rstd, w, dx, sums)
    return dx, np.add.reduce(sums[:, 0]), np.add.reduce(sums[:, 1])


@cache
def _normalize_backward(centred: bool) -> Callable[..., None]:
    @reduction
    def row_sums(g: Array, x: Array, w: Array, mean: Any, rstd: Any) -> Any:
        """The sums of g w and of g w times the normalized row."""
        plain, along = 0.0, 0.0
        for i in range(len(g)):
            gw = g[i] * w[i]
            plain += gw
            along += gw * (x[i] - mean)
        return plain if centred else 0.0, along * rstd

    def normalize_backward(
        task: int, tasks: int, g: Array, x: Array, mean: Array, rstd: Array, w: Array,
        dx: Array, sums: Array,
    ) -> None:  # fmt: skip
        """g, x and dx are (rows, n), mean and rstd (rows), w (n), sums (tasks, 2, n)."""
        first, last = share(task, tasks, len(x))
        n = x.shape[1]
        dw, db = sums[task, 0], sums[task, 1]
        some_w, some_b = np.zeros(n, x.dtype), np.zeros(n, x.dtype)
        scale = number(n)
        for r in range(first, last):
            row, gs, o = x[r], g[r], dx[r]
            m, s = mean[r], rstd[r]
            plain, along = row_sums(gs, row, w, m, s)
            plain, along = plain / scale, along / scale
            for i in range(n):
                normal = (row[i] - m) * s
                o[i] = (gs[i] * w[i] - plain - normal * along) * s
                some_w[i] += gs[i] * normal
                some_b[i] += gs[i]
            if (r - first) % ROWS == ROWS - 1 or r == last - 1:
                for i in range(n):
                    dw[i] += some_w[i]
                    db[i] += some_b[i]
                    some_w[i] = 0.0
                    some_b[i] = 0.0

    return kernel(normalize_backward)


# --- Rows with numbers of their own: x is (N, C, rest), the numbers (N, C) or (1, C) --------------------------


def scale_rows(x: Array, scale: Array, shift: Array) -> Array:
    """x scale + shift."""
    if x.shape[2] == 1:
        return NotImplemented
    out = np.empty_like(x)
    _scale_rows(x.size, *_two(x), *_one(x, scale, shift), *_two(out))
    return out


def combine_rows(g: Array, x: Array, scale: Array, slope: Array, level: Array) -> Array:
    """g scale - x slope - level."""
    if x.shape[2] == 1:
        return NotImplemented
    out = np.empty_like(x)
    _combine_rows(x.size, *_two(g, x), *_one(x, scale, slope, level), *_two(out))
    return out


def row_sums(g: Array, x: Array, mean: Array) -> Any:
    """The sums along rows of g, and of g (x - mean)."""
    if x.shape[2] == 1:
        return NotImplemented
    sums, products = np.empty((2, *x.shape[:2]), x.dtype)
    _row_sums(x.size, *_two(g, x), *_one(x, mean), sums.reshape(-1, 1), products.reshape(-1, 1))
    return sums, products


def _two(*arrays: Array) -> list[Array]:
    return [v.reshape(-1, v.shape[2]) for v in arrays]


def _one(x: Array, *arrays: Array) -> list[Array]:
    """A number for each row of x."""
    return [(v if len(v) == len(x) else v.repeat(len(x), axis=0)).reshape(-1) for v in arrays]


@over_rows()
def _scale_rows(x: Array, scale: Any, shift: Any, out: Array) -> None:
    for i in range(len(out)):
        out[i] = x[i] * scale + shift


@over_rows()
def _combine_rows(g: Array, x: Array, scale: Any, slope: Any, level: Any, out: Array) -> None:
    for i in range(len(out)):
        out[i] = (g[i] * scale - x[i] * slope) - level


@reduction
def _both_sums(g: Array, x: Array, mean: Any) -> Any:
    s, p = 0.0, 0.0
    for i in range(len(g)):
        s += g[i]
        p += g[i] * (x[i] - mean)
    return s, p


@over_rows()
def _row_sums(g: Array, x: Array, mean: Any, sums: Array, products: Array) -> None:
    sums[0], products[0] = _both_sums(g, x, mean)
