"""Pooling of large arrays, compiled by Numba: one plane (or volume) after another, in parallel.

Windows along three dimensions come as tables of their first places and ends, and as steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .kernels import kernel, share
from .vectors import get, put


def max_plane(
    x: Any, sizes: Any, firsts: Any, ends: Any, steps: Any, values: Any, indices: Any
) -> None:
    """The largest element of each window of one plane, and its place: the first, or the last NaN."""
    o = 0
    for i in range(len(firsts[0])):
        for j in range(len(firsts[1])):
            for k in range(len(firsts[2])):
                d, first, end = firsts[0][i], firsts[2][k], ends[2][k]
                place = (d * sizes[1] + firsts[1][j]) * sizes[2] + first
                best = x.dtype.type(-np.inf)
                while d < ends[0][i]:
                    h = firsts[1][j]
                    while h < ends[1][j]:
                        row = (d * sizes[1] + h) * sizes[2]
                        w = row + first
                        while w < row + end:
                            number = get(x, w)
                            better = (number > best) | (number != number)  # NaN wins
                            best = number if better else best
                            place = w if better else place
                            w += steps[2]
                        h += steps[1]
                    d += steps[0]
                put(values, o, best)
                put(indices, o, place)
                o += 1


def halve_plane(x: Any, height: int, width: int, values: Any, indices: Any) -> None:
    """The same for windows of 2 by 2 side by side, the most common ones."""
    o = 0
    for j in range(height // 2):
        for k in range(width // 2):
            first = 2 * j * width + 2 * k
            best, place = get(x, first), first
            for w in (first + 1, first + width, first + width + 1):
                number = get(x, w)
                better = (number > best) | (number != number)
                best = number if better else best
                place = w if better else place
            put(values, o, best)
            put(indices, o, place)
            o += 1


def add_plane(g: Any, indices: Any, gradient: Any) -> None:
    """Add each g at its place; places outside the plane are passed over."""
    gradient[:] = 0
    for o in range(len(g)):
        place = indices[o]
        if 0 <= place < len(gradient):
            gradient[place] += g[o]


def mean_plane(x: Any, sizes: Any, firsts: Any, ends: Any, divisors: Any, values: Any) -> None:
    """The mean of each window of one plane."""
    o = 0
    for i in range(len(firsts[0])):
        for j in range(len(firsts[1])):
            for k in range(len(firsts[2])):
                first, end = firsts[2][k], ends[2][k]
                total = x.dtype.type(0)
                for d in range(firsts[0][i], ends[0][i]):
                    for h in range(firsts[1][j], ends[1][j]):
                        row = (d * sizes[1] + h) * sizes[2]
                        for w in range(row + first, row + end):
                            total += get(x, w)
                put(values, o, total / get(divisors, o))
                o += 1


def share_plane(g: Any, sizes: Any, firsts: Any, ends: Any, divisors: Any, gradient: Any) -> None:
    """Share each window's g among its places."""
    gradient[:] = 0
    o = 0
    for i in range(len(firsts[0])):
        for j in range(len(firsts[1])):
            for k in range(len(firsts[2])):
                share = g[o] / divisors[o]
                for d in range(firsts[0][i], ends[0][i]):
                    for h in range(firsts[1][j], ends[1][j]):
                        row = (d * sizes[1] + h) * sizes[2]
                        for w in range(row + firsts[2][k], row + ends[2][k]):
                            put(gradient, w, get(gradient, w) + share)
                o += 1


def max_planes(
    task: int, tasks: int, x: Any, sizes: Any, firsts: Any, ends: Any, steps: Any, values: Any, indices: Any
) -> None:  # fmt: skip
    """The largest element of each window of every plane."""
    first, last = share(task, tasks, len(x))
    for i in range(first, last):
        max_plane(x[i], sizes, firsts, ends, steps, values[i], indices[i])


def halve_planes(
    task: int, tasks: int, x: Any, height: int, width: int, values: Any, indices: Any
) -> None:
    """The largest element of each window of 2 by 2 of every plane."""
    first, last = share(task, tasks, len(x))
    for i in range(first, last):
        halve_plane(x[i], height, width, values[i], indices[i])


def add_planes(task: int, tasks: int, g: Any, indices: Any, gradient: Any) -> None:
    """Add each g at its place, in every plane."""
    first, last = share(task, tasks, len(g))
    for i in range(first, last):
        add_plane(g[i], indices[i], gradient[i])


def mean_planes(
    task: int, tasks: int, x: Any, sizes: Any, firsts: Any, ends: Any, divisors: Any, values: Any
) -> None:
    """The mean of each window of every plane."""
    first, last = share(task, tasks, len(x))
    for i in range(first, last):
        mean_plane(x[i], sizes, firsts, ends, divisors, values[i])


def share_planes(
    task: int, tasks: int, g: Any, sizes: Any, firsts: Any, ends: Any, divisors: Any, gradient: Any
) -> None:
    """Share each window's g among its places, in every plane."""
    first, last = share(task, tasks, len(g))
    for i in range(first, last):
        share_plane(g[i], sizes, firsts, ends, divisors, gradient[i])


@cache
def compiled_kernel(body: Callable[..., None], real: Any) -> Callable[..., None]:
    """The kernel of one of these bodies for planes of float32 or float64."""
    return kernel(body)
