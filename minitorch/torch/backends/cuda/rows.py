"""Softmax and layer norm on a GPU: some threads for each row, part of a warp for short rows, a block for long ones.

What a row needs in sum (its largest number, the sum of its exponentials, its mean) goes from lane to lane, and in a block through shared
memory. The threads hold a row of up to 16,384 numbers (of two bytes: 32,768) in registers, so that it is read from memory once
and written once, in packs of neighbours; a longer one is read as often as it is needed.
"""

from __future__ import annotations

from functools import cache, lru_cache
from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .reduction_sources import SUMS_OF_ROWS
from .reductions import FEW, reduce_one
from .row_sources import COMBINE, LAYER_NORM, ROWS, SOFTMAX
from .sources import RAW
from .typed_kernels import WIDE, fit, kernel_for, pointer

BLOCK = 256


PACK = 16
"""How many contiguous bytes a thread reads at once, where the length of rows is a multiple of it."""

MOST_PACKS = 8
"""How many packs a thread holds at most."""

MOST_THREADS = 512
"""How many threads share a row at most."""


@cache
def _source(source: str, pack: int, packs: int, exact: bool) -> str:
    return f"{RAW}#define PACK {pack}\n#define PACKS {packs}\n#define EXACT {int(exact)}\n{ROWS}{source}"


@lru_cache(maxsize=256)
def _plan(n: int, itemsize: int, aligned: bool) -> tuple[int, int, int, int]:
    """For rows of n numbers: how many neighbours make a pack, packs of a thread, threads of a row, rows of a block."""
    pack = PACK // itemsize if aligned else 1
    pack = 1 if n % pack else pack
    packs_of_row = -(-n // pack)
    threads = -(-packs_of_row // (32 * 4)) * 32
    if threads == 32:
        threads = min(32, 1 << (-(-packs_of_row // 4) - 1).bit_length())
    threads = min(threads, MOST_THREADS)
    packs = 1 << (-(-packs_of_row // threads) - 1).bit_length()
    if packs > MOST_PACKS or n >= 1 << 31:
        return 1, 0, BLOCK, 1
    return pack, packs, threads, 128 // threads if threads <= 32 else 1


@lru_cache(maxsize=512)
def _prepared(source: str, name: str, n: int, kind: Any, aligned: bool) -> tuple[Any, int, int]:
    """A kernel for rows of n numbers, how many threads a row has, and how many rows a block."""
    pack, packs, x, y = _plan(n, kind.itemsize, aligned)
    return kernel_for(_source(source, pack, packs, kind.itemsize > 2), name, kind), x, y


def _launch(source: str, name: str, first: Array, n: int, *args: Any) -> None:
    """Let threads compute each row of n numbers."""
    aligned = True
    for a in args:
        if type(a) is cupy.ndarray and a.data.ptr % PACK:
            aligned = False
    kernel, x, y = _prepared(source, name, n, first.dtype, aligned)
    rows = first.size // n
    kernel((-(-rows // y),), (x, y), (*args, n, rows))


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
    kind, shape = input.dtype, input.shape
    wide, outer = WIDE[kind], (*shape[: len(shape) - len(by)], *(1,) * len(by))
    out = cupy.ndarray(shape, kind)
    means, scales = cupy.ndarray(outer, wide), cupy.ndarray(outer, wide)
    args = (input, pointer(weight), pointer(bias), out, means, scales, eps)
    _launch(LAYER_NORM, "layer_norm", input, n, *args)
    return out, means, scales


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
    return out, *_sums(grad, input, mean, r, n, by)


def _sums(grad: Array, input: Array, mean: Array, r: Array, n: int, by: tuple[int, ...]) -> list[Array]:  # fmt: skip
    """The gradients of a layer norm by its weight and its bias: first of parts of all rows, if there are many."""
    rows, columns = input.size // n, 32 if n >= 1 << 12 else 8
    blocks = -(-n // columns)
    parts = 1 if input.size < FEW else max(1, min(rows // 256, -(-512 // blocks), 65535))
    each = -(-rows // parts)
    sums = [cupy.ndarray((parts, *by) if parts > 1 else by, mean.dtype) for _ in range(2)]
    args = (grad, input, mean, r, *sums, rows, n, each)
    kernel_for(SUMS_OF_ROWS, "layer_norm_sums", input.dtype)(
        (blocks, parts), (columns, 1024 // columns), args
    )
    if parts == 1 and mean.dtype == input.dtype:
        return sums
    made = [cupy.ndarray(by, input.dtype) for _ in sums]
    for total, out in zip(sums, made, strict=True):
        reduce_one(total, out, "sum", (1, parts, n), 1.0)
    return made


HOW = {"add": 0, "multiply": 1, "maximum": 2, "minimum": 3}


def combine(name: str, target: Array, places: Array, values: Array) -> bool:
    """`combine` of ops/scattering.py, of rows; False where there is no kernel for it, and nothing was done."""
    if name not in HOW or not (target.size and fit(target, values) and places._c_contiguous):
        return False
    if places.dtype != np.int64 or values.size != places.size:
        return False
    kernel, size = kernel_for(COMBINE, "combine", target.dtype), places.size
    if size:
        kernel((-(-size // BLOCK),), (BLOCK,), (target, places, values, HOW[name], size))
    return True


ADDED = frozenset(np.dtype(kind) for kind in "ilILfdqQ")
"""In which types CuPy adds at indices; in half precision it would read two numbers at once, also beyond the last."""


def add_at(target: Array, at: Any, values: Array) -> None:
    """`add_at` of formulas/indexing.py; numbers of other types are added as their parts, or in a wider type."""
    kind = target.dtype
    if kind.kind == "c":
        add_at(target.real, at, values.real)
        add_at(target.imag, at, values.imag)
    elif kind in ADDED:
        cupy.add.at(target, at, values)
    else:
        wide = WIDE[kind] if kind in WIDE else np.dtype(np.int64)
        sums = target.astype(wide)
        cupy.add.at(sums, at, values.astype(wide))
        target[...] = sums.astype(kind)


FORMULAS = {"combine": combine, "add_at": add_at}
"""By the names of formulas."""


KERNELS = {
    "native_layer_norm": layer_norm, "native_layer_norm_backward": layer_norm_backward, "softmax": _softmax("softmax"), "log_softmax": _softmax("log_softmax"),
    "softmax_backward": _softmax_backward("softmax_backward"),
    "log_softmax_backward": _softmax_backward("log_softmax_backward"),
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
