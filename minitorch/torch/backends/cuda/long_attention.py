"""Attention over long sequences on a GPU: products by cuBLAS, for some queries after others, so that few scores are stored at once.

A kernel turns the scores of these queries into shares, and in the backward their gradients into those of the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]

from ..interface import Array
from .products import multiply
from .sources import SHARES
from .typed_kernels import WIDE, kernel_for

BLOCK = 256
MOST_BYTES = 1 << 28
"""How much memory the scores of some queries may take: with fewer queries, products leave processors idle."""


def stacks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Arrays (..., rows, width) as stacks of matrices, each at the same distance from the one before: one, or one for each sample."""
    if arrays[0].ndim < 4:
        yield tuple(x if x.ndim == 3 else x[None] for x in arrays)
    elif all(len(x) == 1 or x.strides[0] == x.shape[1] * x.strides[1] for x in arrays):
        yield tuple(
            cupy.ndarray((x.shape[0] * x.shape[1], *x.shape[2:]), x.dtype, x.data, x.strides[1:])
            for x in arrays
        )
    else:
        for sample in range(arrays[0].shape[0]):
            yield tuple(x[sample] for x in arrays)


class _Chunks:
    """Some queries after others, against the keys that they see.

    Attributes:
        scores: memory for scores, of the type to compute in
        shares: memory for shares, of the type of queries
    """

    def __init__(self, query: Array, key: Array, scale: float, causal: bool, sums: Array) -> None:
        self.heads, self.queries, self.width = query.shape
        self.query, self.key, self.keys, self.kind = query, key, key.shape[1], query.dtype
        self.wide = WIDE[self.kind]
        self.scale, self.causal, self.sums = self.wide.type(scale), causal, sums
        fitting = MOST_BYTES // (self.heads * self.keys * self.wide.itemsize)
        self.each = min(self.queries, max(16, fitting // 16 * 16))
        self.scores, self.shares = (self.memory(kind) for kind in (self.wide, self.kind))

    def memory(self, kind: Any) -> Array:
        """Memory for a number of each pair of a query and a key."""
        return cupy.ndarray((self.heads * self.each * self.keys,), kind)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """The first query, how many there are, and how many keys they see."""
        for first in range(0, self.queries, self.each):
            count = min(self.each, self.queries - first)
            yield first, count, min(self.keys, first + count) if self.causal else self.keys

    def by_keys(self, x: Array, others: Array, chunk: tuple[int, int, int], out: Array) -> None:
        """Rows of x times the rows of others that they see: numbers for pairs."""
        first, count, seen = chunk
        sizes = count, x.shape[2], seen
        to = out.data.ptr, seen, count * seen
        multiply(sizes, place(x, first), place(others, 0, True), to, self.kind, self.heads, to=out.dtype)  # fmt: skip

    def mixed(self, pairs: Array, rows: Array, chunk: tuple[int, int, int], out: Array) -> None:
        """Numbers for pairs times rows that their keys have, written into the queries' rows."""
        first, count, seen = chunk
        sizes, given = (count, seen, rows.shape[2]), (pairs.data.ptr, False, seen, count * seen)
        address, _, line, head = place(out, first)
        multiply(sizes, given, place(rows, 0), (address, line, head), self.kind, self.heads)

    def gathered(self, pairs: Array, rows: Array, chunk: tuple[int, int, int], out: Array) -> None:
        """What queries' rows give to the keys, by numbers for pairs, added to what others gave."""
        first, count, seen = chunk
        sizes, given = (seen, count, rows.shape[2]), (pairs.data.ptr, True, seen, count * seen)
        address, _, line, head = place(out, 0)
        multiply(
            sizes, given, place(rows, first), (address, line, head), self.kind, self.heads, True, out.dtype
        )  # fmt: skip

    def launch(self, name: str, chunk: tuple[int, int, int], *args: Any) -> None:
        """Let a block of threads compute the numbers of each query."""
        first, count, seen = chunk
        kernel = kernel_for(SHARES, name, self.kind)
        kernel(
            (self.heads * count,),
            (BLOCK,),
            (*args, self.sums, self.scale, self.causal, first, self.queries, count, seen),
        )


def place(x: Array, row: int, turned: bool = False) -> tuple[int, bool, int, int]:
    """Where the matrices of a stack are, from a row on, as a product takes them."""
    size = x.itemsize
    return x.data.ptr + row * x.strides[1], turned, x.strides[1] // size, x.strides[0] // size


def forward(
    query: Array, key: Array, value: Array, out: Array, sums: Array, scale: float, causal: bool
) -> None:
    """Fill `out` and `sums`, the largest score and the sum of shares of each query."""
    for q, k, v, o, s in stacks(query, key, value, out, sums.reshape(*query.shape[:-1], 2)):
        chunks = _Chunks(q, k, scale, causal, s)
        for chunk in chunks:
            chunks.by_keys(q, k, chunk, chunks.scores)
            chunks.launch("shares_of", chunk, chunks.scores, chunks.shares)
            chunks.mixed(chunks.shares, v, chunk, o)


def backward(
    grad: Array, given: tuple[Array, ...], sums: Array, made: tuple[Array, ...], scale: float, causal: bool
) -> None:  # fmt: skip
    """Fill `made`, the gradients of query, key and value; those of key and value are zeros before, of the type to compute in."""
    sums = sums.reshape(*given[0].shape[:-1], 2)
    for g, q, k, v, s, by_q, by_k, by_v in stacks(grad, *given, sums, *made):
        chunks = _Chunks(q, k, scale, causal, s)
        by_shares, slopes = chunks.memory(chunks.wide), chunks.memory(chunks.kind)
        for chunk in chunks:
            chunks.by_keys(q, k, chunk, chunks.scores)
            chunks.by_keys(g, v, chunk, by_shares)
            chunks.launch("slopes_of", chunk, chunks.scores, by_shares, chunks.shares, slopes)
            chunks.mixed(slopes, k, chunk, by_q)
            chunks.gathered(slopes, q, chunk, by_k)
            chunks.gathered(chunks.shares, g, chunk, by_v)
