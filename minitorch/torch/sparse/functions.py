"""Making sparse tensors, and what `torch.sparse` does with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.interface import as_numpy
from ..environment import strided
from ..ops.creation import as_tensor, empty
from ..ops.movement import wrap_dim
from ..ops.surface import only_method
from ..tensor import Array, Tensor, wrap, wrap_beside
from .coo import SparseTensor


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A sparse tensor of values at coordinates, one column of `indices` each.

    >>> import minitorch.torch as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if indices is None or values is None:
        size = indices if size is None else size
        indices, values = np.zeros((len(size), 0), np.int64), empty(0, dtype=dtype)
    content = as_tensor(values, dtype, device)
    content = content if content.ndim else content.reshape(1)
    places = _places(indices)
    shape = _checked_size(places, content, size)
    if requires_grad:
        content = content.detach().clone().requires_grad_()
    return SparseTensor(places, content, shape, bool(is_coalesced))


def _places(indices: Any) -> Array:
    given = indices._array if isinstance(indices, Tensor) else np.asarray(indices)
    places = given.astype(np.int64)
    if places.ndim == 1 and not places.size:
        places = places.reshape(0, 0)
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    return places


def _checked_size(places: Array, content: Tensor, size: Any) -> tuple[int, ...]:
    """The size that was given or that fits; RuntimeError where coordinates lie outside."""
    count = content._array.shape[0]
    if places.shape[1] != count:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: {count}"
        )
    for d, row in enumerate(places):
        if row.size and row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {d}")
    dense = content._array.shape[1:]
    if size is None:
        return (*(int(row.max(initial=-1)) + 1 for row in places), *dense)
    if len(size) != len(places) + len(dense) or tuple(size[len(places) :]) != dense:
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({len(places)}) + dense_dim ({len(dense)}), with values of "
            f"{list(content.shape)}, but got size {list(size)}"
        )
    for d, row in enumerate(places):
        if row.size and row.max() >= size[d]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {row.max()}"
            )
    return tuple(size)


@only_method
def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Any:  # fmt: skip
    """The elements that are not 0, and where they are; the last dimensions may stay dense."""
    if layout is strided and blocksize is None:
        return self
    if (layout is not None and "sparse_coo" not in str(layout)) or blocksize is not None:
        raise NotImplementedError(
            f"to_sparse: only layout torch.sparse_coo is supported, not {layout}"
        )
    if dense_dim is not None:
        sparse_dim = self.ndim - dense_dim
    count = self.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= self.ndim or (count == 0 and self.ndim):
        raise RuntimeError(
            f"to_sparse: sparse_dim {count} does not fit a tensor of shape {list(self.shape)}"
        )
    filled = np.asarray(as_numpy(self._array) != 0)
    if count < self.ndim:
        filled = filled.any(axis=tuple(range(count, self.ndim)))
    places = (
        np.array(np.nonzero(filled), np.int64).reshape(count, -1)
        if self.ndim
        else np.zeros((0, int(filled)), np.int64)
    )
    if not self.ndim:
        return SparseTensor(places, self.reshape(1)[: int(filled)], (), is_sorted=True)
    return SparseTensor(
        places, self[tuple(wrap_beside(p, self) for p in places)], self.shape, is_sorted=True
    )


@only_method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor itself: it is dense."""
    return self if dtype is None else self.to(dtype)


@only_method
def sparse_mask(self: Tensor, mask: SparseTensor) -> SparseTensor:
    """The elements at a sparse tensor's coordinates."""
    if not mask.is_sparse:
        raise NotImplementedError("sparse_mask(): the mask must be a sparse tensor")
    if tuple(self.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)}, mask {list(mask.shape)}"
        )
    return mask._with(self[tuple(wrap(p) for p in mask._places)])


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all elements, or along dimensions."""
    return input.sum(dim, dtype=dtype)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """`log_softmax` along a dimension, the elements that are not there counting as -inf."""
    ordered = input.coalesce() if dtype is None else input.to(dtype).coalesce()
    d = wrap_dim(dim, input.ndim)
    if d >= input.sparse_dim():
        return ordered._with(ordered._content.log_softmax(d - input.sparse_dim() + 1))
    others = np.delete(ordered._places, d, axis=0)
    _, group = np.unique(others, axis=1, return_inverse=True)
    group = group.reshape(-1)
    values, at = ordered._content, wrap(group)
    count = int(group.max(initial=-1)) + 1
    top = np.full((count, *values.shape[1:]), -np.inf, values._array.dtype)
    np.maximum.at(top, group, values._array)
    shifted = values - wrap(top[group])
    total = values.new_zeros(top.shape).index_add(0, at, shifted.exp())
    return ordered._with(shifted - total.log().index_select(0, at))


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """`softmax` along a dimension, the elements that are not there counting as -inf."""
    logarithms = log_softmax(input, dim, dtype=dtype)
    return logarithms._with(logarithms._content.exp())


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> SparseTensor:
    """A sparse matrix from its diagonals: column j of a diagonal stands in column j."""
    lines = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    shifts = offsets._array.reshape(-1)
    if len(shifts) != lines.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({lines.shape[0]}) does not match the number of offsets ({len(shifts)})"
        )
    which, column = np.meshgrid(np.arange(len(shifts)), np.arange(lines.shape[1]), indexing="ij")
    row = column - shifts[:, None]
    inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
    which, row, column = which[inside], row[inside], column[inside]
    return SparseTensor(np.stack([row, column]), lines[wrap(which), wrap(column)], shape)


def check_sparse_tensor_invariants(enable: bool = True) -> Callable[[], None]:
    """Coordinates are always checked here; there is nothing to turn on."""
    return lambda: None
