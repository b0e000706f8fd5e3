"""Windows over an image: how many there are, and where they stand, in one, two or three dimensions."""

from __future__ import annotations

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

    def windows(self, sizes: Sizes) -> tuple[Windows, ...]:
        """The windows along each dimension, without what lies outside the input."""
        steps = self.kernel, self.stride, self.padding, self.dilation
        return tuple(map(_fixed_windows, sizes, self.places(sizes), *steps))

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
