"""Normal numbers from uniform ones, in single precision and with PyTorch's roundings.

Two uniform numbers make two normal ones: sqrt(-2 log(1 - u)) is the distance from the
origin, 2 pi v the direction (Box and Muller, 1958). To agree with PyTorch to the last
bit, logarithm, sine and cosine are the polynomials of the Cephes library, evaluated in
its order, with multiply-and-add rounded once. `box_muller` takes that step as an
argument: the same lines run on NumPy arrays here and on single numbers in a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Number = Any
"""A NumPy array of float32, or one float32 in a kernel."""


def _singles(*values: float) -> tuple[np.float32, ...]:
    return tuple(np.float32(v) for v in values)


ONE, TWO, HALF, ROOT_HALF = _singles(1.0, 2.0, 0.5, math.sqrt(0.5))
TWO_PI, OCTANTS = _singles(2.0 * math.pi, 1.27323954473516)  # how many octants one radian has
LOG_2, LOG_2_REST = _singles(0.693359375, -2.12194440e-4)  # the first is short: products are exact
OCTANT, OCTANT_REST, OCTANT_LAST = _singles(
    0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8
)
L0, L1, L2, L3, L4, L5, L6, L7, L8 = _singles(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
C0, C1, C2 = _singles(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
S0, S1, S2 = _singles(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)


def fused_in_double(a: Number, b: Number, c: Number) -> Number:
    """a * b + c, rounded once: a product of two singles is exact in double precision."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))


def log_of(fused: Callable[[Number, Number, Number], Number]) -> Callable[[Number], Number]:
    """The natural logarithm of a positive single, by way of `fused` multiply-and-add."""

    def log(x: Number) -> Number:
        bits = np.float32(x).view(np.int32)
        fraction = np.int32((bits & 0x007FFFFF) | 0x3F000000).view(np.float32)  # in [0.5, 1)
        low = np.float32(fraction < ROOT_HALF)
        exponent = np.float32(np.int32((bits >> 23) - 126)) - low
        x = (fraction - ONE) + fraction * low  # the number is (1 + x) 2**exponent
        y = fused(L0, x, L1)
        y = fused(y, x, L2)
        y = fused(y, x, L3)
        y = fused(y, x, L4)
        y = fused(y, x, L5)
        y = fused(y, x, L6)
        y = fused(y, x, L7)
        y = fused(y, x, L8)
        y = fused(y * x, x * x, exponent * LOG_2_REST)
        y = fused(-HALF, x * x, y)
        return fused(exponent, LOG_2, x + y)

    return log


def sin_cos_of(fused: Callable[[Number, Number, Number], Number]) -> Callable[[Number], Any]:
    """Sine and cosine of an angle from 0 to 2 pi, by way of `fused` multiply-and-add."""

    def sin_cos(angle: Number) -> tuple[Number, Number]:
        octant = np.int32((np.int32(angle * OCTANTS) + 1) & -2)  # the nearest even one
        turns = np.float32(octant)
        x = fused(turns, -OCTANT, angle)
        x = fused(turns, -OCTANT_REST, x)
        x = fused(turns, -OCTANT_LAST, x)
        z = x * x
        c = fused(fused(fused(C0, z, C1), z, C2) * z, z, -(HALF * z)) + ONE
        s = fused(fused(fused(S0, z, S1), z, S2) * z, x, x)
        swapped = np.float32(np.int32((octant >> 1) & 1))
        kept = ONE - swapped
        sin_sign = np.float32(np.int32(1 - ((octant >> 1) & 2)))
        cos_sign = np.float32(np.int32(1 - (((octant + 2) >> 1) & 2)))
        return (s * kept + c * swapped) * sin_sign, (c * kept + s * swapped) * cos_sign

    return sin_cos


def box_muller(
    log: Callable[[Number], Number],
    sin_cos: Callable[[Number], Any],
    fused: Callable[[Number, Number, Number], Number],
) -> Callable[[Number, Number, Number, Number], tuple[Number, Number]]:
    """The function that makes two normal numbers of two uniform ones."""

    def pair(u: Number, v: Number, mean: Number, std: Number) -> tuple[Number, Number]:
        radius = np.sqrt(-TWO * log(ONE - u))
        sine, cosine = sin_cos(TWO_PI * v)
        return fused(radius * cosine, std, mean), fused(radius * sine, std, mean)

    return pair


normal_pair = box_muller(log_of(fused_in_double), sin_cos_of(fused_in_double), fused_in_double)
"""Normal numbers (two arrays of them) from uniform ones u and v, a mean and a deviation."""
