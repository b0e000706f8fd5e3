"""Windows over an image: how many there are, and where they stand, in one, two or three dimensions."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

Array = Any
Sizes = tuple[int, ...]


class Windows(NamedTuple):
    """Where windows stand along one dimension: window i covers range(first[i], end[i], step)."""

    first: Array
    end: Array
    step: int

    @property
    def counts(self) -> Array:
        """How many places each window covers."""
        return np.maximum(-((self.first - self.end) // self.step), 0)

    def passes(self) -> list[tuple[slice, slice]]:
        """Windows and places in pairs that, taken together, join each window to all its places.

        Most windows are equal and at equal distances: they have one pass for each place of a window. Others, and
        those that are fewer than their places, have one each, with all its places.
        """
        counts, first = self.counts, self.first
        most = int(counts.max(initial=0))
        full = np.flatnonzero(counts == most)
        low, high = (int(full[0]), int(full[-1]) + 1) if len(full) else (0, 0)
        apart = np.diff(first[low:high])
        if not len(full) == high - low > most > 0 or not apart[0] or (apart != apart[0]).any():
            low = high = 0
        alone = (i for i in range(len(first)) if not low <= i < high)
        passes = [
            (slice(i, i + 1), slice(int(first[i]), int(self.end[i]), self.step)) for i in alone
        ]
        for tap in range(0, most * self.step if high else 0, self.step):
            places = slice(int(first[low]) + tap, int(first[high - 1]) + tap + 1, int(apart[0]))
            passes.append((slice(low, high), places))
        return passes


_ONE = Windows(np.zeros(1, np.int64), np.ones(1, np.int64), 1)
"""The window along a dimension that is not there."""


class Grid:
    """All windows over an input: those along each dimension with each other, and what is worked out from them, once.

    Attributes:
        windows: along each dimension
        sizes: of the input
        shape: how many windows there are along each dimension
    """

    def __init__(self, windows: tuple[Windows, ...], sizes: Sizes) -> None:
        self.windows, self.sizes = windows, sizes
        self.dims = len(windows)
        self.shape = tuple(len(w.first) for w in windows)

    @cached_property
    def taps(self) -> int:
        """How many places the largest window covers."""
        return prod(int(w.counts.max(initial=0)) for w in self.windows)

    @cached_property
    def covers_some(self) -> bool:
        """Whether each window covers a place."""
        return all(w.counts.all() for w in self.windows)

    @cached_property
    def are_halves(self) -> bool:
        """Whether windows of 2 by 2 places stand side by side over an image."""
        evens = [2 * np.arange(n) for n in self.shape]
        return self.dims == 2 and all(
            w.step == 1 and bool((w.first == e).all() and (w.end == e + 2).all())
            for w, e in zip(self.windows, evens, strict=True)
        )

    @cached_property
    def tiles(self) -> Sizes:
        """The sizes of windows that are equal, stand side by side and cover the input; empty if they do not."""
        lengths = [n // max(len(w.first), 1) for w, n in zip(self.windows, self.sizes, strict=True)]
        for w, n, length in zip(self.windows, self.sizes, lengths, strict=True):
            starts = np.arange(len(w.first)) * length
            if w.step != 1 or n != len(starts) * length or (w.first != starts).any():
                return ()
            if (w.end != starts + length).any():
                return ()
        return tuple(lengths)

    @cached_property
    def passes(self) -> list[list[tuple[slice, slice]]]:
        """The passes of the windows along each dimension."""
        return [w.passes() for w in self.windows]

    @cached_property
    def lifted(self) -> Any:
        """Sizes, first places, ends and steps in three dimensions; those that are missing have size 1."""
        missing = 3 - self.dims
        firsts, ends, steps = zip(*(_ONE,) * missing, *self.windows, strict=True)
        return (1,) * missing + self.sizes, firsts, ends, steps

    @cached_property
    def table(self) -> tuple[Array, Array]:
        """The places of each window in the flat input, and which of them count: two (taps, windows).

        A window with fewer places than others names its last one again; one without any, some place.
        """
        places = np.zeros((1, 1), np.int64)
        counting = np.ones((1, 1), bool)
        for w, size in zip(self.windows, self.sizes, strict=True):
            counts = w.counts[:, None]
            tap = np.arange(counts.max(initial=1))
            along = w.first[:, None] + np.minimum(tap, counts - 1) * w.step  # (windows, taps) here
            along = np.clip(along, 0, size - 1)
            places = _outer(np.add, places * size, along)
            counting = _outer(np.logical_and, counting, tap < counts)
        return np.ascontiguousarray(places.T), np.ascontiguousarray(counting.T)


def _outer(combine: Any, a: Array, b: Array) -> Array:
    """Every row of a with every row of b, every column with every column."""
    both = combine(a[:, None, :, None], b[None, :, None, :])
    return both.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


class Geometry(NamedTuple):
    """The windows of a convolution or a pooling, along each dimension."""

    kernel: Sizes
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    ceil_mode: bool = False  # whether the last window may reach beyond the padded input

    @property
    def reach(self) -> Sizes:
        """How far a window reaches, with its gaps."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    @property
    def is_pointwise(self) -> bool:
        """Whether each place of the input is a window."""
        return all(n == 1 for n in self.kernel + self.stride) and not any(self.padding)

    def padded(self, sizes: Sizes) -> Sizes:
        """The sizes of an input with its padding."""
        return tuple(n + 2 * p for n, p in zip(sizes, self.padding, strict=True))

    def places(self, sizes: Sizes) -> Sizes:
        """How many windows there are over an input; the last one begins inside it, or before."""
        counts = []
        steps = zip(sizes, self.padded(sizes), self.reach, self.stride, self.padding, strict=True)
        for size, padded, reach, stride, padding in steps:
            count = (padded - reach + (stride - 1 if self.ceil_mode else 0)) // stride + 1
            counts.append(count - (self.ceil_mode and (count - 1) * stride >= size + padding))
        return tuple(counts)

    def grid(self, sizes: Sizes) -> Grid:
        """The windows over an input, without what lies outside it."""
        steps = self.kernel, self.stride, self.padding, self.dilation
        return Grid(tuple(map(_fixed_windows, sizes, self.places(sizes), *steps)), sizes)

    def check(self, name: str) -> None:
        """RuntimeError unless sizes and steps are positive, and the padding not negative."""
        for what in ("kernel_size", "stride", "dilation"):
            values = self.kernel if what == "kernel_size" else getattr(self, what)
            if min(values) <= 0:
                raise RuntimeError(
                    f"{name}: {what} should be greater than zero, but got {what}={values}"
                )
        if min(self.padding) < 0:
            raise RuntimeError(f"{name}: pad must be non-negative, but got pad={self.padding}")


def _fixed_windows(
    size: int, count: int, kernel: int, stride: int, padding: int, dilation: int
) -> Windows:
    """Windows of one size at equal distances."""
    start = np.arange(count) * stride - padding
    skipped = np.maximum(-(start // dilation), 0)  # taps that lie before the input
    end = np.minimum(start + (kernel - 1) * dilation + 1, size)
    return Windows(start + skipped * dilation, end, dilation)


def adaptive_windows(size: int, count: int) -> Windows:
    """As many windows as asked for, which together cover the input."""
    i = np.arange(count)
    return Windows(i * size // max(count, 1), -(-(i + 1) * size // max(count, 1)), 1)


def by(sizes: Any, between: str = " x ") -> str:
    """Sizes as errors write them: 3 x 4."""
    return between.join(str(n) for n in sizes)
