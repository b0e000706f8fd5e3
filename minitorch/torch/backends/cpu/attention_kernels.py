"""Kernels of attention.py: whole heads, side by side.

Operands are given by address and strides: the products of a BLAS read and write them where they
are, whatever the order of their dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....threads import numpy_on_one_thread
from ...formulas.attention import heads_beside_each_other, memory_like
from .blas import address_of_product, gemm, itemsize
from .kernels import PRODUCTS, inline, kernel, numbers_at, share, tasks_for
from .primitives import exp
from .runs import largest, product, total

Array = Any

LANES = 32
"""How many numbers a loop takes at a time."""


def takes(query: Array, key: Array, value: Array) -> bool:
    """Whether there are several heads, none of them empty, and a BLAS that kernels can call."""
    batch = query.shape[:-2]
    return (
        query.ndim <= 4
        and batch == key.shape[:-2] == value.shape[:-2]
        and query.shape[-1] == key.shape[-1]
        and key.shape[-2] == value.shape[-2]
        and query.size > query.shape[-2] * query.shape[-1]
        and min(query.size, key.size, value.size) > 0
        and address_of_product(query.dtype.type) != 0
    )


def attention(
    query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool
) -> Any:
    """The values (..., L, Ev) mixed by the attention weights (..., L, S), and these."""
    if mask is not None or scale <= 0 or not takes(query, key, value):
        return NotImplemented
    weights = np.empty((*query.shape[:-1], key.shape[-2]), query.dtype)
    out = heads_beside_each_other(weights, value)
    _run(_forward, (query, key, value, out, weights), (), scale, causal)
    return out, weights


def attention_backward(
    g: Array, query: Array, key: Array, value: Array, mask: Array | None, weights: Array,
    scale: float, causal: bool,
) -> Any:  # fmt: skip
    """The gradients of query, key and value, from that of the output and the weights."""
    if mask is not None or not takes(query, key, value):
        return NotImplemented
    made = [memory_like(x) for x in (query, key, value)]
    tasks = tasks_for(_work(query, value, weights))
    slopes = np.empty((tasks, 1, *weights.shape[-2:]), weights.dtype)
    given = query, key, value, g, np.ascontiguousarray(weights)
    _run(_backward, given, (*made, slopes), scale, causal)
    return tuple(made)


def _run(
    kernel: Any, given: tuple[Array, ...], made: tuple[Array, ...], scale: float, causal: bool
) -> None:
    """Run a kernel on operands in the order of the table."""
    query, key, value, _, weights = heads = [_heads(x) for x in given]
    heads = [*heads, *(x[(None,) * (4 - x.ndim)] for x in made)]
    table = np.array([(x.ctypes.data, *x.strides[:3]) for x in heads])
    sizes = (*query.shape[:3], key.shape[2], key.shape[3], value.shape[3], int(causal))
    blas = address_of_product(query.dtype.type)
    with numpy_on_one_thread():
        kernel(_work(query, value, weights), np.array([scale], query.dtype), blas, table, sizes)


def _work(query: Array, value: Array, weights: Array) -> int:
    return weights.size * (query.shape[-1] + value.shape[-1]) // PRODUCTS


def _heads(x: Array) -> Array:
    """x as (batch, heads, rows, width), the numbers of a row next to each other."""
    size = x.itemsize
    if (x.strides[-1] != size and x.shape[-1] > 1) or x.strides[-2] < x.shape[-1] * size:
        x = np.ascontiguousarray(x)
    return x[(None,) * (4 - x.ndim)]


# --- Rows -------------------------------------------------------------------------------------------


def _exponentials(x: Array, top: Any, scale: Any) -> None:
    """Let x be exp(scale (x - top))."""
    for j in range(len(x)):
        x[j] = exp((x[j] - top) * scale)


def _softmax_row(row: Array, n: int, scale: Any) -> None:
    """Let the first n scores be attention weights, and the others 0."""
    # A loop's rest runs without vector instructions: some keys too many are taken, not -inf,
    # whose exponentials are slow; then they are forgotten.
    _exponentials(row[: (n + LANES - 1) // LANES * LANES], largest(row[:n]), scale)
    for j in range(n, len(row)):
        row[j] = 0.0
    part = 1.0 / total(row)
    for j in range(len(row)):
        row[j] *= part


def _softmax_row_backward(row: Array, weights: Array, scale: Any) -> None:
    """Let gradients of attention weights be those of scores."""
    mean = product(row, weights)
    for j in range(len(row)):
        row[j] = (row[j] - mean) * weights[j] * scale


# --- Heads ------------------------------------------------------------------------------------------
# Operands are rows of a table: address, and the bytes from a batch, a head and a row to the next.


@inline
def _head(table: Array, operand: int, b: int, h: int, transposed: bool) -> Any:
    """A head of an operand as `gemm` takes it."""
    address = table[operand, 0] + b * table[operand, 1] + h * table[operand, 2]
    return address, table[operand, 3] // itemsize, transposed


@inline
def _row(table: Array, operand: int, b: int, h: int, i: int, keys: int) -> Any:
    """A row of weights."""
    address = table[operand, 0] + b * table[operand, 1] + h * table[operand, 2]
    return numbers_at(address + i * table[operand, 3], keys)


QUERY, KEY, VALUE, OUT, WEIGHTS, BY_QUERY, BY_KEY, BY_VALUE, SLOPES = range(9)
"""The operands in the table: OUT is the result or its gradient, SLOPES the gradients of scores."""


@kernel
def _forward(task: int, tasks: int, scale: Array, blas: int, table: Array, sizes: Array) -> None:
    batch, heads, length, keys, width, deep, causal = sizes
    first, last = share(task, tasks, batch * heads)
    for unit in range(first, last):
        b, h = unit // heads, unit % heads
        weights, out = _head(table, WEIGHTS, b, h, False), _head(table, OUT, b, h, False)
        query, key = _head(table, QUERY, b, h, False), _head(table, KEY, b, h, True)
        gemm(blas, (length, keys, width), query, key, weights, False)
        for i in range(length):
            n = min(i + 1, keys) if causal else keys
            _softmax_row(_row(table, WEIGHTS, b, h, i, keys), n, scale[0])
        gemm(blas, (length, deep, keys), weights, _head(table, VALUE, b, h, False), out, False)


@kernel
def _backward(task: int, tasks: int, scale: Array, blas: int, table: Array, sizes: Array) -> None:
    batch, heads, length, keys, width, deep, _ = sizes
    first, last = share(task, tasks, batch * heads)
    slopes = _head(table, SLOPES, task, 0, False)
    transposed = _head(table, SLOPES, task, 0, True)
    for unit in range(first, last):
        b, h = unit // heads, unit % heads
        g, weights = _head(table, OUT, b, h, False), _head(table, WEIGHTS, b, h, True)
        gemm(blas, (length, keys, deep), g, _head(table, VALUE, b, h, True), slopes, False)
        gemm(blas, (keys, deep, length), weights, g, _head(table, BY_VALUE, b, h, False), False)
        for i in range(length):
            given = _row(table, WEIGHTS, b, h, i, keys)
            _softmax_row_backward(_row(table, SLOPES, task, 0, i, keys), given, scale[0])
        query, key = _head(table, QUERY, b, h, False), _head(table, KEY, b, h, False)
        gemm(blas, (length, width, keys), slopes, key, _head(table, BY_QUERY, b, h, False), False)
        gemm(
            blas, (keys, width, length), transposed, query, _head(table, BY_KEY, b, h, False), False
        )
