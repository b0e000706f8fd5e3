"""The random numbers of a GPU, with the values of PyTorch's CUDA generator.

Philox 4x32-10 has no memory: a seed, the number of a thread and a counter give four words. A launch has
blocks of 256 threads, as many as there are numbers, or as fill the GPU; each thread draws four words at
a time, and its numbers lie as far apart as there are threads. The generator's counter then moves on by
what a thread has drawn. `SOURCE` is the kernel; `numbers` does the same with NumPy, for the simulated GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...generator import Generator
from ...random_integers import bounds_of, last_integer
from ...random_words import stored_as
from ..interface import Array

BLOCK = 256
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox(seed: int, counter: Array, thread: Array) -> tuple[Array, Array, Array, Array]:
    """Four 32-bit words (as uint64) for each pair of a counter and a thread, both uint64.

    >>> zero = np.zeros(1, np.uint64)
    >>> " ".join(f"{int(word[0]):08x}" for word in philox(0, zero, zero))
    '6627e8d5 e169c58d bc57ac4c 9b00dbd8'
    """
    a, b, c, d = counter & _LOW, counter >> _HALF, thread & _LOW, thread >> _HALF
    for k in range(10):
        keys = (seed + k * 0x9E3779B9) & 0xFFFFFFFF, ((seed >> 32) + k * 0xBB67AE85) & 0xFFFFFFFF
        first, second = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b = (second >> _HALF) ^ b ^ np.uint64(keys[0]), second & _LOW
        c, d = (first >> _HALF) ^ d ^ np.uint64(keys[1]), first & _LOW
    return a, b, c, d


class PhiloxGenerator(Generator):
    """A GPU's stream of random words: a seed, and how far it was used."""

    offset: int

    def manual_seed(self, seed: int) -> Generator:
        super().manual_seed(seed)
        self.offset = 0
        return self

    def advance(self, count: int) -> int:
        """The counter for a launch whose threads draw up to `count` words each."""
        with self.lock:
            before = self.offset
            self.offset += -(-count // 4) * 4
        return before

    def words(self, count: int) -> Array:
        """The next words of one thread, for numbers that the CPU makes."""
        fours = -(-count // 4)
        counter = np.arange(fours, dtype=np.uint64) + np.uint64(self.advance(4 * fours) // 4)
        words = philox(self._seed, counter, np.zeros(fours, np.uint64))
        return np.stack(words, axis=1).reshape(-1)[:count].astype(np.uint32)

    def fill(self, out: Array, what: str, *args: Any) -> bool:
        """False: compiled loops draw from a twister."""
        return False

    @contextmanager
    def memory(self) -> Iterator[tuple[Array, Array]]:
        """Lend the words of a generator of the CPU that is seeded from this one."""
        other = Generator()
        other.manual_seed(int(self.words(1)[0]))
        with other.memory() as lent:
            yield lent

    def state_array(self) -> Array:
        """The state as 16 bytes in PyTorch's layout: the seed and the counter."""
        with self.lock:
            return np.array([self._seed, self.offset], "<u8").view(np.uint8)

    def set_state_array(self, data: Array) -> None:
        if data.size != 16:
            raise RuntimeError(f"RNG state is wrong size: 16 bytes are expected, not {data.size}")
        seed, offset = np.ascontiguousarray(data).view("<u8").tolist()
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        with self.lock:
            self.manual_seed(seed)
            self.offset = offset


# --- What is made of the words -------------------------------------------------------------------


class Recipe(NamedTuple):
    """How a distribution makes numbers of what a thread draws.

    Attributes:
        base: what is drawn: "uniform" or "normal" numbers, or "word"s or "pair"s of them, which are divided
        code: the number that is made of the drawn x and of a and b, in CUDA C++
        formula: the same by NumPy's functions
        a: a parameter; of words, the divisor
        b: another; of words, the least number
        together: how many neighbours a thread makes of the words that it draws at once; 0: none
        used: by how many words the counter moves on; 0: by as many as a thread draws
    """

    base: str
    code: str
    formula: Callable[[Array, Any, Any], Array]
    a: Any = 0
    b: Any = 0
    together: int = 0
    used: int = 0


def _uniform(dtype: Any, low: float = 0.0, high: float = 1.0) -> Recipe:
    def formula(x: Array, a: Any, b: Any) -> Array:
        values = stored_as((x.astype(np.float64) * (b - a) + a).astype(x.dtype), dtype)
        bounds = stored_as(np.array([a, b]), dtype)
        values[values == bounds[1]] = bounds[0]
        return values

    code = "ROUND(fma(x, ROUND(ROUND(b) - ROUND(a)), a)) == ROUND(b) ? a : fma(x, ROUND(ROUND(b) - ROUND(a)), a)"
    return Recipe("uniform", code, formula, low, high)


def _normal(dtype: Any, mean: float = 0.0, std: float = 1.0, singly: bool = False) -> Recipe:
    return Recipe("normal", "fma(x, b, a)", lambda x, a, b: x * b + a, mean, std)


def _log_normal(dtype: Any, mean: float = 1.0, std: float = 2.0) -> Recipe:
    return Recipe("normal", "exp(fma(x, b, a))", lambda x, a, b: np.exp(x * b + a), mean, std)


def _bernoulli(dtype: Any, p: float = 0.5) -> Recipe:
    return Recipe("uniform", "x < a", lambda x, a, b: x < a, p)


def _exponential(dtype: Any, rate: float = 1.0) -> Recipe:
    def formula(x: Array, a: Any, b: Any) -> Array:
        least = np.finfo(x.dtype).eps / 2
        return np.where(x >= 1 - least, -least, np.log(x)) * x.dtype.type(-1.0 / a)

    code = "T(-1) / a * (x >= T(1) - EPSILON / 2 ? -EPSILON / 2 : LOG(x))"
    return Recipe("uniform", code, formula, rate)


def _geometric(dtype: Any, p: float) -> Recipe:
    failure = math.log1p(-p)
    return Recipe("uniform", "ceil(LOG(x) / a)", lambda x, a, b: np.ceil(np.log(x) / a), failure)


def _cauchy(dtype: Any, median: float = 0.0, sigma: float = 1.0) -> Recipe:
    def formula(x: Array, a: Any, b: Any) -> Array:
        least = np.finfo(x.dtype).eps
        return np.tan(math.pi * (np.clip(x, least, 1 - least) - 0.5)) * b + a

    inside = "fmin(fmax(x, EPSILON), T(1) - EPSILON)"
    return Recipe("uniform", f"a + b * tan(T({math.pi!r}) * ({inside} - T(0.5)))", formula, median, sigma)  # fmt: skip


def _remainders(span: int, low: int, pairs: bool) -> Recipe:
    """Integers: what is left of a word, or of two, after division."""
    divisor = span % (1 << 64)  # 0: all of them

    def formula(x: Array, a: Any, b: Any) -> Array:
        return (x % np.uint64(a) if a else x).view(np.int64) + np.int64(b)

    return Recipe("pair" if pairs else "word", "(a ? x % a : x) + b", formula, divisor, low)


def _integers(dtype: Any, low: int, high: int | None) -> Recipe:
    low, high = bounds_of(dtype, low, high)
    return _remainders(high - low, low, high - low >= 1 << 28)


def _integers_of_type(dtype: Any) -> Recipe:
    return _remainders(last_integer(dtype) + 1, 0, dtype in (np.float64, np.int64))


def _dropout(dtype: Any, p: float = 0.5) -> Recipe:
    return _bernoulli(dtype, p)._replace(together=4)


RECIPES: dict[str, Callable[..., Recipe]] = {
    "uniform": _uniform, "normal": _normal, "log_normal": _log_normal, "bernoulli": _bernoulli,
    "exponential": _exponential, "geometric": _geometric, "cauchy": _cauchy, "integers": _integers,
    "integers_of_type": _integers_of_type, "kept": _dropout,
}  # fmt: skip
"""By the names of distributions in `sampling.py`."""

EACH_P = Recipe("uniform", "x", lambda x, a, b: x, together=4, used=10)
"""The numbers that are compared with an array of probabilities."""


class Launch(NamedTuple):
    """Which threads make n numbers.

    Attributes:
        recipe: what they are
        n: how many
        blocks: of threads
        each: how many numbers a thread makes of four words
        together: how many neighbours it makes at once, or 1
        wide: the type that is computed in
    """

    recipe: Recipe
    n: int
    blocks: int
    each: int
    together: int
    wide: Any

    @property
    def words(self) -> int:
        """By how many words the generator's counter moves on."""
        rounds = (self.n - 1) // (BLOCK * self.blocks * self.each) + 1
        return self.recipe.used or 4 * rounds


def launch_of(recipe: Recipe, n: int, dtype: Any, gpu: Any) -> Launch:
    """How a GPU of certain properties makes n numbers of a type."""
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    each = 2 if recipe.base == "pair" or (wide == np.float64 and recipe.base != "word") else 4
    together = recipe.together
    while together > 1 and n % together:
        together //= 2
    if recipe.together:
        wide, each = np.dtype(np.float32), 4
    full = gpu.multi_processor_count * (gpu.max_threads_per_multi_processor // BLOCK)
    return Launch(recipe, n, min(full, -(-n // BLOCK)), each, max(together, 1), wide)


# --- By NumPy --------------------------------------------------------------------------------------


def numbers(launch: Launch, seed: int, offset: int, dtype: Any) -> Array:
    """The numbers of a launch, in one row."""
    i, threads = np.arange(launch.n), BLOCK * launch.blocks
    if launch.together > 1:
        group, place = np.divmod(i, launch.together)
        turn, thread = np.divmod(group, threads)
        turn, place = (turn // 2, place + 2 * (turn % 2)) if launch.together == 2 else (turn, place)
    else:
        turn, rest = np.divmod(i, threads * launch.each)
        place, thread = np.divmod(rest, threads)
    counter = turn.astype(np.uint64) + np.uint64(offset // 4)
    words = np.stack(philox(seed, counter, thread.astype(np.uint64)))  # (4, n)
    recipe, column = launch.recipe, np.arange(launch.n)
    if recipe.base == "word":
        drawn = words[place, column]
    elif recipe.base == "pair":
        drawn = (words[2 * place, column] << _HALF) | words[2 * place + 1, column]
    elif recipe.base == "uniform":
        drawn = _uniforms(words, launch.wide)[place, column]
    else:
        drawn = _normals(words, launch.wide)[place, column]
    return stored_as(recipe.formula(drawn, recipe.a, recipe.b), np.dtype(dtype))


def _uniforms(words: Array, wide: Any) -> Array:
    """Numbers above 0, up to 1: four of four words in float32, two in float64."""
    if wide == np.float32:
        return words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
    return (words[0::2] ^ (words[1::2] << np.uint64(21))) * 2.0**-53 + 2.0**-54


def _normals(words: Array, wide: Any) -> Array:
    """Box and Muller: of two uniform numbers, a radius and an angle."""
    if wide == np.float64:
        u, v = _uniforms(words, wide)
        angle = 2 * math.pi * v
        return np.sqrt(-2 * np.log(u)) * np.stack([np.sin(angle), np.cos(angle)])
    u = _uniforms(words[0::2], wide)
    turn = np.float32(2.0**-32 * 2 * math.pi)
    angle = words[1::2].astype(np.float32) * turn + turn / 2  # (2, n)
    radius = np.sqrt(np.float32(-2) * np.log(u))
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1).reshape(words.shape)


def permutation(n: int, generator: PhiloxGenerator, gpu: Any) -> Array:
    """0 to n - 1 in the order of random keys; what has equal keys is shuffled by itself."""
    if n == 0:
        return np.arange(0)
    share = math.log(0.9) * 12
    bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / share)))
    kind = np.dtype(np.int32 if bits <= 32 else np.int64)
    ends = np.iinfo(kind)
    launch = launch_of(_remainders(ends.max - ends.min, ends.min, True), n, kind, gpu)
    keys = numbers(launch, generator.initial_seed(), generator.advance(launch.words), kind)
    if bits < 8 * kind.itemsize:
        keys &= (1 << bits) - 1
    order = np.argsort(keys, kind="stable")
    offset = generator.advance(n)
    equal = np.flatnonzero(np.diff(keys[order]) == 0)
    for start in equal[np.diff(equal, prepend=-2) > 1].tolist():
        end = start + 1
        while end < n and keys[order[end]] == keys[order[start]]:
            end += 1
        counter = np.arange(-(-(end - start) // 4), dtype=np.uint64) + np.uint64(offset // 4)
        words = philox(generator.initial_seed(), counter, np.full_like(counter, start))
        drawn = np.stack(words, axis=1).reshape(-1)
        for k, i in enumerate(range(end - start - 1, 0, -1)):
            other = start + int(drawn[k]) % (i + 1)
            order[[start + i, other]] = order[[other, start + i]]
    return order


# --- By a kernel -----------------------------------------------------------------------------------

SOURCE = """
typedef unsigned long long Long;
struct Philox {
  unsigned seed[2]; Long counter, thread;
  __device__ void draw(unsigned* words) {
    unsigned a = (unsigned)counter, b = (unsigned)(counter >> 32), c = (unsigned)thread, d = (unsigned)(thread >> 32);
    unsigned k = seed[0], l = seed[1];
    for (int round = 0; round < 10; ++round) {
      Long first = (Long)0xD2511F53u * a, second = (Long)0xCD9E8D57u * c;
      a = (unsigned)(second >> 32) ^ b ^ k; b = (unsigned)second;
      c = (unsigned)(first >> 32) ^ d ^ l; d = (unsigned)first;
      k += 0x9E3779B9u; l += 0xBB67AE85u;
    }
    words[0] = a; words[1] = b; words[2] = c; words[3] = d;
    ++counter;
  }
};
__device__ double long_uniform(unsigned x, unsigned y) { return (x ^ (Long)y << 21) * 0x1p-53 + 0x1p-54; }
__device__ void as_word(const unsigned* w, Long* x) { for (int k = 0; k < 4; ++k) x[k] = w[k]; }
__device__ void as_pair(const unsigned* w, Long* x) { for (int k = 0; k < 2; ++k) x[k] = (Long)w[2 * k] << 32 | w[2 * k + 1]; }
__device__ void as_uniform(const unsigned* w, float* x) { for (int k = 0; k < 4; ++k) x[k] = w[k] * 0x1p-32f + 0x1p-33f; }
__device__ void as_uniform(const unsigned* w, double* x) { for (int k = 0; k < 2; ++k) x[k] = long_uniform(w[2 * k], w[2 * k + 1]); }
__device__ void as_normal(const unsigned* w, float* x) {
  for (int k = 0; k < 4; k += 2) {
    const float turn = 0x1p-32f * 6.2831855f;
    float radius = sqrtf(-2.0f * logf(w[k] * 0x1p-32f + 0x1p-33f)), angle = w[k + 1] * turn + turn / 2;
    __sincosf(angle, x + k, x + k + 1);
    x[k] *= radius; x[k + 1] *= radius;
  }
}
__device__ void as_normal(const unsigned* w, double* x) {
  double radius = sqrt(-2.0 * log(long_uniform(w[0], w[1])));
  sincospi(2.0 * long_uniform(w[2], w[3]), x, x + 1);
  x[0] *= radius; x[1] *= radius;
}
__device__ float LOG(float x) { return __logf(x); }
__device__ double LOG(double x) { return log(x); }
__device__ E made(X x, A a, A b) { return WRITE(CODE); }
__device__ void drawn(E* out, long long n, Long seed, Long offset, A a, A b) {
  long long first = blockIdx.x * blockDim.x + threadIdx.x, threads = (long long)gridDim.x * blockDim.x;
  Philox state = {{(unsigned)seed, (unsigned)(seed >> 32)}, offset / 4, (Long)first};
  unsigned words[4];
  X x[4];
  if (TOGETHER > 1) {
    for (long long i = first * TOGETHER, turn = 0; i < n; i += threads * TOGETHER, ++turn) {
      int second = TOGETHER == 2 ? turn % 2 * 2 : 0;
      if (!second) { state.draw(words); BASE(words, x); }
      for (int k = 0; k < TOGETHER; ++k) out[i + k] = made(x[second + k], a, b);
    }
    return;
  }
  for (long long i = first; i < n; i += threads * EACH) {
    state.draw(words);
    BASE(words, x);
    for (int k = 0; k < EACH; ++k) if (i + threads * k < n) out[i + threads * k] = made(x[k], a, b);
  }
}
extern "C" __global__ void draw(E* out, long long n, Long seed, Long offset, A a, A b) { drawn(out, n, seed, offset, a, b); }
extern "C" __global__ void draw_from_words(E* out, long long n, const Long* words, A a, A b) {
  drawn(out, n, words[0], words[1], a, b);
}
"""
"""For types E of the result, X of what is drawn and A of the parameters; with CODE and the numbers of a launch."""


def code_of(launch: Launch, memory: str, read: str, write: str) -> str:
    """The kernel of a launch.

    Args:
        launch: what to make
        memory: the name of the result's type
        read: how a number of it is read, and `write` how one is written
    """
    wide = "double" if launch.wide == np.float64 else "float"
    whole = launch.recipe.base in ("word", "pair")
    epsilon = float(np.finfo(launch.wide).eps)
    return f"""
typedef {memory} E;
typedef {wide} T;
typedef {"unsigned long long" if whole else wide} X;
typedef {"unsigned long long" if whole else wide} A;
#define EPSILON T({epsilon!r})
#define READ(x) {read.format("(x)")}
#define WRITE(x) {write.format(f"({'(long long)' if whole else ''}(x))")}
#define ROUND(x) READ(WRITE(x))
#define CODE {launch.recipe.code}
#define BASE as_{launch.recipe.base}
#define EACH {launch.each}
#define TOGETHER {launch.together}
{SOURCE}"""
