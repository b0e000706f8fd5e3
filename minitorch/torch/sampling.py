"""Random numbers with PyTorch's values: what each distribution makes of a stream of words.

Every function returns a new contiguous NumPy array. A number takes one 32-bit word of
the stream or, where PyTorch computes in double precision, two; drawn in memory order.
The same seed therefore gives the numbers of PyTorch on a CPU: the same bits, except
that PyTorch draws Bernoulli numbers of one given probability (dropout) by other means
on processors made by Intel, and rounds a product before it adds to it on old ones,
which have no fused multiply-and-add.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from . import c_math
from .box_muller import normal_pair
from .generator import Generator, chosen, compiled_loops
from .random_integers import integers as integers
from .random_integers import integers_of_type as integers_of_type
from .random_integers import permutation as permutation
from .random_words import (
    CHUNK,
    Array,
    digits_of,
    doubles,
    drawn_singles,
    filled_complex,
    from_doubles,
    from_words,
    fused,
    largest_of,
    require,
    singles,
    stored_as,
)

# --- Uniform -------------------------------------------------------------------------------------


def uniform(
    shape: tuple[int, ...],
    dtype: Any,
    low: float = 0.0,
    high: float = 1.0,
    generator: Generator | None = None,
) -> Array:
    """Real numbers from `low` to `high`, without `high`: `rand` and `uniform_`."""
    dtype = np.dtype(dtype)
    if dtype.char == "f" and low == 0 and high == 1:
        return drawn_singles(math.prod(shape), chosen(generator)).reshape(shape)
    if dtype.kind == "c":
        return filled_complex(uniform, shape, dtype, low, high, generator)
    _check_uniform(dtype, low, high)
    if dtype == np.float64:
        return _uniform_doubles(shape, float(low), float(high), generator)
    start, span = np.float32(low), np.float32(high) - np.float32(low)
    bounds = stored_as(np.array([low, high], np.float32), dtype)

    def read(words: Array) -> Array:
        values = singles(words) * np.float64(span)  # exact
        values += np.float64(start)
        return _below(stored_as(values.astype(np.float32), dtype), *bounds)

    return from_words(shape, dtype, generator, 1, read)


def _uniform_doubles(shape: Any, low: float, high: float, generator: Generator | None) -> Array:
    """Uniform float64 numbers."""
    if (low, high) == (0, 1):
        return from_words(shape, np.float64, generator, 2, doubles)
    read = lambda u: _below(fused(u, high - low, low), low, high)  # noqa: E731
    return from_doubles(shape, np.float64, generator, read)


def _below(values: Array, low: Any, high: Any) -> Array:
    """Numbers that were rounded up to `high` become `low`."""
    values[values == high] = low
    return values


def _check_uniform(dtype: Any, low: float, high: float) -> None:
    """Raise unless the bounds are finite numbers of the type, in order."""
    limit = largest_of(dtype)
    if -limit <= low <= high <= limit and high - low <= limit:
        return
    for name, bound in (("from", low), ("to", high)):
        require(abs(bound) <= limit, f"{name} is out of bounds for {dtype.name}: {bound}")
    require(
        low <= high,
        f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}",
    )
    raise RuntimeError(
        f"uniform_ expects to-from <= std::numeric_limits<{dtype.name}>::max(), but found "
        f"to={high} and from={low} which result in to-from to exceed the limit"
    )


# --- Normal --------------------------------------------------------------------------------------


def normal(
    shape: tuple[int, ...],
    dtype: Any,
    mean: float = 0.0,
    std: float = 1.0,
    generator: Generator | None = None,
    *,
    singly: bool = False,
) -> Array:
    """Normally distributed numbers: `randn` and `normal_`; many are drawn in blocks, or singly."""
    dtype = np.dtype(dtype)
    require(std >= 0, "normal expects std >= 0.0, but found std {}", std)
    if dtype.kind == "c":
        fill = partial(normal, singly=singly)
        return filled_complex(fill, shape, dtype, mean, std / math.sqrt(2), generator)
    generator = chosen(generator)
    out = np.empty(shape, dtype)
    if out.size < 16 or singly:
        out.reshape(-1)[...] = stored_as(_normals(out.size, mean, std, generator), dtype)
    else:
        _fill_in_blocks(out.reshape(-1), mean, std, generator)
    return out


def normal_around(mean: Any, std: Any, generator: Generator | None = None) -> Array:
    """Normal numbers with a mean or a deviation each: `torch.normal` of arrays."""
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    if not isinstance(std, np.ndarray):
        drawn = normal(mean.shape, dtype, 0.0, std, generator)
        return (drawn + mean).astype(dtype, copy=False)
    require((std >= 0).all(), "normal expects all elements of std >= 0.0")
    shape = std.shape
    if np.shape(mean) != shape:
        shape = np.broadcast_shapes(np.shape(mean), shape)
    spread = (normal(shape, dtype, 0.0, 1.0, generator) * std).astype(dtype, copy=False)
    return (spread + mean).astype(dtype, copy=False)


def log_normal(
    shape: tuple[int, ...],
    dtype: Any,
    mean: float = 1.0,
    std: float = 2.0,
    generator: Generator | None = None,
) -> Array:
    """Numbers whose logarithm is normally distributed: `log_normal_`."""
    require(std > 0, "log_normal_ expects std > 0.0, but found std={}", std)
    drawn = _normals(math.prod(shape), mean, std, chosen(generator))
    return stored_as(c_math.exp(drawn), np.dtype(dtype)).reshape(shape)


def _normals(count: int, mean: float, std: float, generator: Generator) -> Array:
    """Normal float64 numbers, drawn in pairs; what is left of a pair is kept."""
    out = np.empty(count)
    with generator.lock:
        spare = np.array([generator.spare or 0.0, generator.spare is not None])
        if generator.fill(out, "normals", float(mean), float(std), spare):
            generator.spare = float(spare[0]) if spare[1] else None
            return out
        kept = [] if generator.spare is None or not count else [generator.spare]
        pairs = (count - len(kept) + 1) // 2
        uniforms = doubles(generator.words(4 * pairs)).reshape(pairs, 2)
        angles = 2.0 * math.pi * uniforms[:, 0]
        radii = np.sqrt(-2.0 * c_math.log1p(-uniforms[:, 1]))
        drawn = np.concatenate((kept, _cartesian(radii, angles).reshape(-1)))
        if count:
            generator.spare = float(drawn[count]) if drawn.size > count else None
    return fused(drawn[:count], std, mean)


def _cartesian(radii: Array, angles: Array) -> Array:
    """Points in the plane: x and y lie along a new second axis."""
    return np.stack((radii * c_math.cos(angles), radii * c_math.sin(angles)), axis=1)


def _fill_in_blocks(out: Array, mean: float, std: float, generator: Generator) -> None:
    """Normal numbers in blocks of 16; an incomplete block is the last 16 numbers, drawn anew."""
    whole = out.size // 16 * 16
    with generator.lock:
        for start in range(0, whole, CHUNK):
            _fill_blocks(out[start : min(start + CHUNK, whole)], mean, std, generator)
        if whole < out.size:
            if out.dtype.itemsize > 2:  # PyTorch draws numbers here that nobody sees
                generator.words(out.itemsize // 4 * (out.size - whole))
            _fill_blocks(out[-16:], mean, std, generator)


def _fill_blocks(out: Array, mean: float, std: float, generator: Generator) -> None:
    """Normal numbers; in each block of 16, the first 8 pair with the last 8."""
    if out.dtype == np.float64:
        u, v = np.moveaxis(doubles(generator.words(2 * out.size)).reshape(-1, 2, 8), 1, 0)
        radii, angles = np.sqrt(-2 * c_math.log(1 - u)), 2.0 * math.pi * v
        out[...] = fused(_cartesian(radii, angles), std, mean).reshape(-1)
        return
    numbers, moments = drawn_singles(out.size, generator), (np.float32(mean), np.float32(std))
    if kernels := compiled_loops(numbers.size):
        kernels.make_normal(numbers, *moments)
    else:
        u, v = np.moveaxis(numbers.reshape(-1, 2, 8), 1, 0)
        u[...], v[...] = normal_pair(u, v, *moments)
    out[...] = numbers


# --- Other distributions of single numbers ---------------------------------------------------------


def bernoulli(
    shape: tuple[int, ...],
    dtype: Any,
    p: float | Array = 0.5,
    generator: Generator | None = None,
) -> Array:
    """Ones with probability p, else zeros: `bernoulli_`, and the mask of dropout.

    A `p` that is an array gives each element its probability.
    """
    dtype = np.dtype(dtype)
    if isinstance(p, np.ndarray):
        require(((p >= 0) & (p <= 1)).all(), "bernoulli_ expects all p to be in [0, 1]")
        precise = np.float64 if p.dtype == np.float64 else np.float32
        return stored_as(uniform(shape, precise, 0.0, 1.0, generator) < p.astype(precise), dtype)
    require(0 <= p <= 1, "bernoulli_ expects p to be in [0, 1], but got p={}", p)
    return from_doubles(shape, dtype, generator, lambda u: u < p)


def kept(
    shape: tuple[int, ...], dtype: Any, p: float = 0.5, generator: Generator | None = None
) -> Array:
    """What dropout keeps: `bernoulli`, which PyTorch draws in another order there on a GPU."""
    return bernoulli(shape, dtype, p, generator)


def exponential(
    shape: tuple[int, ...], dtype: Any, rate: float = 1.0, generator: Generator | None = None
) -> Array:
    """Waiting times for events of a given rate: `exponential_`."""
    require(rate > 0, "exponential_ expects lambda > 0.0, but found lambda={}", rate)
    return from_doubles(shape, dtype, generator, lambda u: -1.0 / rate * c_math.log1p(-u))


def geometric(
    shape: tuple[int, ...], dtype: Any, p: float, generator: Generator | None = None
) -> Array:
    """How many trials it takes until one succeeds: `geometric_`."""
    require(0 < p < 1, "geometric_ expects p to be in (0, 1), but got p={}", p)
    failure = math.log1p(-p)
    return from_doubles(shape, dtype, generator, lambda u: np.ceil(c_math.log(u) / failure))


def cauchy(
    shape: tuple[int, ...],
    dtype: Any,
    median: float = 0.0,
    sigma: float = 1.0,
    generator: Generator | None = None,
) -> Array:
    """Numbers of the Cauchy distribution: `cauchy_`."""
    require(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma={}", sigma)
    turn = lambda u: c_math.tan(math.pi * (u - 0.5))  # noqa: E731
    return from_doubles(shape, dtype, generator, lambda u: fused(turn(u), sigma, median))


def multinomial(
    weights: Array, count: int, replacement: bool = False, generator: Generator | None = None
) -> Array:
    """Indices drawn with probabilities in proportion to each row of weights: `multinomial`."""
    check_multinomial(weights, count, replacement)
    if replacement and count > 1:
        return _drawn_with_replacement(weights, count, generator)
    by_columns = weights.ndim == 2 and 0 < weights.strides[0] < weights.strides[1]
    like = weights.T if by_columns else weights  # waiting times fall in the order of memory
    waits = exponential(like.shape, weights.dtype, 1.0, generator)
    waits = waits.T if by_columns else waits
    keys = weights / waits  # the first event of all is that of the highest key
    if count == 1:
        return keys.argmax(axis=-1, keepdims=True)
    return np.argsort(-keys, axis=-1, kind="stable")[..., :count].copy()


def _drawn_with_replacement(weights: Array, count: int, generator: Generator | None) -> Array:
    """Where uniform numbers fall among the cumulated weights."""
    precise = np.float32 if weights.dtype.itemsize == 2 else weights.dtype
    rows = weights.reshape(-1, weights.shape[-1]).astype(precise)
    bounds = np.cumsum(rows, axis=-1, dtype=precise)
    bounds /= bounds[:, -1:]
    bounds[:, -1] = 1
    uniforms = uniform((len(rows), count), np.float64, 0.0, 1.0, generator)
    found = [
        np.searchsorted(b.astype(np.float64), u) for b, u in zip(bounds, uniforms, strict=True)
    ]
    return np.array(found, dtype=np.int64).reshape(*weights.shape[:-1], count)


def check_multinomial(weights: Array, count: int, replacement: bool) -> None:
    """Raise for weights that are no distribution, or more samples than there are indices."""
    require(1 <= weights.ndim <= 2, "prob_dist must be 1 or 2 dim, got {}", weights.ndim)
    require(
        digits_of(weights.dtype),
        "multinomial only supports floating-point dtypes for input, got: {.name}",
        weights.dtype,
    )
    require(count > 0, "cannot sample n_sample <= 0 samples")
    require(
        replacement or count <= weights.shape[-1],
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement: {} of {}",
        count,
        weights.shape,
    )
    require(weights.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")
    require(
        np.isfinite(weights).all() and (weights >= 0).all(),
        "probability tensor contains either `inf`, `nan` or element < 0",
    )
    require(
        (weights > 0).any(axis=-1).all(),
        "invalid multinomial distribution (sum of probabilities <= 0)",
    )


# --- Distributions by rejection: compiled ------------------------------------------------------------


def poisson(rates: Array, generator: Generator | None = None) -> Array:
    """How many events happen at each rate: `torch.poisson`."""
    if not digits_of(rates.dtype):
        raise NotImplementedError(f'"poisson_cpu" not implemented for {rates.dtype.name}')
    require((rates >= 0).all(), "invalid Poisson rate, expected rate to be non-negative")
    from .sampling_kernels import fill_poisson

    out = np.empty(rates.shape, np.float64)
    with chosen(generator).memory() as (words, cursor):
        fill_poisson(rates.astype(np.float64).reshape(-1), out.reshape(-1), words, cursor)
    return stored_as(out, rates.dtype)


def _check_precise(operation: str, dtype: Any) -> None:
    """Raise for a type that PyTorch does not sample in, either."""
    if dtype not in (np.float32, np.float64):
        raise NotImplementedError(f'"{operation}" not implemented for {dtype.name}')


def standard_gamma(shapes: Array, generator: Generator | None = None) -> Array:
    """A number of the gamma distribution for each shape: `torch._standard_gamma`."""
    _check_precise("gamma_cpu", shapes.dtype)
    from .sampling_kernels import fill_gamma

    generator = chosen(generator)
    out = np.empty(shapes.shape, shapes.dtype)
    with generator.memory() as (words, cursor):
        kept = generator.spare
        spare = np.array([kept or 0.0, kept is not None])
        fill_gamma(np.ascontiguousarray(shapes).reshape(-1), out.reshape(-1), words, cursor, spare)
        generator.spare = float(spare[0]) if spare[1] else None
    return np.maximum(out, np.finfo(out.dtype).tiny)


def dirichlet(concentrations: Array, generator: Generator | None = None) -> Array:
    """Probabilities that sum to one, for each row of concentrations: `torch._sample_dirichlet`."""
    _check_precise("dirichlet", concentrations.dtype)
    drawn = standard_gamma(concentrations.astype(np.float64), generator)
    shares = (drawn / drawn.sum(axis=-1, keepdims=True)).astype(concentrations.dtype)
    below_one = np.nextafter(shares.dtype.type(1), shares.dtype.type(0))
    return np.clip(shares, np.finfo(shares.dtype).tiny, below_one)


def binomial(counts: Array, probs: Array, generator: Generator | None = None) -> Array:
    """How many of `counts` trials succeed with probability `probs`: `torch.binomial`."""
    _check_precise("binomial_cpu", counts.dtype)
    from .sampling_kernels import fill_binomial

    counts, probs = np.broadcast_arrays(counts, probs)
    out = np.empty(counts.shape, counts.dtype)
    with chosen(generator).memory() as (words, cursor):
        flat = np.ascontiguousarray(counts).reshape(-1), np.ascontiguousarray(probs).reshape(-1)
        fill_binomial(*flat, out.reshape(-1), words, cursor)
    return out
