"""Cross entropy on a GPU, a block of threads for each row of scores; and rows of tables."""

from __future__ import annotations

from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from .checks import check, note
from .sources import CROSS_ENTROPY, EMBEDDING
from .typed_kernels import fit, kernel_for, pointer

BLOCK = 256


def _are_places(x: Array) -> bool:
    return x.dtype == np.int64 and x._c_contiguous


def _fits(input: Array, target: Array, weight: Array | None) -> bool:
    given = () if weight is None else (weight,)
    whole = input.ndim == 2 and target.ndim == 1 and fit(input, *given)
    return whole and input.dtype.char in "fd" and _are_places(target)


def _threads(columns: int) -> int:
    """How many threads share a row."""
    return min(BLOCK, -(-columns // 32) * 32)


def cross_entropy(
    input: Array, target: Array, weight: Array | None, reduction: str, ignore_index: int, smoothing: float
) -> tuple[Array, Array, Array] | None:  # fmt: skip
    """The loss of rows of scores, what backward needs of each row, and what the losses were divided by."""
    if not _fits(input, target, weight):
        return None
    (rows, n), kind = input.shape, input.dtype
    each, sums, shares = (cupy.ndarray(s, kind) for s in ((rows,), (rows, 2), (rows,)))
    args = (
        input, target, pointer(weight), each, sums, shares, note("Target {} is out of bounds."),
        n, ignore_index, smoothing,
    )  # fmt: skip
    kernel_for(CROSS_ENTROPY, "cross_entropy", kind)((rows,), (_threads(n),), args)
    out, count = cupy.ndarray((), kind), cupy.ndarray((), kind)
    totals = each, shares, out, count, rows, reduction == "mean"
    kernel_for(CROSS_ENTROPY, "reduced", kind)((1,), (BLOCK,), totals)
    check()
    return each if reduction == "none" else out, sums, count


def cross_entropy_backward(
    grad: Array, input: Array, target: Array, weight: Array | None, sums: Array, count: Array,
    ignore_index: int, smoothing: float,
) -> Array | None:  # fmt: skip
    """The gradient by the scores."""
    if not _fits(input, target, weight) or grad.dtype != input.dtype or not grad._c_contiguous:
        return None
    (rows, n), kind = input.shape, input.dtype
    out = cupy.ndarray(input.shape, kind)
    args = (
        grad, input, target, pointer(weight), sums, count, out, n, ignore_index, smoothing, not grad.ndim,
    )  # fmt: skip
    kernel_for(CROSS_ENTROPY, "cross_entropy_backward", kind)((rows,), (_threads(n),), args)
    return out


def embedding(
    weight: Array, indices: Array, padding_idx: int | None = None, by_frequency: bool = False, sparse: bool = False
) -> Array | None:  # fmt: skip
    """Rows of a table."""
    if not fit(weight) or not _are_places(indices) or not indices.size:
        return None
    rows, columns = weight.shape
    out = cupy.ndarray((*indices.shape, columns), weight.dtype)
    args = weight, indices, out, note("index out of range in self"), rows, columns, out.size
    kernel_for(EMBEDDING, "embedding", weight.dtype)((-(-out.size // BLOCK),), (BLOCK,), args)
    check()
    return out


def embedding_backward(
    grad: Array, indices: Array, rows: int, padding_idx: int | None, by_frequency: bool
) -> Array | None:
    """The gradient by the table: each row's gradients added up."""
    grad, kind = cupy.ascontiguousarray(grad), grad.dtype
    if by_frequency or kind.char not in "fd" or not fit(grad) or not _are_places(indices):
        return None
    columns = grad.shape[-1]
    out = cupy.zeros((rows, columns), kind)
    padding = -1 if padding_idx is None else padding_idx
    args = grad, indices, out, padding, rows, columns, grad.size
    kernel_for(EMBEDDING, "embedding_backward", kind)((-(-grad.size // BLOCK),), (BLOCK,), args)
    return out


KERNELS: dict[str, Any] = {
    "cross_entropy_loss": cross_entropy, "cross_entropy_loss_backward": cross_entropy_backward,
    "embedding": embedding, "embedding_backward": embedding_backward,
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""
