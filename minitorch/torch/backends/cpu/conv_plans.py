"""Where everything lies in a large convolution: tables for the kernels of `conv_tiles`.

The kernels lay the source (the input, or in a transposed convolution the gradient) out in
a *sheet*: with zeros around it, and split by what is left of each index when divided by
the stride, so that what one tap of the window meets at neighbouring outputs are neighbours
too. A place of the output is then one position in the sheet, every tap adds a fixed
offset to it, and the convolution is a product of matrices that are never written out.

A sheet holds a block of samples, or, of large ones, a *band* of lines of one sample.

A transposed convolution with stride s is s convolutions with stride 1 (*phases*), each
with its own part of the taps, that fill every s-th place of the result.

All is in three dimensions; fewer ones have leading dimensions of size 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...formulas.geometry import Geometry, Sizes

SHARED = 32
"""How many zeros two lines of a sheet may share."""


# --- One dimension -------------------------------------------------------------------------


class Phase(NamedTuple):
    """Outputs at equal distances that meet the same taps."""

    taps: list[int]
    splits: list[int]  # for each tap, in which split of the sheet its source lies
    shifts: list[int]  # and how far it is from the output's position
    first: int  # where in the result the phase begins
    count: int  # how many places it has


class Axis(NamedTuple):
    """One dimension of a sheet: place i of split s holds source[starts[s] + i * step]."""

    size: int
    starts: list[int]
    step: int
    length: int
    phases: list[Phase]
    result_step: int

    @property
    def is_source(self) -> bool:
        """Whether the sheet is nothing but the source."""
        return self.starts == [0] and self.step == 1 and self.length == self.size


def forward_axis(
    size: int, kernel: int, places: int, stride: int, padding: int, dilation: int
) -> Axis:
    """A convolution has one phase, and one split for each remainder of its taps."""
    reach = [t * dilation for t in range(kernel)]
    residues = sorted({r % stride for r in reach})
    splits = [residues.index(r % stride) for r in reach]
    phase = Phase([*range(kernel)], splits, [r // stride for r in reach], 0, places)
    starts = [r - padding for r in residues]
    return Axis(size, starts, stride, places + reach[-1] // stride, [phase], 1)


def transposed_axis(
    size: int, kernel: int, places: int, stride: int, padding: int, dilation: int
) -> Axis:
    """A transposed convolution, from `places` to `size`, has no splits and many phases.

    Result u, counted with its padding, meets tap t at place (u - t * dilation) / stride if
    that is whole: the taps of a phase are those with u's remainder.
    """
    phases = []
    for first in range(min(stride, size)):
        place, residue = divmod(first + padding, stride)
        taps = [t for t in reversed(range(kernel)) if t * dilation % stride == residue]
        shifts = [place - t * dilation // stride for t in taps]
        phases.append(Phase(taps, [0] * len(taps), shifts, first, -(-(size - first) // stride)))
    low = max(0, -min((s for p in phases for s in p.shifts), default=0))
    phases = [p._replace(shifts=[s + low for s in p.shifts]) for p in phases]
    length = max(p.count + max(p.shifts, default=0) for p in phases)
    return Axis(places, [-low], 1, length, phases, stride)


def share_zeros(axis: Axis) -> Axis:
    """The same lines closer together: the zeros before a line are also those after the last."""
    zeros = min(SHARED, *(max(0, -(start // axis.step)) for start in axis.starts))
    filled = max(-((start - axis.size) // axis.step) for start in axis.starts)
    places = max(p.count for p in axis.phases)
    return axis._replace(length=max(min(filled, axis.length), axis.length - zeros, places))


# --- All dimensions ------------------------------------------------------------------------


class Plan(NamedTuple):
    """A convolution as the kernels take it.

    layout: samples of a block; channels of a group; sizes of the source (3); lengths in the
        sheet (3); steps (3); distance between channels in the sheet; lines of a band
    result: elements of a channel; distance between a phase's places (3)
    splits: where each split of the sheet begins in the source (splits, 3)
    phases: first and last tap; where it begins in the result; places (3) (phases, 6)
    offsets: of each tap from the output's position in the sheet
    weights: of each tap from its row's beginning in the weight
    is_source: whether the sheet of a sample would be nothing but the source
    reach: how many elements one place meets, without those of its own line
    """

    layout: Sizes
    result: Sizes
    splits: Any
    phases: Any
    offsets: Any
    weights: Any
    is_source: bool
    reach: int


@lru_cache(maxsize=256)
def plan_convolution(
    transposed: bool, source: Sizes, result: Sizes, geometry: Geometry, groups: int, most: int, room: int
) -> Plan:  # fmt: skip
    """The plan of a convolution from (N, C, *sizes) to (N, O, *sizes).

    A block has at most `most` samples, and its sheet at most `room` elements where it can.
    """
    before, after = (result, source) if transposed else (source, result)
    make_axis = transposed_axis if transposed else forward_axis
    ones = (1,) * (3 - len(geometry.kernel))
    sizes, kernel, places = ones + before[2:], ones + geometry.kernel, ones + after[2:]
    steps = ones + geometry.stride, (0,) * len(ones) + geometry.padding, ones + geometry.dilation
    axes = list(map(make_axis, sizes, kernel, places, *steps))
    axes[2] = share_zeros(axes[2])
    channels = source[1] // groups
    channel_in_weight = prod(kernel) * (result[1] // groups if transposed else 1)
    return _tabulate(
        axes, kernel, channels, channel_in_weight, sizes if transposed else places, most, room
    )


def _tabulate(
    axes: list[Axis], kernel: Sizes, channels: int, channel_in_weight: int, result: Sizes, most: int, room: int
) -> Plan:  # fmt: skip
    """Join the plans of three dimensions."""
    is_source = all(a.is_source for a in axes)
    splits = np.array(list(product(*(a.starts for a in axes))), np.int64)
    line = channels * len(splits) * axes[0].length * axes[2].length
    band, axes[1] = _cut(axes[1], room // max(line, 1))
    lengths = [a.length for a in axes]
    size = len(splits) * prod(lengths)
    block = max(1, min(room // max(size * channels, 1), most))
    distance = _apart(size * block)
    offsets, weights, phases = [], [], []
    channel, taps = np.arange(channels)[:, None], 0
    for phase in product(*(a.phases for a in axes)):
        in_sheet, in_weight = _taps(axes, phase, kernel, block)
        offsets.append((channel * distance + in_sheet).reshape(-1))
        weights.append((channel * channel_in_weight + in_weight).reshape(-1))
        begins = _flat([p.first for p in phase], result)
        phases.append((taps, taps + len(offsets[-1]), begins, *(p.count for p in phase)))
        taps = phases[-1][1]
    steps = [a.result_step * prod(result[d + 1 :]) for d, a in enumerate(axes)]
    return Plan(
        (
            block,
            channels,
            *(a.size for a in axes),
            *lengths,
            *(a.step for a in axes),
            distance,
            band,
        ),
        (prod(result), *steps),
        splits,
        np.array(phases, np.int64),
        np.concatenate(offsets),
        np.concatenate(weights),
        is_source,
        channels * prod(max(len(p.taps) for p in a.phases) for a in axes[:2]),
    )


def _cut(axis: Axis, most: int) -> tuple[int, Axis]:
    """Bands of equal size, of at most so many lines where it can: how many places each has."""
    places = max(p.count for p in axis.phases)
    more = max(shift for p in axis.phases for shift in (0, *p.shifts))
    bands = -(-places // max(most - more, more, 1))
    band = -(-places // bands)
    return band, axis._replace(length=band + more)


def _apart(size: int) -> int:
    """A distance between channels at which they do not compete for the same lines of a cache."""
    return size + 16 if size % 256 == 0 else size


def _taps(axes: list[Axis], phase: tuple[Phase, ...], kernel: Sizes, block: int) -> tuple[Any, Any]:
    """Where the taps of a phase lie in a sheet of one channel, and in the weight."""
    lengths, counts = [a.length for a in axes], [len(a.starts) for a in axes]
    in_sheet, in_weight = [], []
    for chosen in product(*(range(len(p.taps)) for p in phase)):
        taps, splits, shifts = zip(
            *((p.taps[c], p.splits[c], p.shifts[c]) for p, c in zip(phase, chosen, strict=True)),
            strict=True,
        )
        in_sheet.append(_flat(splits, counts) * block * prod(lengths) + _flat(shifts, lengths))
        in_weight.append(_flat(taps, kernel))
    return np.array(in_sheet, np.int64), np.array(in_weight, np.int64)


def _flat(index: Sequence[int], sizes: Sequence[int]) -> int:
    """The position of an index in a row of all elements."""
    position = 0
    for i, n in zip(index, sizes, strict=True):
        position = position * n + int(i)
    return position
