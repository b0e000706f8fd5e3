"""Kernels of pool.py: one plane (or volume) after another, in parallel.

Windows come as sizes, first places, ends and steps, a tuple of three of each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...formulas.arrays import in_order
from ...formulas.geometry import Grid, Sizes
from ...formulas.pool import planes_of, pooled_shape
from .kernels import over_rows
from .vectors import get, put

Array = Any


def max_of_windows(x: Array, grid: Grid) -> Any:
    """The largest element of each window, and its place."""
    shape = pooled_shape(x.shape, grid)
    if 0 in shape or not grid.covers_some:
        return NotImplemented
    values, indices = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    planes = [planes_of(in_order(v), grid.dims) for v in (x, values, indices)]
    if grid.are_halves:
        _halve_planes(x.size, *planes, grid.sizes)
    else:
        _max_planes(max(x.size, values.size * grid.taps), *planes, grid.lifted)
    return values, indices


def max_pool_gradient(g: Array, indices: Array, input_shape: Sizes, dims: int) -> Array:
    """The gradient of a maximum's input: g added at the places that won."""
    added = np.empty(input_shape, g.dtype)
    _add_planes(added.size, *(planes_of(in_order(v), dims) for v in (g, added, indices)))
    return added


# --- One plane ---------------------------------------------------------------------------


@over_rows(shared=1)
def _max_planes(x: Array, values: Array, indices: Array, windows: Any) -> None:
    """The largest element of each window, and its place: the first, or the last NaN."""
    sizes, firsts, ends, steps = windows
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


@over_rows(shared=1)
def _halve_planes(x: Array, values: Array, indices: Array, sizes: Any) -> None:
    """The same for windows of 2 by 2 side by side, the most common ones."""
    height, width = sizes
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


@over_rows()
def _add_planes(g: Array, gradient: Array, indices: Array) -> None:
    """Add each g at its place; places outside the plane are passed over."""
    gradient[:] = 0
    for o in range(len(g)):
        place = indices[o]
        if 0 <= place < len(gradient):
            gradient[place] += g[o]
