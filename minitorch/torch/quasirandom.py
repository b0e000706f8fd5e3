"""Quasi-random numbers: Sobol sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import dtypes
from .generator import Generator
from .ops.joining import cat
from .ops.random import randint
from .tensor import Tensor, wrap


def _direction_numbers(dimension: int, bits: int) -> Any:
    """Joe and Kuo's direction numbers, whose exclusive or gives a sequence's points, (dimension, bits)."""
    from scipy import stats

    with np.load(Path(stats.__file__).parent / "_sobol_direction_numbers.npz") as table:
        polynomials, first = table["poly"][:dimension], table["vinit"][:dimension]
    numbers = np.ones((dimension, bits), np.int64)
    for row, polynomial, start in zip(
        numbers[1:], polynomials[1:].tolist(), first[1:], strict=True
    ):
        degree = polynomial.bit_length() - 1
        row[:degree] = start[:degree]
        for j in range(degree, bits):
            value = row[j - degree]
            for k in range(degree):
                if polynomial >> (degree - 1 - k) & 1:
                    value ^= row[j - k - 1] << (k + 1)
            row[j] = value
    return numbers << np.arange(bits - 1, -1, -1)


class SobolEngine:
    """A Sobol sequence of points in the unit cube, optionally scrambled.

    >>> SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = wrap(_direction_numbers(dimension, self.MAXBIT))
        self.shift = wrap(np.zeros(dimension, np.int64))
        if scramble:
            self._scramble()
        self.reset()
        self._first_point = (self.quasi / (1 << self.MAXBIT)).reshape(1, -1)

    def _scramble(self) -> None:
        """Scramble: a random digital shift, and random lower triangular matrices applied to the direction numbers."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits, powers = self.MAXBIT, 1 << np.arange(self.MAXBIT)
        flips = randint(2, (self.dimension, bits), generator=generator)
        self.shift = wrap(flips.numpy() @ powers)
        draws = randint(2, (self.dimension, bits, bits), generator=generator)
        matrices = np.tril(draws.numpy(), -1) + np.eye(bits, dtype=np.int64)
        digits = self.sobolstate.numpy()[:, None, :] >> np.arange(bits - 1, -1, -1)[:, None] & 1
        mixed = matrices @ digits & 1  # (dimension, bits, number), the highest bit first
        self.sobolstate = wrap(np.einsum("dbj,b->dj", mixed, powers[::-1]))

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next n points, (n, dimension)."""
        kind = dtype or dtypes.get_default_dtype()
        first = 1 if self.num_generated == 0 else 0
        if n < first:
            raise ValueError(
                f"SobolEngine.draw: the first draw must be of a point at least, not of {n}"
            )
        start = self.num_generated - 1 + first
        numbers = self.sobolstate.numpy().T[[_lowest_zero(start + i) for i in range(n - first)]]
        path = np.bitwise_xor.accumulate(np.concatenate([self.quasi.numpy()[None], numbers]), 0)
        self.quasi = wrap(path[-1].copy())
        self.num_generated += n
        points = wrap(path[1:]).to(kind) / (1 << self.MAXBIT)
        if first:
            points = cat([self._first_point.to(kind), points])
        if out is None:
            return points
        out.resize_as_(points).copy_(points)
        return out

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next 2**m points, a balanced set."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again at the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip n points."""
        self.draw(n)
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] if self.scramble else []
        parts += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(parts)})"


def _lowest_zero(number: int) -> int:
    """The index of the lowest bit that is 0."""
    return (~number & (number + 1)).bit_length() - 1
