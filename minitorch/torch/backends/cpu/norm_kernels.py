"""Kernels of norms.py."""

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


def layer_norm(
    x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """Normalise each row of (rows, n)."""
    rows, n = x.shape
    out, mean, rstd = np.empty_like(x), np.empty(rows, x.dtype), np.empty(rows, x.dtype)
    w = np.ones(n, x.dtype) if weight is None else weight
    b = np.zeros(n, x.dtype) if bias is None else bias
    _layer_norm(x.dtype.type)(x.size, x, w, b, eps, out, mean, rstd)
    return out, mean, rstd


def layer_norm_backward(
    g: Array, x: Array, mean: Array, rstd: Array, weight: Array | None
) -> tuple[Array, Array, Array]:
    """The gradients by x, weight and bias."""
    n = x.shape[1]
    kind = x.dtype
    parts = tasks_for(x.size)
    dx = np.empty_like(x)
    dw, db = np.zeros((parts, n), kind), np.zeros((parts, n), kind)
    w = np.ones(n, kind) if weight is None else weight
    _layer_norm_backward(kind.type)(x.size, g, x, mean, rstd, w, dx, dw, db)
    return dx, dw.sum(axis=0), db.sum(axis=0)


@cache
def _layer_norm(real: Any) -> Callable[..., None]:
    total = folds(real).total

    @fold
    def squares(x: Array, mean: Any) -> Any:
        s = real(0)
        for i in range(len(x)):
            d = x[i] - mean
            s += d * d
        return s

    def layer_norm(
        task: int, tasks: int, x: Array, w: Array, b: Array, eps: float,
        out: Array, means: Array, rstds: Array,
    ) -> None:  # fmt: skip
        first, last = share(task, tasks, len(x))
        n = real(x.shape[1])
        for r in range(first, last):
            row, o = x[r], out[r]
            mean = total(row) / n
            rstd = real(1 / np.sqrt(squares(row, mean) / n + eps))
            means[r], rstds[r] = mean, rstd
            for i in range(len(o)):
                o[i] = (row[i] - mean) * rstd * w[i] + b[i]

    return parallel(layer_norm)


@cache
def _layer_norm_backward(real: Any) -> Callable[..., None]:
    @fold
    def means(g: Array, x: Array, w: Array, mean: Any, rstd: Any) -> Any:
        """The sums of g w and of g w times the normalised row."""
        plain, along = real(0), real(0)
        for i in range(len(g)):
            gw = g[i] * w[i]
            plain += gw
            along += gw * (x[i] - mean)
        return plain, along * rstd

    def layer_norm_backward(
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
            plain, along = means(gs, row, w, m, s)
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

    return parallel(layer_norm_backward)
