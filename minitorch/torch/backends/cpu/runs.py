"""Reductions of contiguous memory to one number, for use in kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernels import by_type, inline, number, reduction

Array = Any

# --- Order ---------------------------------------------------------------------------------------
# Integers can be compared in vector registers where floats, for the sake of NaN, cannot.


def _integer(real: Any) -> Any:
    return np.int32 if real is np.float32 else np.int64


integer: Any = by_type(_integer)
largest_integer: Any = by_type(lambda real: int(np.iinfo(_integer(real)).max))
sign_bit: Any = by_type(lambda real: int(np.iinfo(_integer(real)).bits - 1))


@inline
def _key(x: Any) -> Any:
    """An integer that is larger where x is; that of NaN is the largest of all."""
    bits = number(x).view(integer)
    key = integer(bits ^ ((bits >> integer(sign_bit)) & integer(largest_integer)))
    return integer(largest_integer) if x != x else key


@inline
def _from_key(key: Any) -> Any:
    """The number with this key."""
    return integer(key ^ ((key >> integer(sign_bit)) & integer(largest_integer))).view(number)


@reduction
def largest(x: Array) -> Any:
    """The largest element, or NaN if there is one."""
    top = integer(-largest_integer - 1)
    for i in range(len(x)):
        k = _key(x[i])
        top = k if k > top else top
    return _from_key(top)


@reduction
def smallest(x: Array) -> Any:
    """The smallest element, or NaN if there is one."""
    top = integer(-largest_integer - 1)
    for i in range(len(x)):
        k = _key(-x[i])
        top = k if k > top else top
    return -_from_key(top)


# --- Sums and products ---------------------------------------------------------------------------


@reduction
def total(x: Array) -> Any:
    """The sum."""
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


@reduction
def product(x: Array, y: Array) -> Any:
    """The sum of products."""
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


@reduction
def squares(x: Array, mean: Any) -> Any:
    """The sum of squared distances from a number."""
    s = 0.0
    for i in range(len(x)):
        d = x[i] - mean
        s += d * d
    return s


@reduction
def multiply(x: Array) -> Any:
    """The product of all elements."""
    s = 1.0
    for i in range(len(x)):
        s *= x[i]
    return s
