"""Constructors of sparse tensors, and the sparse methods of dense ones.

The classes of sparse tensors are imported at the first use: see `sparse/coo.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import environment
from ..backends.interface import as_numpy
from ..tensor import Array, Tensor, wrap_beside
from .creation import as_tensor, empty
from .surface import function, method, only_method

# --- Making them --------------------------------------------------------------------------------


@function
def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:  # fmt: skip
    """A sparse tensor of values at coordinates, one column of `indices` each.

    >>> import minitorch.torch as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if indices is None or values is None:
        size = indices if size is None else size
        indices, values = np.zeros((len(size), 0), np.int64), empty(0, dtype=dtype)
    content = as_tensor(values, dtype=dtype, device=device)
    content = content if content.ndim else content.reshape(1)
    places = _places(indices)
    shape = _checked_size(places, content, size)
    if requires_grad:
        content = content.detach().clone().requires_grad_()
    from ..sparse.coo import SparseTensor

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
    """The given size, or the smallest that fits; RuntimeError if coordinates are out of range."""
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
        return (*(int(row.max()) + 1 if row.size else 0 for row in places), *dense)
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


@function
def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:  # fmt: skip
    """A sparse matrix, compressed by rows or columns, or by rows or columns of blocks.

    Args:
        compressed_indices: the start of each row (or column) in `values`, and the end of the last one
        plain_indices: the column (or row) of each value, or block
        values: the values, or blocks
        size: of the matrix; None: the smallest that holds them
        dtype: of the values; None: theirs
        layout: `torch.sparse_csr`, `sparse_csc`, `sparse_bsr` or `sparse_bsc`
        device: of the values; None: theirs
        pin_memory: has no effect
        requires_grad: whether operations on the values are recorded
        check_invariants: has no effect: the parts are always checked
    """
    from ..sparse.compressed import from_parts

    if layout is None:
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got None"
        )
    parts = (compressed_indices, plain_indices, values)
    return from_parts(*parts, size, layout, dtype, device, requires_grad)


@function
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> Any:
    """A sparse matrix, compressed by rows.

    >>> import minitorch.torch as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0]).to_dense()
    tensor([[0., 0., 3.],
            [4., 5., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, layout=environment.sparse_csr, **options
    )


@function
def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> Any:
    """A sparse matrix, compressed by columns."""
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, layout=environment.sparse_csc, **options
    )


@function
def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> Any:
    """A sparse matrix, compressed by rows of blocks."""
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, layout=environment.sparse_bsr, **options
    )


@function
def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> Any:
    """A sparse matrix, compressed by columns of blocks."""
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, layout=environment.sparse_bsc, **options
    )


# --- From dense tensors and back ------------------------------------------------------------------


@only_method
def to_sparse(
    self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None, dense_dim: int | None = None
) -> Any:  # fmt: skip
    """A sparse tensor of the nonzero elements; the last dimensions may stay dense."""
    from ..sparse.coo import SparseTensor

    _check_blocksize(blocksize, layout)
    if layout is environment.strided:
        return self
    if layout is not None and layout is not environment.sparse_coo:
        return self.to_sparse().to_sparse(layout=layout, blocksize=blocksize)
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


def _check_dense_dim(kind: str, x: Tensor, dense_dim: int | None) -> None:
    """RuntimeError for dense dimensions of a matrix, which has none."""
    room = max(x.ndim - 2, 0)
    if dense_dim is not None and not 0 <= dense_dim <= room:
        raise RuntimeError(
            f"dense_to_sparse_{kind}: dense_dim argument must be in [0,{room}] range, but {dense_dim} is given"
        )


def _check_blocksize(blocksize: Any, layout: Any) -> None:
    """RuntimeError for a block size that is invalid, or given for a layout without blocks."""
    if blocksize is None:
        return
    sizes = [blocksize] * 2 if isinstance(blocksize, int) else list(blocksize)
    if len(sizes) != 2:
        raise RuntimeError(
            f"dense_to_sparse: blocksize needs to be a tuple of size 2, but got {len(sizes)}"
        )
    if min(sizes) <= 0:
        raise RuntimeError(f"dense_to_sparse: blocksize needs to be positive, but got {sizes}")
    if layout not in (environment.sparse_bsr, environment.sparse_bsc):
        raise RuntimeError(
            "dense_to_sparse: conversion from Strided to Sparse with blocksize argument given is not supported"
        )


@only_method
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor itself: it is dense."""
    return self if dtype is None else self.to(dtype)


@only_method
def sparse_mask(self: Tensor, mask: Any) -> Any:
    """The elements at a sparse mask's coordinates, by the mask's class; RuntimeError for a dense mask."""
    raise NotImplementedError("sparse_mask(): the mask must be a sparse tensor")


# --- Of dense tensors -----------------------------------------------------------------------------------


def _only_sparse(name: str, layout: str) -> None:
    """Declare a method that raises an error for dense tensors."""

    def call(self: Tensor) -> Any:
        raise RuntimeError(f"{name} expected sparse {layout}tensor layout but got Strided")

    call.__name__, call.__doc__ = name, "For sparse tensors only; an error for a dense one."
    method(name, call)


for _name, _layout in {
    "coalesce": "coordinate ", "indices": "coordinate ", "is_coalesced": "coordinate ", "values": "",
    "crow_indices": "row compressed ", "col_indices": "row compressed ",
    "ccol_indices": "column compressed ", "row_indices": "column compressed ",
}.items():  # fmt: skip
    _only_sparse(_name, _layout)


@only_method
def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions: 0."""
    return 0


@only_method
def dense_dim(self: Tensor) -> int:
    """The number of dense dimensions: all."""
    return self._array.ndim


@only_method
def to_sparse_coo(self: Tensor) -> Any:
    """A sparse tensor of the nonzero elements."""
    return self.to_sparse()


@only_method
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Any:
    """The nonzero elements as a matrix compressed by rows."""
    _check_dense_dim("csr", self, dense_dim)
    return self.to_sparse(layout=environment.sparse_csr)


@only_method
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Any:
    """The nonzero elements as a matrix compressed by columns."""
    _check_dense_dim("csc", self, dense_dim)
    return self.to_sparse(layout=environment.sparse_csc)


@only_method
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Any:
    """The nonzero blocks as a matrix compressed by rows of blocks."""
    _check_dense_dim("bsr", self, dense_dim)
    return self.to_sparse(layout=environment.sparse_bsr, blocksize=blocksize)


@only_method
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Any:
    """The nonzero blocks as a matrix compressed by columns of blocks."""
    _check_dense_dim("bsc", self, dense_dim)
    return self.to_sparse(layout=environment.sparse_bsc, blocksize=blocksize)


@function
def smm(input: Any, mat2: Tensor) -> Any:
    """The sparse product of a sparse and a dense matrix, by the sparse class; RuntimeError for a dense first one."""
    raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")


@function
def spmm(input: Any, mat2: Any) -> Any:
    """The product of two matrices, the first sparse."""
    return input @ mat2
