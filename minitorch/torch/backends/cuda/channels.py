"""Batch norm on a GPU: a block of threads for each channel, which takes its numbers from all samples."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]

from ..interface import Array
from .channel_sources import PARTS, RUNNING, SOURCE
from .typed_kernels import WIDE, fit, kernel_for, pointer, scratch

BLOCK = 512
PART = 256
"""How many threads share a part of a channel."""


@lru_cache(maxsize=512)
def _sizes(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """How many channels there are, how many numbers of one a sample has, and how many all samples have."""
    samples, channels, *places = shape
    return channels, prod(places), samples * prod(places)


def _parts(channels: int, rest: int, n: int) -> int:
    """How many blocks share the numbers of a channel: as many as keep a GPU busy, each with enough to do."""
    if channels * n >= 1 << 31:
        return 1
    return max(1, min(64, n // 1024, 1024 // channels))


@lru_cache(maxsize=512)
def _shared(sizes: tuple[int, int, int]) -> tuple[int, tuple[int, ...]]:
    """How many parts a channel has; if several, the sizes, and how many numbers each part has."""
    count = _parts(*sizes)
    if count == 1:
        return 1, ()
    return count, (*sizes, -(-sizes[2] // count))


def batch_norm(
    input: Array, weight: Array | None, bias: Array | None, by: None, eps: float
) -> tuple[Array, ...] | None:
    """Each channel centred and scaled; its mean, its scale and its variance."""
    if input.ndim < 2 or not fit(input, *(v for v in (weight, bias) if v is not None)):
        return None
    kind, shape = input.dtype, input.shape
    wide, sizes = WIDE[kind], _sizes(shape)
    out, vector = cupy.ndarray(shape, kind), sizes[:1]
    facts = cupy.ndarray(vector, wide), cupy.ndarray(vector, wide), cupy.ndarray(vector, wide)
    given = pointer(weight), pointer(bias), out, *facts
    count, shared = _shared(sizes)
    if count == 1:
        args = (input, *given, *sizes, eps)
        kernel_for(SOURCE, "batch_norm", kind)(vector, (BLOCK,), args)
        return out, *facts
    parts = scratch((sizes[0], count, 2), wide)
    grid = (count, sizes[0])
    kernel_for(PARTS, "batch_norm_parts", kind)(grid, (PART,), (input, parts.ptr, *shared))
    args = (input, parts.ptr, *given, *shared, eps)
    kernel_for(PARTS, "batch_norm_of_parts", kind)(grid, (PART,), args)
    return out, *facts


def batch_norm_backward(
    grad: Array, input: Array, weight: Array | None, mean: Array, r: Array, by: None, eps: float
) -> tuple[Array, ...] | None:
    """The gradients of a batch norm by its input, its weight and its bias."""
    if input.ndim < 2 or not fit(grad, input, *(v for v in (weight,) if v is not None)):
        return None
    kind, wide, shape = input.dtype, mean.dtype, input.shape
    sizes = _sizes(shape)
    out, vector = cupy.ndarray(shape, kind), sizes[:1]
    sums = cupy.ndarray(vector, wide), cupy.ndarray(vector, wide)
    count, shared = _shared(sizes)
    if count == 1:
        args = (grad, input, pointer(weight), mean, r, out, *sums, *sizes)
        kernel_for(SOURCE, "batch_norm_backward", kind)(vector, (BLOCK,), args)
    else:
        parts = scratch((sizes[0], count, 2), wide)
        grid = (count, sizes[0])
        args = (grad, input, mean, r, parts.ptr, *shared)
        kernel_for(PARTS, "batch_norm_backward_parts", kind)(grid, (PART,), args)
        args = (grad, input, pointer(weight), mean, r, parts.ptr, out, *sums, *shared)
        kernel_for(PARTS, "batch_norm_backward_of_parts", kind)(grid, (PART,), args)
    if wide == kind:
        return out, *sums
    return out, *(v.astype(kind) for v in sums)


def move_running(
    means: Array, variances: Array, mean: Array, variance: Array, unbiased: float, momentum: float
) -> bool:  # fmt: skip
    """`move_running` of formulas/norms.py; False where there is no kernel for it, and nothing was done."""
    if mean.dtype.char not in "fd" or not fit(mean, variance, means, variances):
        return False
    n = mean.size
    args = means, variances, mean, variance, unbiased, momentum, n
    kernel_for(RUNNING, "move_running", mean.dtype)((-(-n // BLOCK),), (BLOCK,), args)
    return True


FORMULAS = {"move_running": move_running}
"""By the names of formulas."""

KERNELS: dict[str, Any] = {
    "native_batch_norm": batch_norm, "native_batch_norm_backward": batch_norm_backward,
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
