"""Uniform numbers of each dtype from a generator's 32-bit words."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .generator import Generator, chosen, compiled_loops

Array = Any
"""A NumPy array."""

CHUNK = 1 << 15
"""The number of words drawn at a time, which fit in the L1 and L2 caches."""


# --- Types ---------------------------------------------------------------------------------------


@cache
def digits_of(dtype: Any) -> int:
    """The number of bits of a floating point dtype's significand; 0 for other dtypes."""
    return {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(dtype.name, 0)


@cache
def largest_of(dtype: Any) -> Any:
    """The largest number of a dtype."""
    if dtype.name == "bfloat16":
        return float.fromhex("0x1.fep127")
    if dtype == np.bool_:
        return 1
    return float(np.finfo(dtype).max) if digits_of(dtype) else int(np.iinfo(dtype).max)


def stored_as(values: Array, dtype: Any) -> Array:
    """Numbers in another dtype; they are rounded to float32 before 16 bits, as in PyTorch."""
    if dtype.itemsize == 2 and values.dtype != np.float32 and digits_of(dtype):
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def require(holds: Any, message: str, *values: Any) -> None:
    """Raise Torch's error, in which `{}` stand for values, unless the condition holds."""
    if not holds:
        raise RuntimeError(message.format(*values))


# --- Words, and what they are read as ------------------------------------------------------------


def joined(words: Array) -> Array:
    """Pairs of words as 64-bit integers; the first is the high half."""
    return (words[0::2].astype(np.uint64) << np.uint64(32)) | words[1::2]


def singles(words: Array) -> Array:
    """Uniform float32 numbers in [0, 1), one from each word: its low 24 bits."""
    bits = words & np.uint32(0xFFFFFF)
    return bits.view(np.int32).astype(np.float32) * np.float32(2.0**-24)


def drawn_singles(count: int, generator: Generator) -> Array:
    """The next of them."""
    drawn = np.empty(count, np.float32)
    return drawn if generator.fill(drawn, "singles") else singles(generator.words(count))


def doubles(words: Array) -> Array:
    """Uniform float64 numbers in [0, 1), one from two words: 53 bits."""
    bits = joined(words) & np.uint64((1 << 53) - 1)
    return bits.view(np.int64) * 2.0**-53


def fused(x: Array, factor: float, term: float) -> Array:
    """x * factor + term in float64, rounded once: a fused multiply-add, as in PyTorch."""
    if term == 0 or factor == 1:
        return x * factor + term
    if kernels := compiled_loops(x.size):
        return kernels.fuse(x.reshape(-1), float(factor), float(term)).reshape(x.shape)
    with np.errstate(invalid="ignore"):
        return _fused_in_steps(x, factor, term)


def _fused_in_steps(x: Array, factor: float, term: float) -> Array:
    """The same with NumPy: add the rounding errors (Dekker's product, Knuth's sum)."""
    product = x * factor
    total = product + term
    x_high, factor_high = _leading(x), _leading(np.float64(factor))
    x_low, factor_low = x - x_high, factor - factor_high
    lost = x_high * factor_high - product  # the rounding error of the product
    lost += x_high * factor_low
    lost += x_low * factor_high
    lost += x_low * factor_low
    added = total - product
    lost += (product - (total - added)) + (term - added)  # and of the sum
    return np.where(np.isfinite(lost), total + lost, total)


def _leading(x: Array) -> Array:
    """Float64 numbers truncated to 26 bits: products of two such are exact."""
    return (x.view(np.int64) & np.int64(-1 << 27)).view(np.float64)


def from_words(
    shape: Any, dtype: Any, generator: Generator | None, each: int, read: Callable[[Array], Array]
) -> Array:
    """An array with each element made from its own `each` words."""
    dtype, count = np.dtype(dtype), math.prod(shape)
    own = chosen(generator)
    if each * count <= CHUNK:
        return stored_as(read(own.words(each * count)), dtype).reshape(shape)
    with own.lock:
        out = np.empty(shape, dtype)
        flat, step = out.reshape(-1), CHUNK // each
        for start in range(0, count, step):
            part = flat[start : start + step]
            part[...] = stored_as(read(own.words(each * part.size)), dtype)
    return out


def from_doubles(
    shape: Any, dtype: Any, generator: Generator | None, make: Callable[[Array], Array]
) -> Array:
    """An array with each element made from its own uniform float64 number."""
    return from_words(shape, dtype, generator, 2, lambda words: make(doubles(words)))


def filled_complex(fill: Callable[..., Array], shape: Any, dtype: Any, *args: Any) -> Array:
    """A complex array whose interleaved parts are filled by `fill`."""
    real = np.dtype(f"f{dtype.itemsize // 2}")
    return fill((*shape, 2), real, *args).view(dtype)[..., 0]
