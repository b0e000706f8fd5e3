"""Attention of half precision and bfloat16 by tensor cores: one kernel forward, three backward, no score leaves the registers."""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .elementwise import HEAD, TYPES
from .flash_sources import FLASH, PRIMITIVES
from .launching import Kernel

ROWS, TILE = 128, 64
"""How many rows a block has, and how many rows of the other side it sees at once."""

WIDTHS = (32, 64, 128)
"""For how wide rows there are kernels; narrower ones are filled up with zeros."""

FACTS = 2
"""How many numbers there are for each query besides its output."""


def _groups(width: int) -> int:
    """How many groups of 16 rows a warp has, by the registers that these need; and how many blocks a multiprocessor."""
    return 2 if width <= 64 else 1


@cache
def _kernel(name: str, width: int, kind: Any, tiles: int) -> Any:
    """A kernel for rows of up to `width` numbers, and how many bytes of shared memory it takes."""
    source = f"""{HEAD}
typedef unsigned short E;
#define READ(x) {TYPES[kind][2].format("(x)")}
#define PAIRS "{"f16" if kind == np.float16 else "bf16"}"
#define WIDTH {width}
#define GROUPS {_groups(width)}
#define BLOCKS {_groups(width)}
{PRIMITIVES}{FLASH}"""
    size = tiles * TILE * width * 2 + (2 * TILE * 8 if name == "flash_by_key" else 0)
    return Kernel(source, name, size if size > 48 << 10 else 0), size


TILES = {"flash": 2 + 4, "flash_by_query": 4 + 4, "flash_by_key": 4 + 4}
"""How much shared memory kernels take, in tiles."""


def fits(*arrays: Array) -> bool:
    """Whether arrays (..., rows, width) of two bytes are such that rows are read 16 bytes at once."""
    if arrays[0].dtype.itemsize != 2 or int(cupy.cuda.Device().compute_capability) < 80:
        return False
    return all(
        x.shape[-1] <= WIDTHS[-1] and x.shape[-1] % 8 == 0 and x.data.ptr % 16 == 0
        and all(s % 16 == 0 for s, n in zip(x.strides[:-1], x.shape, strict=False) if n > 1)
        for x in arrays
    )  # fmt: skip


@lru_cache(maxsize=256)
def _places(strides: tuple[int, ...]) -> bytes:
    """How far apart samples, heads and rows are, in elements."""
    steps = [s // 2 for s in strides]
    return np.array([0] * (3 - len(steps)) + steps, np.int64).tobytes()


@lru_cache(maxsize=256)
def _sizes(query: tuple[int, ...], key: tuple[int, ...], wide: int) -> bytes:
    *outer, queries, width = query
    heads = outer[-1] if outer else 1
    return np.array([heads, queries, key[-2], width, wide], np.int32).tobytes()


class _Call:
    """Sizes of an attention, and how its kernels are launched."""

    def __init__(self, query: Array, key: Array, value: Array, scale: float, causal: bool) -> None:
        self.kind, self.heads, wide = query.dtype, prod(query.shape[:-2]), value.shape[-1]
        self.width = next(w for w in WIDTHS if w >= max(query.shape[-1], wide))
        self.sizes = _sizes(query.shape, key.shape, wide)
        self.end = scale, causal

    def launch(self, name: str, rows: int, arrays: tuple[Array, ...], of: tuple[Array, ...]) -> None:  # fmt: skip
        """Let a block compute each 128 of `rows` rows; `of` are the arrays whose strides it takes."""
        kernel, size = _kernel(name, self.width, self.kind, TILES[name])
        args = (*arrays, *(_places(x.strides[:-1]) for x in of), self.sizes, *self.end)
        kernel((self.heads, -(-rows // ROWS)), (256 // _groups(self.width),), args, shared_mem=size)


def forward(
    query: Array, key: Array, value: Array, out: Array, scale: float, causal: bool
) -> Array:
    """Fill `out`; what the backward needs of each query: its largest score, its sum, and a copy of its output."""
    call = _Call(query, key, value, scale, causal)
    sums = cupy.ndarray((*query.shape[:-1], 1, FACTS + value.shape[-1] // 2), np.float32)
    call.launch("flash", query.shape[-2], (query, key, value, out, sums), (query, key, value, out))
    return sums


def backward(
    grad: Array, given: tuple[Array, Array, Array], sums: Array, made: tuple[Array, ...], scale: float, causal: bool
) -> None:  # fmt: skip
    """Fill `made`, the gradients of query, key and value."""
    query, key, _ = given
    call = _Call(*given, scale, causal)
    queries = query.shape[-2]
    facts = cupy.ndarray((call.heads, -(-queries // TILE) * TILE, 2), np.float32)
    count = call.heads * queries
    kernel, _ = _kernel("flash_facts", call.width, call.kind, 0)
    args = grad, sums, facts, _places(grad.strides[:-1]), call.sizes, count
    kernel((-(-count // 8),), (256,), args)
    by_query, by_key, by_value = made
    read = grad, *given
    call.launch("flash_by_query", queries, (*read, facts, by_query), (*read, by_query))
    call.launch("flash_by_key", key.shape[-2], (*read, facts, by_key, by_value), (*read, by_key, by_value))  # fmt: skip
