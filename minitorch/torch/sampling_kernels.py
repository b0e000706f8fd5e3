"""Compiled loops that draw random numbers: long streams of bits, and methods that reject.

A generator's memory is two arrays: its 624 words, and a cursor that says how many of
them were drawn. Kernels move both on. Nothing is reordered for speed here: every
rounding is PyTorch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from numba.extending import intrinsic

from ..jit import compile_kernel, compile_part
from .box_muller import box_muller, log_of, sin_cos_of

Array = Any
"""A NumPy array."""

_inlined = partial(compile_part, fastmath=(), forceinline=True)
_part = partial(compile_part, fastmath=())
_compile = partial(compile_kernel, fastmath=())


def _one_instruction(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """How Numba compiles `_fused`."""
    return a(a, b, c), lambda context, builder, signature, args: builder.fma(*args)


_fused: Any = intrinsic(_one_instruction)
"""a * b + c, rounded once."""


# --- mt19937 (Matsumoto and Nishimura, 1998) ---------------------------------------------

LENGTH, MIDDLE = 624, 397
TOP, REST, MATRIX = np.uint32(0x80000000), np.uint32(0x7FFFFFFF), np.uint32(0x9908B0DF)


@_inlined
def _mixed(word: Any, following: Any, distant: Any) -> Any:
    """The word that takes the place of `word`."""
    joined = (word & TOP) | (following & REST)
    return distant ^ (joined >> np.uint32(1)) ^ ((joined & np.uint32(1)) * MATRIX)


@_part
def _renew(words: Array) -> None:
    """Replace all words in memory by the next ones."""
    for i in range(LENGTH - MIDDLE):
        words[i] = _mixed(words[i], words[i + 1], words[i + MIDDLE])
    for i in range(LENGTH - MIDDLE, LENGTH - 1):
        words[i] = _mixed(words[i], words[i + 1], words[i + MIDDLE - LENGTH])
    words[LENGTH - 1] = _mixed(words[LENGTH - 1], words[0], words[MIDDLE - 1])


@_inlined
def _tempered(word: Any) -> Any:
    """What a word in memory looks like outside."""
    word ^= word >> np.uint32(11)
    word ^= (word << np.uint32(7)) & np.uint32(0x9D2C5680)
    word ^= (word << np.uint32(15)) & np.uint32(0xEFC60000)
    return word ^ (word >> np.uint32(18))


def _filling(number_of: Any) -> Any:
    """The loop that fills `out` with what a function makes of the next words of the stream, one by one."""

    def fill(out: Array, words: Array, cursor: Array) -> None:
        done = 0
        while done < out.size:
            if cursor[0] == LENGTH:
                _renew(words)
                cursor[0] = 0
            ready = words[cursor[0] : cursor[0] + out.size - done]
            for i in range(ready.size):
                out[done + i] = number_of(_tempered(ready[i]))
            done += ready.size
            cursor[0] += ready.size

    return _compile(fill)


@_inlined
def _single(word: Any) -> Any:
    """A single from 0 to 1: the low 24 bits of a word."""
    return np.float32(np.int32(word & np.uint32(0xFFFFFF))) * np.float32(2.0**-24)


@_part
def _next_word(words: Array, cursor: Array) -> Any:
    """The next word of the stream, with 64 bits."""
    if cursor[0] == LENGTH:
        _renew(words)
        cursor[0] = 0
    cursor[0] += 1
    return np.uint64(_tempered(words[cursor[0] - 1]))


@_part
def _next_uniform(words: Array, cursor: Array) -> float:
    """A double from 0 to 1: 53 bits of the next two words."""
    high = _next_word(words, cursor)
    low = _next_word(words, cursor)
    return float(((high & np.uint64(0x1FFFFF)) << np.uint64(32)) | low) * 2.0**-53


@_part
def _next_normal(words: Array, cursor: Array, spare: Array) -> float:
    """A normal double: one of a pair; `spare` holds the other, if there is one, and a flag."""
    if spare[1] != 0.0:
        spare[1] = 0.0
        return spare[0]
    angle = 2.0 * math.pi * _next_uniform(words, cursor)
    radius = math.sqrt(-2.0 * math.log1p(-_next_uniform(words, cursor)))
    spare[0] = radius * math.sin(angle)
    spare[1] = 1.0
    return radius * math.cos(angle)


def _fill_normals(
    out: Array, words: Array, cursor: Array, mean: float, std: float, spare: Array
) -> None:
    """Normal doubles, one by one."""
    for i in range(out.size):
        out[i] = _fused(_next_normal(words, cursor, spare), std, mean)


# --- Normal numbers by the block -----------------------------------------------------------

HALF_BLOCK, RUN = 8, 512  # RUN pairs are transformed together

_log, _sin_cos = _inlined(log_of(_fused)), _inlined(sin_cos_of(_fused))
_normal_pair = _inlined(box_muller(_log, _sin_cos, _fused))


def _make_normal(numbers: Array, mean: Any, std: Any) -> None:
    """Make uniform numbers normal: in each block of 16, the first 8 pair with the last 8."""
    first, second = np.empty(RUN, np.float32), np.empty(RUN, np.float32)
    for start in range(0, numbers.size, 2 * RUN):
        blocks = min(RUN, (numbers.size - start) // 2) // HALF_BLOCK
        for b in range(blocks):
            left = start + 2 * b * HALF_BLOCK
            for j in range(HALF_BLOCK):
                first[b * HALF_BLOCK + j] = numbers[left + j]
                second[b * HALF_BLOCK + j] = numbers[left + HALF_BLOCK + j]
        for i in range(blocks * HALF_BLOCK):
            first[i], second[i] = _normal_pair(first[i], second[i], mean, std)
        for b in range(blocks):
            left = start + 2 * b * HALF_BLOCK
            for j in range(HALF_BLOCK):
                numbers[left + j] = first[b * HALF_BLOCK + j]
                numbers[left + HALF_BLOCK + j] = second[b * HALF_BLOCK + j]


def _fuse(x: Array, factor: float, term: float) -> Array:
    """x * factor + term, rounded once."""
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = _fused(x[i], factor, term)
    return out


@cache
def map_of(function: Callable[[float], float]) -> Any:
    """The compiled loop that applies a function to every element of an array."""
    scalar = _part(function)

    def loop(x: Array) -> Array:
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = scalar(x[i])
        return out

    return _compile(loop)


def _fill_permutation(order: Array, words: Array, cursor: Array, each: int) -> None:
    """Swap each element, from the first on, with one from there on, chosen by one word or two."""
    for i in range(order.size - 1):
        word = _next_word(words, cursor)
        if each == 2:
            word = (word << np.uint64(32)) | _next_word(words, cursor)
        other = i + np.int64(word % np.uint64(order.size - i))
        order[i], order[other] = order[other], order[i]


# --- Methods that reject: how many uniform numbers a sample takes depends on them ------------


@_part
def _poisson(rate: float, words: Array, cursor: Array) -> float:
    """How many events happen at a rate below 10: multiply uniform numbers until e**-rate."""
    count, product, end = 0, _next_uniform(words, cursor), math.exp(-rate)
    while product > end:
        product *= _next_uniform(words, cursor)
        count += 1
    return float(count)


@_part
def _poisson_of_high_rate(rate: float, words: Array, cursor: Array) -> float:
    """How many events happen: transformed rejection (Hörmann's PTRS, 1993)."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    limit = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = _next_uniform(words, cursor) - 0.5
        v = _next_uniform(words, cursor)
        edge = 0.5 - abs(u)
        k = math.floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= limit:
            return float(k)
        if k < 0 or (edge < 0.013 and v > edge):
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (edge * edge) + b)
        if accepted <= -rate + k * math.log(rate) - math.lgamma(k + 1.0):
            return float(k)


def _fill_poisson(rates: Array, out: Array, words: Array, cursor: Array) -> None:
    """A sample for each rate."""
    for i in range(out.size):
        if rates[i] >= 10:
            out[i] = _poisson_of_high_rate(rates[i], words, cursor)
        elif rates[i] == 0:
            out[i] = 0.0
        else:
            out[i] = _poisson(rates[i], words, cursor)


ONE_SINGLE, THIRD = np.float32(1), np.float32(1) / np.float32(3)
SQUEEZE = float(np.float32(0.0331))


@_part
def _gamma(shape: Any, words: Array, cursor: Array, spare: Array) -> float:
    """A sample of the gamma distribution (Marsaglia and Tsang, 2000)."""
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - _next_uniform(words, cursor)) ** float(ONE_SINGLE / shape)
        shape += ONE_SINGLE
    d = float(shape - THIRD)
    c = 1 / math.sqrt(9.0 * d)
    while True:
        x = _next_normal(words, cursor, spare)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - _next_uniform(words, cursor)
        xx = x * x
        if u < 1 - SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + math.log(v)):
            return scale * d * v


def _fill_gamma(shapes: Array, out: Array, words: Array, cursor: Array, spare: Array) -> None:
    """A sample for each shape."""
    for i in range(out.size):
        out[i] = _gamma(shapes[i], words, cursor, spare)


STIRLING = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


@_part
def _stirling_rest(k: float) -> float:
    """What Stirling's formula for log(k!) leaves out."""
    if k < 10:
        return STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


@_part
def _binomial(count: Any, prob: Any, words: Array, cursor: Array) -> float:
    """How many of few trials succeed: count the geometric waiting times that fit."""
    log_failure = float(math.log1p(-prob))
    successes = 0
    waited = 0.0
    while True:
        waited += np.ceil(math.log(_next_uniform(words, cursor)) / log_failure)
        if waited > count:
            return float(successes)
        successes += 1


@_part
def _binomial_of_many(count: Any, prob: Any, words: Array, cursor: Array) -> float:
    """How many of many trials succeed: transformed rejection (Hörmann's BTRS, 1993)."""
    failure = ONE_SINGLE - prob
    deviation = float(math.sqrt(count * prob * failure))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = float(count * prob) + 0.5
    limit = 0.92 - 4.2 / b
    odds = float(prob / failure)
    alpha = (2.83 + 5.1 / b) * deviation
    mode = float(np.floor((count + ONE_SINGLE) * prob))
    n = float(count)
    while True:
        u = _next_uniform(words, cursor) - 0.5
        v = _next_uniform(words, cursor)
        edge = 0.5 - abs(u)
        k = float(np.floor((2 * a / edge + b) * u + c))
        if k < 0 or k > n:
            continue
        if edge >= 0.07 and v <= limit:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (n - mode + 1)))
            + (n + 1) * math.log((n - mode + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling_rest(mode)
            + _stirling_rest(n - mode)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )
        if math.log(v * alpha / (a / (edge * edge) + b)) <= bound:
            return k


@_part
def _binomial_of_low_prob(count: Any, prob: Any, words: Array, cursor: Array) -> float:
    """How many trials succeed, for a probability of at most a half."""
    if count * prob >= 10:
        return _binomial_of_many(count, prob, words, cursor)
    return _binomial(count, prob, words, cursor)


def _fill_binomial(counts: Array, probs: Array, out: Array, words: Array, cursor: Array) -> None:
    """A sample for each number of trials and probability."""
    for i in range(out.size):
        count, prob = counts[i], probs[i]
        if count <= 0 or prob <= 0:
            out[i] = 0.0
        elif prob >= 1:
            out[i] = count
        elif prob <= 0.5 and count == count:
            out[i] = _binomial_of_low_prob(count, prob, words, cursor)
        elif prob > 0.5 and count == count:
            out[i] = count - _binomial_of_low_prob(count, ONE_SINGLE - prob, words, cursor)
        else:
            out[i] = np.nan


fill_words = _filling(_inlined(lambda word: word))
fill_singles = _filling(_single)
fill_normals = _compile(_fill_normals)
make_normal = _compile(_make_normal)
fuse = _compile(_fuse)
fill_permutation = _compile(_fill_permutation)
fill_poisson = _compile(_fill_poisson)
fill_gamma = _compile(_fill_gamma)
fill_binomial = _compile(_fill_binomial)
