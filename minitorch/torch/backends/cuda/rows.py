"""Softmax and layer norm on a GPU: a block of threads for each row.

What a row needs in sum (its largest number, the sum of its exponentials, its mean) goes through shared
memory. The threads hold a row of up to 8,192 numbers in registers, so that it is read from memory once
and written once, in packs of neighbours; a longer one is read as often as it is needed.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .elementwise import HEAD, TYPES
from .row_sources import COMBINE, LAYER_NORM, ROWS, SOFTMAX
from .sources import JOINS, OF_BLOCK, RAW, SUMS_OF_ROWS

BLOCK = 256
BY_KIND = {kind: names for kind, names in TYPES.items() if kind.kind != "b"}


@cache
def kernel_for(source: str, name: str, kind: Any) -> Any:
    """A kernel for a type, which reads with READ, writes with WRITE and joins what threads found with of_block."""
    memory, wide, read, write = BY_KIND[kind]
    head = f"""{HEAD}
typedef {memory} E;
typedef {wide} T;
#define READ(x) {read.format("(x)")}
#define WRITE(x) {write.format("(x)")}
{JOINS}{OF_BLOCK}"""
    return cupy.RawKernel(head + source, name).kernel


PACK = 16
"""How many bytes of neighbours a thread reads at once, where rows consist of so many."""

MOST_PACKS = 8
"""How many packs a thread holds at most."""


@cache
def _source(source: str, pack: int, packs: int) -> str:
    return f"{RAW}#define PACK {pack}\n#define PACKS {packs}\n{ROWS}{source}"


def _launch(source: str, name: str, first: Array, n: int, *args: Any) -> None:
    """Let a block of threads compute each row of n numbers."""
    aligned = all(type(x) is not cupy.ndarray or x.data.ptr % PACK == 0 for x in args)
    pack = PACK // first.itemsize if aligned else 1
    pack = 1 if n % pack else pack
    packs_of_row = -(-n // pack)
    threads = min(BLOCK, max(32, -(-packs_of_row // (4 * 32)) * 32))
    packs = 1 << (-(-packs_of_row // threads) - 1).bit_length()
    if packs > MOST_PACKS or n >= 1 << 31:
        pack, packs, threads = 1, 0, BLOCK
    kernel = kernel_for(_source(source, pack, packs), name, first.dtype)
    kernel((first.size // n,), (threads,), (*args, n))


def _rows(*arrays: Array, dim: int) -> bool:
    """Whether arrays of one type are rows along their last dimension, without gaps."""
    first = arrays[0]
    last = first.ndim and dim == first.ndim - 1
    return bool(last) and fit(*arrays) and all(x.shape == first.shape for x in arrays)


def _softmax(name: str) -> Any:
    def forward(input: Array, dim: int) -> Array | None:
        if not _rows(input, dim=dim):
            return None
        out = cupy.ndarray(input.shape, input.dtype)
        _launch(SOFTMAX, name, input, input.shape[-1], input, out)
        return out

    return forward


def _softmax_backward(name: str) -> Any:
    def backward(grad: Array, output: Array, dim: int) -> Array | None:
        if not _rows(grad, output, dim=dim):
            return None
        out = cupy.ndarray(grad.shape, grad.dtype)
        _launch(SOFTMAX, name, grad, grad.shape[-1], grad, output, out)
        return out

    return backward


def layer_norm(
    input: Array, weight: Array | None, bias: Array | None, by: tuple[int, ...], eps: float
) -> tuple[Array, Array, Array] | None:
    """The rows of an array, centred and scaled, and for each row its mean and its scale."""
    n = prod(by)
    given = [v for v in (weight, bias) if v is not None]
    if not fit(input, *given):
        return None
    wide = np.dtype(np.float64 if input.dtype == np.float64 else np.float32)
    outer = (*input.shape[: input.ndim - len(by)], *(1,) * len(by))
    out = cupy.ndarray(input.shape, input.dtype)
    means, scales = cupy.ndarray(outer, wide), cupy.ndarray(outer, wide)
    args = (input, pointer(weight), pointer(bias), out, means, scales, wide.type(eps))
    _launch(LAYER_NORM, "layer_norm", input, n, *args)
    return out, means, scales


def fit(*arrays: Array) -> bool:
    """Whether arrays are of one type and without gaps, and the first has elements."""
    kind = arrays[0].dtype
    return (
        kind in BY_KIND
        and bool(arrays[0].size)
        and all(x._c_contiguous and x.dtype == kind for x in arrays)
    )


def layer_norm_backward(
    grad: Array, input: Array, weight: Array | None, mean: Array, r: Array, by: tuple[int, ...], eps: float
) -> tuple[Array, ...] | None:  # fmt: skip
    """The gradients of a layer norm by its input, its weight and its bias."""
    n = prod(by)
    given = [v for v in (weight,) if v is not None]
    if not fit(grad, input, *given):
        return None
    out = cupy.ndarray(input.shape, input.dtype)
    args = (grad, input, pointer(weight), mean, r, out)
    _launch(LAYER_NORM, "layer_norm_backward", input, n, *args)
    rows = input.size // n
    if rows <= 1 << 14:
        sums = [cupy.ndarray(by, input.dtype) for _ in range(2)]
        args = (grad, input, mean, r, *sums, rows, n)
        kernel_for(SUMS_OF_ROWS, "layer_norm_sums", input.dtype)((-(-n // 32),), (32, 32), args)
        return out, *sums
    normal = (input.astype(mean.dtype, copy=False) - mean) * r
    outer = tuple(range(input.ndim - len(by)))
    by_weight = (grad * normal).sum(axis=outer).astype(input.dtype, copy=False)
    return out, by_weight, grad.sum(axis=outer, dtype=mean.dtype).astype(input.dtype, copy=False)


HOW = {"add": 0, "multiply": 1, "maximum": 2, "minimum": 3}


def combine(name: str, target: Array, places: Array, values: Array) -> bool:
    """`combine` of ops/scattering.py, of rows; False where there is no kernel for it, and nothing was done."""
    if name not in HOW or not (target.size and fit(target, values) and places._c_contiguous):
        return False
    if places.dtype != np.int64 or values.size != places.size:
        return False
    kernel, size = kernel_for(COMBINE, "combine", target.dtype), places.size
    if size:
        kernel((-(-size // BLOCK),), (BLOCK,), (target, places, values, np.int32(HOW[name]), size))
    return True


FORMULAS = {"combine": combine}
"""By the names of formulas."""


def pointer(array: Array | None) -> Any:
    """An array as a kernel takes it; none as the address 0."""
    return np.uintp(0) if array is None else array


KERNELS = {
    "native_layer_norm": layer_norm, "native_layer_norm_backward": layer_norm_backward, "softmax": _softmax("softmax"), "log_softmax": _softmax("log_softmax"),
    "softmax_backward": _softmax_backward("softmax_backward"),
    "log_softmax_backward": _softmax_backward("log_softmax_backward"),
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
