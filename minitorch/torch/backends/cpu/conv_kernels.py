"""Kernels of conv.py: from arrays to tiles of products, with the work shared among the cores."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ....threads import get_num_threads
from ...formulas.arrays import in_order, view_as
from ...formulas.geometry import Geometry, Sizes
from . import conv_gradient_tiles, conv_tiles
from .conv_plans import Plan, plan_convolution
from .kernels import PARALLEL
from .vectors import BYTES

Array = Any

SHEET = 1 << 16
"""How many elements of a sheet stay in the cache of one core."""

CHUNK = 1 << 15
"""How many elements of a sheet stay near while all rows of weights pass."""

LINES = 1 << 15
"""How many elements of a gradient are laid out at a time, of at least one sample: more would not be near any more."""


def convolve(
    x: Array, weight: Array, bias: Array | None, shape: Sizes, geometry: Geometry, groups: int
) -> Any:
    """The convolution of x with weight."""
    if geometry.is_pointwise:
        return NotImplemented
    return _run(False, x, weight, bias, shape, geometry, groups)


def convolve_transposed(
    g: Array, weight: Array, input_shape: Sizes, geometry: Geometry, groups: int
) -> Any:
    """The transposed convolution of g with weight."""
    if geometry.is_pointwise and g.shape[2:] == input_shape[2:]:
        return NotImplemented
    return _run(True, g, weight, None, input_shape, geometry, groups)


def _plan(
    transposed: bool, source: Sizes, result: Sizes, geometry: Geometry, groups: int, room: int, samples: int
) -> Plan:  # fmt: skip
    most = max(1, min(samples, source[0] // get_num_threads()))
    return plan_convolution(transposed, source, result, geometry, groups, most, room)


def _parts(plan: Plan, batch: int, tiles: int, taps: int, weights: int) -> tuple[int, int]:
    """In how many parts the cores share a batch and tiles of rows of weights, at the least cost.

    Cycles: a quarter for each place of the result and each tap in a tile, half of one for
    each element laid out, two for each weight packed.
    """
    _, channels, depth, height, width, *_ = plan.layout
    laid_out = channels * depth * height * width / 2
    threads = get_num_threads()

    def cost(samples: int) -> float:
        rows = threads // samples
        multiplied = -(-tiles // rows) * taps * plan.result[0] / 4
        return -(-batch // samples) * (multiplied + laid_out) + 2 * weights / rows

    samples = min((s for s in range(1, threads + 1) if threads % s == 0), key=cost)
    return samples, threads // samples


def planned(
    transposed: bool, source: Sizes, weight: Sizes, shape: Sizes, geometry: Geometry, groups: int, itemsize: int
) -> tuple[Plan, tuple[int, ...], int]:  # fmt: skip
    """A convolution, or a transposed one, from one shape to another: its plan, what `convolve_all` calls work, and the size of its room."""
    plan = _plan(transposed, source, shape, geometry, groups, SHEET, shape[0])
    row = prod(weight[2 if transposed else 1 :])
    rows = shape[1] // groups
    tall = 1 if rows == 1 else conv_tiles.ROWS
    parts = _parts(plan, shape[0], -(-rows // tall) * groups, len(plan.offsets), prod(weight))
    tile = BYTES // itemsize * (8 if rows == 1 else 3)
    chunk = tile * min(max(CHUNK // (tile * max(plan.reach, 1)), 2), 40)
    work = (shape[0], groups, rows, row, chunk, *parts)
    room = prod(parts) * sum(conv_tiles.workspace(plan.layout, work, len(plan.offsets)))
    return plan, work, room


def _run(
    transposed: bool, source: Array, weight: Array, bias: Any, shape: Sizes, geometry: Geometry, groups: int
) -> Array:  # fmt: skip
    plan, work, room = planned(
        transposed, source.shape, weight.shape, shape, geometry, groups, source.itemsize
    )
    out = np.empty(shape, source.dtype)
    given = source, weight, source[:0] if bias is None else bias
    conv_tiles.convolve_all(
        PARALLEL, *(in_order(a).reshape(-1) for a in given), view_as(out, -1),
        np.empty(room, source.dtype), plan.layout, work, plan.result, plan.splits, plan.phases, plan.offsets, plan.weights,
    )  # fmt: skip
    return out


def weight_gradient(g: Array, x: Array, shape: Sizes, geometry: Geometry, groups: int) -> Array:
    """The gradient of a weight of `shape` from that of the output, and the input."""
    plan, work, offsets, kept, room = planned_gradient(
        g.shape, x.shape, shape, geometry, groups, x.itemsize
    )
    sums = np.zeros(kept, x.dtype)
    conv_gradient_tiles.gather_all(
        PARALLEL, in_order(g).reshape(-1), in_order(x).reshape(-1), view_as(sums, -1),
        np.empty(room, x.dtype), plan.layout, work, plan.splits, offsets,
    )  # fmt: skip
    return sums.sum(0)[:, : shape[0] // groups, : len(plan.offsets)].reshape(shape)


def planned_gradient(
    g: Sizes, x: Sizes, shape: Sizes, geometry: Geometry, groups: int, itemsize: int
) -> tuple[Plan, tuple[int, ...], Array, Sizes, int]:
    """The gradient of a weight, from shapes: its plan, what `gather_all` calls work and offsets, the shape of sums, the size of its room."""
    rows = shape[0] // groups
    samples = LINES // max(rows * prod(g[2:]), 1)
    plan = _plan(False, x, g, geometry, groups, 4 * SHEET, samples)
    taps = len(plan.offsets)
    places = plan.phases[0, 3:].tolist()
    in_place = plan.is_source and not places[1] * places[2] * itemsize % BYTES
    if in_place := in_place and places == list(plan.layout[2:5]):
        plan = _in_place(plan)
    offsets = np.append(plan.offsets, plan.offsets[-1:].repeat(-taps % 4))
    tall = 1 if rows == 1 else conv_gradient_tiles.ROWS
    parts = _parts(plan, x[0], -(-rows // tall) * groups, taps, shape[0] * taps)
    work = (x[0], groups, rows, *places, *parts, int(in_place))
    room = prod(parts) * sum(conv_gradient_tiles.workspace(plan.layout, work, BYTES // itemsize))
    return plan, work, offsets, (parts[0], groups, -(-rows // tall) * tall, len(offsets)), room


def _in_place(plan: Plan) -> Plan:
    """The plan in which each sample is its own sheet: windows of one tap that move by one."""
    channels, *sizes = plan.layout[1:5]
    volume = sizes[0] * sizes[1] * sizes[2]
    layout = (1, channels, *sizes, *sizes, 1, 1, 1, volume, sizes[1])
    return plan._replace(layout=layout, offsets=np.arange(channels) * volume)
