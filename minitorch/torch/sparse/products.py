"""Products of sparse matrices with vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.elementwise import conj
from ..ops.record import Op
from ..tensor import Array, Tensor, wrap_beside
from .coo import SparseTensor


def _spmm(
    values: Array, dense: Array, rows: Array, columns: Array, shape: tuple[int, int]
) -> Array:
    from scipy.sparse import coo_array

    if values.dtype.itemsize == 2:
        return _spmm(
            values.astype(np.float32), dense.astype(np.float32), rows, columns, shape
        ).astype(values.dtype)
    return coo_array((values, (rows, columns)), shape=shape).tocsr() @ dense


def _by_values(g: Any, dense: Any, rows: Array, columns: Array) -> Any:
    """Of each value: its row of the gradient times its row of the dense matrix."""
    return (
        g.index_select(0, wrap_beside(rows, g))
        * conj(dense).index_select(0, wrap_beside(columns, g))
    ).sum(-1)


def _by_dense(g: Any, values: Any, rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    return SPMM(conj(values), g, rows=columns, columns=rows, shape=shape[::-1])


SPMM = Op("sparse_addmm", ("values", "dense"), _spmm, {"values": _by_values, "dense": _by_dense},
          doc="A sparse matrix times a dense one.")  # fmt: skip


def matmul(input: Any, other: Any) -> Any:
    """The product of two matrices, one of them or both sparse, or of a sparse matrix and a vector."""
    if not isinstance(input, SparseTensor):
        return input @ other
    if input.ndim != 2 or input.dense_dim() or other.ndim not in (1, 2):
        raise RuntimeError(
            f"sparse matmul: expected matrices without dense dimensions, got {list(input.shape)} and {list(other.shape)}"
        )
    if input.shape[1] != other.shape[0]:
        raise RuntimeError(
            f"mm: mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and {'x'.join(map(str, other.shape))})"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"mm: expected m1 and m2 to have the same dtype, but got: {input.dtype} != {other.dtype}"
        )
    if isinstance(other, SparseTensor):
        return _sparse_product(input.coalesce(), other.coalesce())
    dense = other if other.ndim == 2 else other.unsqueeze(-1)
    rows, columns = input._coordinates
    result = SPMM(input._content, dense, rows=rows, columns=columns, shape=tuple(input.shape))
    return result if other.ndim == 2 else result.squeeze(-1)


def _sparse_product(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Each value (i, k) of the first meets the values (k, j) of the second."""
    starts = np.searchsorted(b._coordinates[0], np.arange(b.shape[0] + 1))
    inner = a._coordinates[1]
    counts = starts[inner + 1] - starts[inner]
    left = np.repeat(np.arange(a._nnz()), counts)
    ahead = np.cumsum(counts) - counts
    right = np.arange(len(left)) - np.repeat(ahead, counts) + np.repeat(starts[inner], counts)
    values = a._content.index_select(0, a._beside(left)) * b._content.index_select(
        0, b._beside(right)
    )
    places = np.stack([a._coordinates[0][left], b._coordinates[1][right]])
    return SparseTensor(places, values, (a.shape[0], b.shape[1])).coalesce()


def mm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix with a dense or sparse one."""
    return matmul(mat1, mat2)


def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, mat1 sparse."""
    product = matmul(mat1, mat2)
    return mat * beta + product * alpha
