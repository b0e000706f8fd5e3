"""What `torch.sparse` does with sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.interface import as_numpy
from ..ops.movement import wrap_dim
from ..tensor import Tensor, wrap_beside
from .coo import SparseTensor


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all elements, or along dimensions."""
    return input.sum(dim, dtype=dtype)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """`log_softmax` along a dimension, the elements that are not there counting as -inf."""
    ordered = input.coalesce() if dtype is None else input.to(dtype).coalesce()
    d = wrap_dim(dim, input.ndim)
    if d >= input.sparse_dim():
        return ordered._with(ordered._content.log_softmax(d - input.sparse_dim() + 1))
    others = np.delete(ordered._coordinates, d, axis=0)
    _, group = np.unique(others, axis=1, return_inverse=True)
    group = group.reshape(-1)
    values, at = ordered._content, ordered._beside(group)
    count = int(group.max(initial=-1)) + 1
    top = np.full((count, *values.shape[1:]), -np.inf, values._array.dtype)
    np.maximum.at(top, group, as_numpy(values._array))
    shifted = values - wrap_beside(top[group], values)
    total = values.new_zeros(top.shape).index_add(0, at, shifted.exp())
    return ordered._with(shifted - total.log().index_select(0, at))


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """`softmax` along a dimension, the elements that are not there counting as -inf."""
    logarithms = log_softmax(input, dim, dtype=dtype)
    return logarithms._with(logarithms._content.exp())


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> SparseTensor:
    """A sparse matrix from its diagonals: column j of a diagonal stands in column j."""
    lines = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    shifts = as_numpy(offsets._array).reshape(-1)
    if len(shifts) != lines.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({lines.shape[0]}) does not match the number of offsets ({len(shifts)})"
        )
    which, column = np.meshgrid(np.arange(len(shifts)), np.arange(lines.shape[1]), indexing="ij")
    row = column - shifts[:, None]
    inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
    which, row, column = which[inside], row[inside], column[inside]
    return SparseTensor(
        np.stack([row, column]), lines[wrap_beside(which, lines), wrap_beside(column, lines)], shape
    )


def embedding_gradient(
    gradient: Tensor, indices: Tensor, rows: int, padding_idx: int | None
) -> SparseTensor:
    """The gradient of a table of which rows were used: one for each time that one was."""
    used = as_numpy(indices._array).astype(np.int64).reshape(-1)
    values = gradient.reshape(len(used), *gradient.shape[indices.ndim :])
    if padding_idx is not None:
        kept = np.flatnonzero(used != padding_idx)
        used, values = used[kept], values[wrap_beside(kept, values)]
    return SparseTensor(used[None], values, (rows, *values.shape[1:]))


def check_sparse_tensor_invariants(enable: bool = True) -> Callable[[], None]:
    """Coordinates are always checked here; there is nothing to turn on."""
    return lambda: None
