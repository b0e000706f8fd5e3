"""Sums, means and extremes over some dimensions on a GPU.

Neighbouring dimensions that are reduced together count as one, so that an array is (outer, reduced, inner). With inner = 1, rows are
reduced, by a warp or a block each; else columns, by threads that each have some neighbours. Where there are too few rows or columns for
all multiprocessors, parts of the reduced dimension are reduced first, and their results after that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .reduction_sources import REDUCE
from .sources import RAW
from .typed_kernels import BY_KIND, WIDE, fit, kernel_for

BLOCK = 256
PACK = 16
"""How many bytes of neighbours a thread reads at once."""

ENOUGH = 1056
"""Blocks that keep all multiprocessors busy."""

LEAST = 32
"""How many numbers a thread should reduce before it tells others."""

FEW = 1 << 18
"""With fewer numbers than this, a second launch takes longer than it saves."""

Groups = tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=1024)
def _groups(shape: tuple[int, ...], dims: tuple[int, ...]) -> Groups:
    """Reductions of (outer, reduced, inner) that follow each other, the innermost first."""
    runs: list[list[int]] = []  # whether reduced, and how many
    for d, n in enumerate(shape):
        if n == 1:
            continue
        if runs and runs[-1][0] == (d in dims):
            runs[-1][1] *= n
        else:
            runs.append([d in dims, n])
    found, inner = [], 1
    for k in reversed(range(len(runs))):
        reduced, n = runs[k]
        if reduced:
            outer = int(np.prod([m for _, m in runs[:k]], dtype=np.int64))
            found.append((outer, n, inner))
        else:
            inner *= n
    return tuple(found)


@lru_cache(maxsize=1024)
def _plan(outer: int, n: int, inner: int, pack: int) -> tuple[Any, Any, int, int]:
    """The grid, the block, how many numbers a part has, and how many neighbours a thread reads, for a reduction."""
    few = outer * n * inner < FEW
    if inner == 1:
        pack = pack if n % pack == 0 else 1
        x = BLOCK if n >= pack * BLOCK * 4 or outer < ENOUGH else 32
        blocks, y = -(-outer // (BLOCK // x)), BLOCK // x
        least = pack * x * (LEAST // pack)
    else:
        pack = pack if inner % pack == 0 else 1
        x = min(32, 1 << (-(-inner // pack) - 1).bit_length())
        while few and x > 2 and outer * -(-inner // (x * pack)) < ENOUGH // 8 and n * x > BLOCK:
            x //= 2
        y = BLOCK // x
        blocks, least = outer * -(-inner // (x * pack)), y * LEAST
    parts = 1 if few else max(1, min(-(-ENOUGH // blocks), n // least, 65535))
    each = -(-n // parts)
    each += -each % pack
    return (blocks, -(-n // each)), (x, y), each, pack


JOINS = {
    "sum": ("Plus", "T(0)"),
    "amax": ("Larger", "T(-INFINITY)"),
    "amin": ("Smaller", "T(INFINITY)"),
}
"""What joins two numbers, and what changes none."""


@lru_cache(maxsize=256)
def _source(pack: int, how: str, kind: Any) -> str:
    """The code of kernels that read so many neighbours at once, and write numbers of a type."""
    memory, _, _, write = BY_KIND[kind]
    join, none = JOINS[how]
    return f"""{RAW}
#define PACK {pack}
#define HOW {join}
#define NONE {none}
#define PUT(x) {write.format("(x)")}
typedef {memory} O;
{REDUCE}"""


def reduce_one(x: Array, out: Array, how: str, sizes: tuple[int, int, int], divisor: float) -> None:
    """Reduce an array (outer, n, inner) to (outer, inner), divide, and write it into `out`."""
    outer, n, inner = sizes
    wide = WIDE[x.dtype]
    aligned = x.data.ptr % PACK == 0
    grid, block, each, pack = _plan(outer, n, inner, PACK // x.itemsize if aligned else 1)
    parts = grid[1]
    target = out if parts == 1 else cupy.ndarray((outer, parts, inner), wide)
    source = _source(pack, how, target.dtype)
    kernel = kernel_for(source, "reduce_rows" if inner == 1 else "reduce_columns", x.dtype)
    last = divisor if parts == 1 else 1
    kernel(grid, block, (x, target, outer, n, inner, each, last))
    if parts > 1:
        reduce_one(target, out, how, (outer, parts, inner), divisor)


def reduce(
    how: str, input: Array, dim: tuple[int, ...], keepdim: bool, kind: Any = None, mean: bool = False
) -> Array | None:  # fmt: skip
    """A sum, or the largest or smallest, over dimensions; None where there is no kernel for it."""
    groups = _groups(input.shape, dim)
    if not groups or not fit(input):
        return None
    kind = input.dtype if kind is None else kind
    if kind != input.dtype and (input.itemsize != 2 or kind != np.float32):
        return None
    shape = tuple(1 if d in dim else n for d, n in enumerate(input.shape) if keepdim or d not in dim)  # fmt: skip
    out = cupy.ndarray(shape, kind)
    x, wide = input, WIDE[input.dtype]
    for sizes in groups[:-1]:
        between = cupy.ndarray((sizes[0], sizes[2]), wide)
        reduce_one(x, between, how, sizes, 1.0)
        x = between
    reduce_one(x, out, how, groups[-1], input.size / out.size if mean else 1.0)
    return out


def _sum(input: Array, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Array | None:
    return reduce("sum", input, dim, keepdim, dtype)


def _mean(input: Array, dim: tuple[int, ...], keepdim: bool, dtype: Any) -> Array | None:
    return reduce("sum", input, dim, keepdim, dtype, mean=True)


def _amax(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array | None:
    return reduce("amax", input, dim, keepdim)


def _amin(input: Array, dim: tuple[int, ...], keepdim: bool) -> Array | None:
    return reduce("amin", input, dim, keepdim)


KERNELS: dict[str, Any] = {"sum": _sum, "mean": _mean, "amax": _amax, "amin": _amin}
"""By the names of records; where one returns None, the formula computes."""
