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
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from . import c_math
from .box_muller import normal_pair
from .generator import Generator, chosen, compiled_loops

Array = Any
"""A NumPy array."""

CHUNK = 1 << 15
"""So many words are drawn at a time: they stay in the inner caches."""


# --- Types ---------------------------------------------------------------------------------------


@cache
def _digits(dtype: Any) -> int:
    """How many binary digits a floating point type has; 0 for other types."""
    return {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(dtype.name, 0)


@cache
def _largest(dtype: Any) -> Any:
    """The largest number of a type."""
    if dtype.name == "bfloat16":
        return float.fromhex("0x1.fep127")
    if dtype == np.bool_:
        return 1
    return float(np.finfo(dtype).max) if _digits(dtype) else int(np.iinfo(dtype).max)


def _stored(values: Array, dtype: Any) -> Array:
    """Numbers in another type; on the way to 16 bits they are float32, as in PyTorch."""
    if dtype.itemsize == 2 and values.dtype != np.float32 and _digits(dtype):
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def _require(holds: Any, message: str) -> None:
    """Raise Torch's error unless the condition holds."""
    if not holds:
        raise RuntimeError(message)


# --- Words, and what they are read as ------------------------------------------------------------


def _joined(words: Array) -> Array:
    """Pairs of words as 64-bit integers; the first is the high half."""
    return (words[0::2].astype(np.uint64) << np.uint64(32)) | words[1::2]


def _singles(words: Array) -> Array:
    """Uniform float32 numbers from 0 to 1, one of each word: its low 24 bits."""
    bits = words & np.uint32(0xFFFFFF)
    return bits.view(np.int32).astype(np.float32) * np.float32(2.0**-24)


def _doubles(words: Array) -> Array:
    """Uniform float64 numbers from 0 to 1, one of each two words: 53 bits."""
    bits = _joined(words) & np.uint64((1 << 53) - 1)
    return bits.view(np.int64) * 2.0**-53


def _fused(x: Array, factor: float, term: float) -> Array:
    """x * factor + term for float64, rounded once, as processors do it for PyTorch."""
    if term == 0 or factor == 1:
        return x * factor + term
    if kernels := compiled_loops(x.size):
        return kernels.fuse(x.reshape(-1), float(factor), float(term)).reshape(x.shape)
    with np.errstate(invalid="ignore"):
        return _fused_in_steps(x, factor, term)


def _fused_in_steps(x: Array, factor: float, term: float) -> Array:
    """The same with NumPy: add what rounding lost (Dekker's product, Knuth's sum)."""
    product = x * factor
    total = product + term
    x_high, factor_high = _leading(x), _leading(np.float64(factor))
    x_low, factor_low = x - x_high, factor - factor_high
    lost = x_high * factor_high - product  # what rounding took away from the product
    lost += x_high * factor_low
    lost += x_low * factor_high
    lost += x_low * factor_low
    added = total - product
    lost += (product - (total - added)) + (term - added)  # and from the sum
    return np.where(np.isfinite(lost), total + lost, total)


def _leading(x: Array) -> Array:
    """Float64 numbers cut to 26 digits: products of two such are exact."""
    return (x.view(np.int64) & np.int64(-1 << 27)).view(np.float64)


def _from_words(
    shape: Any, dtype: Any, generator: Generator | None, each: int, read: Callable[[Array], Array]
) -> Array:
    """An array whose every element is read from its own `each` words."""
    out = np.empty(shape, dtype)
    flat = out.reshape(-1)
    step = CHUNK // each
    with chosen(generator).drawing(each * flat.size) as draw:
        for start in range(0, flat.size, step):
            part = flat[start : start + step]
            part[...] = _stored(read(draw(each * part.size)), out.dtype)
    return out


def _from_doubles(
    shape: Any, dtype: Any, generator: Generator | None, make: Callable[[Array], Array]
) -> Array:
    """An array whose every element is made of its own uniform float64 number."""
    return _from_words(shape, dtype, generator, 2, lambda words: make(_doubles(words)))


def _filled_complex(fill: Callable[..., Array], shape: Any, dtype: Any, *args: Any) -> Array:
    """A complex array whose parts, one after the other, are what `fill` fills."""
    real = np.dtype(f"f{dtype.itemsize // 2}")
    return fill((*shape, 2), real, *args).view(dtype)[..., 0]


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
    if dtype.kind == "c":
        return _filled_complex(uniform, shape, dtype, low, high, generator)
    _check_uniform(dtype, low, high)
    if dtype == np.float64:
        return _uniform_doubles(shape, float(low), float(high), generator)
    if (dtype, low, high) == (np.float32, 0, 1):
        return _from_words(shape, dtype, generator, 1, _singles)
    start, span = np.float32(low), np.float32(high) - np.float32(low)
    bounds = _stored(np.array([low, high], np.float32), dtype)

    def read(words: Array) -> Array:
        values = _singles(words) * np.float64(span)  # exact
        values += np.float64(start)
        return _below(_stored(values.astype(np.float32), dtype), *bounds)

    return _from_words(shape, dtype, generator, 1, read)


def _uniform_doubles(shape: Any, low: float, high: float, generator: Generator | None) -> Array:
    """Uniform float64 numbers."""
    if (low, high) == (0, 1):
        return _from_words(shape, np.float64, generator, 2, _doubles)
    read = lambda u: _below(_fused(u, high - low, low), low, high)  # noqa: E731
    return _from_doubles(shape, np.float64, generator, read)


def _below(values: Array, low: Any, high: Any) -> Array:
    """Numbers that were rounded up to `high` become `low`."""
    values[values == high] = low
    return values


def _check_uniform(dtype: Any, low: float, high: float) -> None:
    """Raise unless the bounds are finite numbers of the type, in order."""
    limit = _largest(dtype)
    if -limit <= low <= high <= limit and high - low <= limit:
        return
    for name, bound in (("from", low), ("to", high)):
        _require(abs(bound) <= limit, f"{name} is out of bounds for {dtype.name}: {bound}")
    _require(
        low <= high,
        f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}",
    )
    raise RuntimeError(
        f"uniform_ expects to-from <= std::numeric_limits<{dtype.name}>::max(), but found "
        f"to={high} and from={low} which result in to-from to exceed the limit"
    )


# --- Integers ------------------------------------------------------------------------------------


def integers(
    shape: tuple[int, ...],
    dtype: Any,
    low: int,
    high: int | None,
    generator: Generator | None = None,
) -> Array:
    """Integers from `low` to `high`, without `high`: `randint` and `random_(low, high)`.

    Args:
        shape: the shape of the array
        dtype: the type of its elements, which may be a floating point type
        low: the least number
        high: the first number that is too large; None: whatever the type holds
        generator: where the words come from
    """
    dtype = np.dtype(dtype)
    _require(
        dtype.kind != "c",
        "check_random_bounds handles only integral, floating-point and boolean types",
    )
    low, high = _integer_bounds(dtype, low, high)
    span, first = high - low, np.int64(low)
    if span < 1 << 28:
        return _remainders(shape, dtype, generator, span, first)
    if span < 1 << 64:
        return _remainders_of_pairs(shape, dtype, generator, span, first)
    return _from_words(shape, dtype, generator, 2, lambda words: _joined(words).view(np.int64))


def integers_of_type(
    shape: tuple[int, ...], dtype: Any, generator: Generator | None = None
) -> Array:
    """Integers from 0 to the largest up to which the type holds all: `random_()`."""
    dtype = np.dtype(dtype)
    span = _last_integer(dtype) + 1
    fill = _remainders_of_pairs if dtype in (np.float64, np.int64) else _remainders
    return fill(shape, dtype, generator, span, np.int64(0))


def _remainders(
    shape: Any, dtype: Any, generator: Generator | None, span: int, first: Any
) -> Array:
    """Integers from `first` on: what is left of a word after division by `span`."""
    divisor = np.uint32(span)
    return _from_words(shape, dtype, generator, 1, lambda words: words % divisor + first)


def _remainders_of_pairs(
    shape: Any, dtype: Any, generator: Generator | None, span: int, first: Any
) -> Array:
    """The same from 64-bit integers: with a large span, 32 bits would favour small numbers."""
    divisor = np.uint64(span)
    read = lambda words: (_joined(words) % divisor).view(np.int64) + first  # noqa: E731
    return _from_words(shape, dtype, generator, 2, read)


def _last_integer(dtype: Any) -> int:
    """The integer up to which a type holds all."""
    return 1 << _digits(dtype) if _digits(dtype) else _largest(dtype)


def _integer_bounds(dtype: Any, low: int, high: int | None) -> tuple[int, int]:
    """The bounds that `integers` keeps: those given, moved inward to numbers of the type."""
    if high is None and low == -(1 << 63):
        return low, 1 << 63
    if high is None:
        low, high = _first_stored(dtype, low), _last_integer(dtype) + 1
    else:
        _require(
            low < high,
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
        )
        low, high = _first_stored(dtype, low), _end_stored(dtype, high)
    _require(
        low < high,
        f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
        f"from={low} >= to={high}",
    )
    _check_stored(dtype, "from", low)
    _check_stored(dtype, "to - 1", high - 1)
    return low, high


def _check_stored(dtype: Any, name: str, bound: int) -> None:
    """Raise for a bound beyond the type; warn where it does not hold all integers."""
    digits, most = _digits(dtype), _largest(dtype)
    least = -most if digits else -most - 1 if dtype.kind == "i" else 0
    _require(least <= bound <= most, f"{name} is out of bounds for {dtype.name}: {bound}")
    if digits and abs(bound) > 1 << digits:
        warnings.warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
            f"{dtype.name} can support discrete uniform distribution only within this range.",
            stacklevel=5,
        )


def _rounded(dtype: Any, number: int) -> int:
    """The integer that a number becomes when it is stored in a floating point type."""
    return int(_stored(np.array([number], np.float64), dtype)[0])


def _first_stored(dtype: Any, low: int) -> int:
    """A lower bound below which no integer above it is stored."""
    digits = _digits(dtype)
    if not digits or (stored := _rounded(dtype, low + 1)) >= low:
        return low
    return stored + (1 << (abs(low + 1).bit_length() - digits))


def _end_stored(dtype: Any, high: int) -> int:
    """An upper bound that no integer below it is stored as."""
    digits = _digits(dtype)
    if not digits or (stored := _rounded(dtype, high - 1)) < high:
        return high
    return stored - (1 << (abs(high - 1).bit_length() - digits))


def permutation(n: int, dtype: Any, generator: Generator | None = None) -> Array:
    """The integers from 0 to n - 1 in random order: `randperm`."""
    dtype = np.dtype(dtype)
    _require(n >= 0, f"n must be non-negative, got {n}")
    _require(
        n <= _last_integer(dtype),
        f"n is too large for result tensor type: '{dtype.name}' for n={n}",
    )
    words = 1 if n < 0xFFFFFFFF // 20 else 2
    places = np.arange(max(n - 1, 0))
    with chosen(generator).drawing(words * places.size) as draw:
        drawn = draw(words * places.size)
    partners = places + (drawn if words == 1 else _joined(drawn)) % (n - places).astype(np.uint64)
    return _stored(_shuffled(n, partners.astype(np.int64)), dtype)


def _shuffled(n: int, partners: Array) -> Array:
    """0 to n - 1, after each place, from the first on, was swapped with its partner."""
    if kernels := compiled_loops(n):
        order = np.arange(n)
        kernels.shuffle(order, partners)
        return order
    listed = list(range(n))
    for place, partner in enumerate(partners.tolist()):
        listed[place], listed[partner] = listed[partner], listed[place]
    return np.array(listed, dtype=np.int64)


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
    _require(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    if dtype.kind == "c":
        fill = partial(normal, singly=singly)
        return _filled_complex(fill, shape, dtype, mean, std / math.sqrt(2), generator)
    generator = chosen(generator)
    out = np.empty(shape, dtype)
    if out.size < 16 or singly:
        out[...] = _stored(_fused(_normals(out.size, generator), std, mean), dtype).reshape(shape)
    else:
        _fill_in_blocks(out.reshape(-1), mean, std, generator)
    return out


def normal_around(mean: Any, std: Any, generator: Generator | None = None) -> Array:
    """Normal numbers with a mean or a deviation each: `torch.normal` of arrays."""
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    if not isinstance(std, np.ndarray):
        return (normal(shape, dtype, 0.0, std, generator) + mean).astype(dtype)
    _require((std >= 0).all(), "normal expects all elements of std >= 0.0")
    spread = (normal(shape, dtype, 0.0, 1.0, generator) * std).astype(dtype)
    return (spread + mean).astype(dtype)


def log_normal(
    shape: tuple[int, ...],
    dtype: Any,
    mean: float = 1.0,
    std: float = 2.0,
    generator: Generator | None = None,
) -> Array:
    """Numbers whose logarithm is normally distributed: `log_normal_`."""
    _require(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    drawn = _normals(math.prod(shape), chosen(generator))
    return _stored(c_math.exp(_fused(drawn, std, mean)), np.dtype(dtype)).reshape(shape)


def _normals(count: int, generator: Generator) -> Array:
    """Standard normal float64 numbers, drawn in pairs; what is left of a pair is kept."""
    with generator.lock:
        kept = [] if generator.spare is None or not count else [generator.spare]
        pairs = (count - len(kept) + 1) // 2
        with generator.drawing(4 * pairs) as draw:
            uniforms = _doubles(draw(4 * pairs)).reshape(pairs, 2)
        angles = 2.0 * math.pi * uniforms[:, 0]
        radii = np.sqrt(-2.0 * c_math.log1p(-uniforms[:, 1]))
        drawn = np.concatenate((kept, _cartesian(radii, angles).reshape(-1)))
        if count:
            generator.spare = float(drawn[count]) if drawn.size > count else None
    return drawn[:count]


def _cartesian(radii: Array, angles: Array) -> Array:
    """Points in the plane: x and y lie along a new second axis."""
    return np.stack((radii * c_math.cos(angles), radii * c_math.sin(angles)), axis=1)


def _fill_in_blocks(out: Array, mean: float, std: float, generator: Generator) -> None:
    """Normal numbers in blocks of 16; an incomplete block is the last 16 numbers, drawn anew."""
    each = 2 if out.dtype == np.float64 else 1
    whole = out.size // 16 * 16
    with generator.drawing(each * out.size) as draw:
        for start in range(0, whole, CHUNK):
            part = out[start : min(start + CHUNK, whole)]
            _fill_blocks(part, draw(each * part.size), mean, std)
        if whole < out.size:
            if out.dtype.itemsize > 2:
                draw(each * (out.size - whole))  # PyTorch draws numbers here that nobody sees
            _fill_blocks(out[-16:], draw(16 * each), mean, std)


def _fill_blocks(out: Array, words: Array, mean: float, std: float) -> None:
    """Normal numbers from words; in each block of 16, the first 8 pair with the last 8."""
    if out.dtype == np.float64:
        u, v = np.moveaxis(_doubles(words).reshape(-1, 2, 8), 1, 0)
        radii, angles = np.sqrt(-2 * c_math.log(1 - u)), 2.0 * math.pi * v
        out[...] = _fused(_cartesian(radii, angles), std, mean).reshape(-1)
        return
    numbers, moments = _singles(words), (np.float32(mean), np.float32(std))
    if kernels := compiled_loops(numbers.size):
        kernels.fill_normals(numbers, *moments)
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
        _require(((p >= 0) & (p <= 1)).all(), "bernoulli_ expects all p to be in [0, 1]")
        precise = np.float64 if p.dtype == np.float64 else np.float32
        return _stored(uniform(shape, precise, 0.0, 1.0, generator) < p.astype(precise), dtype)
    _require(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return _from_doubles(shape, dtype, generator, lambda u: u < p)


def exponential(
    shape: tuple[int, ...], dtype: Any, rate: float = 1.0, generator: Generator | None = None
) -> Array:
    """Waiting times for events of a given rate: `exponential_`."""
    _require(rate > 0, f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    return _from_doubles(shape, dtype, generator, lambda u: -1.0 / rate * c_math.log1p(-u))


def geometric(
    shape: tuple[int, ...], dtype: Any, p: float, generator: Generator | None = None
) -> Array:
    """How many trials it takes until one succeeds: `geometric_`."""
    _require(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    failure = math.log1p(-p)
    return _from_doubles(shape, dtype, generator, lambda u: np.ceil(c_math.log(u) / failure))


def cauchy(
    shape: tuple[int, ...],
    dtype: Any,
    median: float = 0.0,
    sigma: float = 1.0,
    generator: Generator | None = None,
) -> Array:
    """Numbers of the Cauchy distribution: `cauchy_`."""
    _require(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    turn = lambda u: c_math.tan(math.pi * (u - 0.5))  # noqa: E731
    return _from_doubles(shape, dtype, generator, lambda u: _fused(turn(u), sigma, median))


def multinomial(
    weights: Array, count: int, replacement: bool = False, generator: Generator | None = None
) -> Array:
    """Indices drawn with probabilities in proportion to each row of weights: `multinomial`."""
    _check_multinomial(weights, count, replacement)
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


def _check_multinomial(weights: Array, count: int, replacement: bool) -> None:
    """Raise for weights that are no distribution, or more samples than there are indices."""
    _require(1 <= weights.ndim <= 2, f"prob_dist must be 1 or 2 dim, got {weights.ndim}")
    _require(
        _digits(weights.dtype),
        f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.name}",
    )
    _require(count > 0, "cannot sample n_sample <= 0 samples")
    _require(
        replacement or count <= weights.shape[-1],
        f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {count} of "
        f"{weights.shape}",
    )
    _require(weights.shape[-1] <= 1 << 24, "number of categories cannot exceed 2^24")
    _require(
        np.isfinite(weights).all() and (weights >= 0).all(),
        "probability tensor contains either `inf`, `nan` or element < 0",
    )
    _require(
        (weights.sum(axis=-1) > 0).all(),
        "invalid multinomial distribution (sum of probabilities <= 0)",
    )


# --- Distributions by rejection: compiled ------------------------------------------------------------


def poisson(rates: Array, generator: Generator | None = None) -> Array:
    """How many events happen at each rate: `torch.poisson`."""
    if not _digits(rates.dtype):
        raise NotImplementedError(f'"poisson_cpu" not implemented for {rates.dtype.name}')
    _require(not (rates < 0).any(), "invalid Poisson rate, expected rate to be non-negative")
    from .sampling_kernels import fill_poisson

    out = np.empty(rates.shape, np.float64)
    with chosen(generator).memory() as (words, cursor):
        fill_poisson(rates.astype(np.float64).reshape(-1), out.reshape(-1), words, cursor)
    return _stored(out, rates.dtype)


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
