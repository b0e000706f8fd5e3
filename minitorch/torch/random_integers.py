"""Random integers and permutations, with PyTorch's values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .generator import Generator, chosen
from .random_words import Array, digits_of, from_words, joined, largest_of, require, stored_as


def integers(
    shape: tuple[int, ...],
    dtype: Any,
    low: int,
    high: int | None,
    generator: Generator | None = None,
) -> Array:
    """Random integers in [low, high): `randint` and `random_(low, high)`.

    Args:
        shape: the shape of the array
        dtype: of its elements, which may be floating point
        low: the smallest number
        high: the upper bound, excluded; None: that of the dtype
        generator: the source of random words
    """
    dtype = np.dtype(dtype)
    require(
        dtype.kind != "c",
        "check_random_bounds handles only integral, floating-point and boolean types",
    )
    low, high = bounds_of(dtype, low, high)
    span, first = high - low, np.int64(low)
    if span < 1 << 28:
        return _remainders(shape, dtype, generator, span, first)
    if span < 1 << 64:
        return _remainders_of_pairs(shape, dtype, generator, span, first)
    return from_words(shape, dtype, generator, 2, lambda words: joined(words).view(np.int64))


def integers_of_type(
    shape: tuple[int, ...], dtype: Any, generator: Generator | None = None
) -> Array:
    """Integers from 0 to the largest below which the dtype represents all: `random_()`."""
    dtype = np.dtype(dtype)
    span = last_integer(dtype) + 1
    fill = _remainders_of_pairs if dtype in (np.float64, np.int64) else _remainders
    return fill(shape, dtype, generator, span, np.int64(0))


def _remainders(
    shape: Any, dtype: Any, generator: Generator | None, span: int, first: Any
) -> Array:
    """Integers in [first, first + span): a word modulo `span`."""
    divisor = np.uint32(span)
    return from_words(shape, dtype, generator, 1, lambda words: words % divisor + first)


def _remainders_of_pairs(
    shape: Any, dtype: Any, generator: Generator | None, span: int, first: Any
) -> Array:
    """The same from 64-bit integers: with a large span, 32 bits would favour small numbers."""
    divisor = np.uint64(span)
    read = lambda words: (joined(words) % divisor).view(np.int64) + first  # noqa: E731
    return from_words(shape, dtype, generator, 2, read)


def last_integer(dtype: Any) -> int:
    """The integer up to which a dtype represents all integers."""
    return 1 << digits_of(dtype) if digits_of(dtype) else largest_of(dtype)


def bounds_of(dtype: Any, low: int, high: int | None) -> tuple[int, int]:
    """The bounds that `integers` uses: those given, moved inward to numbers of the dtype."""
    if high is None and low == -(1 << 63):
        return low, 1 << 63
    if high is None:
        low, high = _first_stored(dtype, low), last_integer(dtype) + 1
    else:
        require(
            low < high,
            "random_ expects 'from' to be less than 'to', but got from={} >= to={}",
            low,
            high,
        )
        low, high = _first_stored(dtype, low), _end_stored(dtype, high)
    require(
        low < high,
        "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
        "from={} >= to={}",
        low,
        high,
    )
    _check_stored(dtype, "from", low)
    _check_stored(dtype, "to - 1", high - 1)
    return low, high


def _check_stored(dtype: Any, name: str, bound: int) -> None:
    """Raise for a bound out of the dtype's range; warn if the dtype does not represent all integers."""
    digits, most = digits_of(dtype), largest_of(dtype)
    least = -most if digits else -most - 1 if dtype.kind == "i" else 0
    require(least <= bound <= most, "{} is out of bounds for {.name}: {}", name, dtype, bound)
    if digits and abs(bound) > 1 << digits:
        warnings.warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
            f"{dtype.name} can support discrete uniform distribution only within this range.",
            stacklevel=5,
        )


def _rounded(dtype: Any, number: int) -> int:
    """The integer that a number becomes when it is stored in a floating point dtype."""
    return int(stored_as(np.array([number], np.float64), dtype)[0])


def _first_stored(dtype: Any, low: int) -> int:
    """A lower bound below which no integer above it is stored."""
    digits = digits_of(dtype)
    if not digits or (stored := _rounded(dtype, low + 1)) >= low:
        return low
    return stored + (1 << (abs(low + 1).bit_length() - digits))


def _end_stored(dtype: Any, high: int) -> int:
    """An upper bound that no integer below it is stored as."""
    digits = digits_of(dtype)
    if not digits or (stored := _rounded(dtype, high - 1)) < high:
        return high
    return stored - (1 << (abs(high - 1).bit_length() - digits))


def permutation(n: int, dtype: Any, generator: Generator | None = None) -> Array:
    """The integers from 0 to n - 1 in random order: `randperm`."""
    dtype = np.dtype(dtype)
    require(n >= 0, "n must be non-negative, got {}", n)
    require(
        n <= last_integer(dtype),
        "n is too large for result tensor type: '{0.name}' for n={1}",
        dtype,
        n,
    )
    order = np.arange(n)
    words, own = 1 if n < 0xFFFFFFFF // 20 else 2, chosen(generator)
    if n > 1 and not own.fill(order, "permutation", words):
        drawn, places = own.words(words * (n - 1)), order[:-1]
        apart = (drawn if words == 1 else joined(drawn)) % (n - places).astype(np.uint64)
        listed = order.tolist()
        for place, partner in enumerate((places + apart.astype(np.int64)).tolist()):
            listed[place], listed[partner] = listed[partner], listed[place]
        order[:] = listed
    return stored_as(order, dtype)
