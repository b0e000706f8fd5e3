"""Sparse matrices by rows or columns: `sparse_csr`, `sparse_csc`, and of blocks `sparse_bsr`, `sparse_bsc`.

They keep coordinates like any sparse tensor, those of blocks where there are blocks, in the order of rows
(or columns). Where each row starts, the compressed form, is counted when it is asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import environment
from ..backends.interface import as_numpy
from ..ops.creation import as_tensor
from ..printing import sparse_text
from ..serialization.rebuild import rebuild_sparse_tensor
from ..tensor import Array, Tensor, wrap, wrap_beside
from .coo import SparseTensor

BY_ROWS = (environment.sparse_csr, environment.sparse_bsr)
BLOCKS = (environment.sparse_bsr, environment.sparse_bsc)
_TITLES = {"sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc"}  # fmt: skip


class CompressedTensor(SparseTensor):
    """A sparse matrix in the order of its rows or columns, or of rows or columns of blocks.

    Attributes:
        layout: which of the four
        _coordinates: (2, count) coordinates of values, or of blocks
        _content: (count,) values, or (count, height, width) blocks
    """

    is_sparse = False  # as Torch has it: that means coordinates

    def __init__(self, places: Array, content: Tensor, shape: Any, layout: Any) -> None:
        super().__init__(places, content, shape, is_sorted=True)
        self.layout = layout

    @property
    def is_sparse_csr(self) -> bool:
        """Whether it is kept by rows."""
        return self.layout is environment.sparse_csr

    def _with(self, content: Tensor) -> CompressedTensor:
        return CompressedTensor(self._coordinates, content, self._shape, self.layout)

    def _ordered(self) -> CompressedTensor:
        return self

    def _blocksize(self) -> tuple[int, ...] | None:
        return tuple(self._content.shape[1:]) if self.layout in BLOCKS else None

    def dense_dim(self) -> int:
        """How many dimensions each value has: none, a block's own aside."""
        return 0

    # --- Its parts ----------------------------------------------------------------------------------

    def _starts(self) -> Array:
        """Where each row, or column, of values or blocks starts, and where the last one ends."""
        axis = 0 if self.layout in BY_ROWS else 1
        size = self._shape[axis] // (self._blocksize() or (1, 1))[axis]
        return np.searchsorted(self._coordinates[axis], np.arange(size + 1))

    def _part(self, name: str, by_rows: bool, compressed: bool) -> Tensor:
        if (self.layout in BY_ROWS) is not by_rows:
            raise RuntimeError(
                f"{name} expected sparse {'row' if by_rows else 'column'} compressed tensor layout but got {self._title()}"
            )
        part = self._starts() if compressed else self._coordinates[1 if by_rows else 0]
        return wrap_beside(part, self._content)

    def _title(self) -> str:
        return _TITLES[str(self.layout).removeprefix("torch.")]

    def crow_indices(self) -> Tensor:
        """Where each row starts, and where the last one ends."""
        return self._part("crow_indices", by_rows=True, compressed=True)

    def col_indices(self) -> Tensor:
        """The column of each value, or block."""
        return self._part("col_indices", by_rows=True, compressed=False)

    def ccol_indices(self) -> Tensor:
        """Where each column starts, and where the last one ends."""
        return self._part("ccol_indices", by_rows=False, compressed=True)

    def row_indices(self) -> Tensor:
        """The row of each value, or block."""
        return self._part("row_indices", by_rows=False, compressed=False)

    def values(self) -> Tensor:
        """The values, or blocks."""
        return self._content

    def _no_coordinates(self, name: str) -> RuntimeError:
        return RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {self._title()}"
        )

    def indices(self) -> Tensor:
        """Of other layouts only."""
        raise self._no_coordinates("indices")

    def coalesce(self) -> SparseTensor:
        """Of other layouts only."""
        raise self._no_coordinates("coalesce")

    def is_coalesced(self) -> bool:
        """Of other layouts only."""
        raise self._no_coordinates("is_coalesced")

    def __repr__(self) -> str:
        names = ("crow", "col") if self.layout in BY_ROWS else ("ccol", "row")
        plain = self._coordinates[1 if self.layout in BY_ROWS else 0]
        node = self.grad_fn
        return sparse_text(
            {f"{names[0]}_indices": self._starts(), f"{names[1]}_indices": plain, "values": as_numpy(self._content._array)},
            self._shape, str(self.layout), requires_grad=self.requires_grad,
            grad_fn_name=None if node is None else node.name(),
        )  # fmt: skip

    def __reduce_ex__(self, protocol: Any) -> Any:
        plain = self._coordinates[1 if self.layout in BY_ROWS else 0]
        parts = (wrap(self._starts()), wrap(plain), self._content.detach(), self._shape)
        return rebuild_sparse_tensor, (self.layout, parts)

    # --- By way of coordinates -------------------------------------------------------------------------

    def to_sparse_coo(self) -> SparseTensor:
        """By coordinates; of blocks, all of their elements."""
        places, content = self._coordinates, self._content
        if self.layout in BLOCKS:
            size = np.array(content.shape[1:]).reshape(2, 1, 1)
            inside = np.indices(tuple(content.shape[1:])).reshape(2, 1, -1)
            places, content = (
                (places[:, :, None] * size + inside).reshape(2, -1),
                content.reshape(-1),
            )
        return SparseTensor(places, content, self._shape, is_sorted=self.is_sparse_csr)

    def to_sparse(
        self, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
        dense_dim: int | None = None,
    ) -> SparseTensor:  # fmt: skip
        """By coordinates, or in another sparse layout."""
        if layout is self.layout and blocksize in (None, self._blocksize()):
            return self
        return self.to_sparse_coo().to_sparse(layout=layout, blocksize=blocksize)

    def _again(self, result: SparseTensor) -> SparseTensor:
        """A result in this layout."""
        return result.to_sparse(layout=self.layout, blocksize=self._blocksize())

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Rows become columns."""
        if dim0 % 2 == dim1 % 2:
            return self
        other = {
            environment.sparse_csr: environment.sparse_csc, environment.sparse_csc: environment.sparse_csr,
            environment.sparse_bsr: environment.sparse_bsc, environment.sparse_bsc: environment.sparse_bsr,
        }[self.layout]  # fmt: skip
        content = self._content.transpose(1, 2) if self.layout in BLOCKS else self._content
        return CompressedTensor(self._coordinates[::-1], content, self._shape[::-1], other)

    def add(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        return self._again(self.to_sparse_coo().add(_coo(other), alpha=alpha).coalesce())

    def mul(self, other: Any) -> SparseTensor:
        if getattr(other, "ndim", 0) == 0:
            return self._with(self._content * other)
        return self._again(self.to_sparse_coo().mul(_coo(other)).coalesce())

    def to_dense(self, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
        return self.to_sparse_coo().to_dense(dtype)

    def sum(self, dim: Any = None, *, dtype: Any = None) -> Any:
        return self.to_sparse_coo().sum(dim, dtype=dtype)

    def norm(self, p: Any = 2) -> Tensor:
        return self._content.norm(p)

    def matmul(self, other: Any) -> Any:
        result = self.to_sparse_coo().matmul(_coo(other))
        return (
            result.to_sparse(layout=environment.sparse_csr)
            if isinstance(result, SparseTensor)
            else result
        )

    def index_select(self, dim: int, index: Tensor) -> SparseTensor:
        """Some rows or columns."""
        return self._again(self.to_sparse_coo().index_select(dim, index).coalesce())

    def __getitem__(self, key: Any) -> Any:
        return self.to_sparse_coo()[key]

    __add__, __mul__, __rmul__ = add, mul, mul
    mm = mv = spmm = __matmul__ = matmul


def _coo(x: Any) -> Any:
    return x.to_sparse_coo() if isinstance(x, SparseTensor) else x


def compress(x: SparseTensor, layout: Any, blocksize: Any) -> CompressedTensor:
    """A matrix of coordinates, each there once, in one of the other layouts."""
    if x.ndim != 2 or x.dense_dim():
        raise NotImplementedError(
            f"{layout}: only matrices of numbers are supported, not shape {list(x.shape)} with {x.dense_dim()} dense dimensions"
        )
    if (layout in BLOCKS) is (blocksize is None):
        raise RuntimeError(
            f"to_sparse: {layout} conversion "
            + ("requires blocksize" if layout in BLOCKS else "does not use specified blocksize")
        )
    places, content = x._coordinates, x._content
    if layout in BLOCKS:
        places, content = _blocks(
            x, (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
        )
    if layout not in BY_ROWS:
        order = np.lexsort((places[0], places[1]))
        places, content = places[:, order], content[wrap_beside(order, content)]
    return CompressedTensor(places, content, x.shape, layout)


def _blocks(x: SparseTensor, size: tuple[int, int]) -> tuple[Array, Tensor]:
    """The blocks that hold values: their coordinates, and what is in them."""
    if any(b <= 0 for b in size) or any(n % b for n, b in zip(x.shape, size, strict=True)):
        raise RuntimeError(
            f"tensor sparse size ({', '.join(map(str, x.shape))}) must be divisible by given blocksize ({', '.join(map(str, size))})"
        )
    step = np.array(size)[:, None]
    blocks, group = np.unique(x._coordinates // step, axis=1, return_inverse=True)
    inside = (group.reshape(-1), *(x._coordinates % step))
    empty = x._content.new_zeros((blocks.shape[1], *size))
    return blocks, empty.index_put(tuple(wrap_beside(i, empty) for i in inside), x._content)


def from_parts(
    compressed: Any, plain: Any, values: Any, size: Any, layout: Any, dtype: Any, device: Any, requires_grad: bool
) -> CompressedTensor:  # fmt: skip
    """A sparse matrix of its parts, all of which are checked."""
    content = as_tensor(values, dtype=dtype, device=device)
    starts, others = (as_numpy(as_tensor(part).long()._array) for part in (compressed, plain))
    block = tuple(content.shape[1:]) if layout in BLOCKS else (1, 1)
    if starts.ndim != 1 or others.ndim != 1 or content.ndim != (3 if layout in BLOCKS else 1):
        raise NotImplementedError(f"{layout}: batches and dense dimensions are not supported")
    axis = 0 if layout in BY_ROWS else 1
    if size is None:
        sizes = [
            (len(starts) - 1) * block[axis],
            (int(others.max(initial=-1)) + 1) * block[1 - axis],
        ]
        size = sizes if axis == 0 else sizes[::-1]
    if len(size) != 2:
        raise RuntimeError(f"{layout}: a matrix has two sizes, got {list(size)}")
    _check_parts(
        starts, others, len(content), [n // b for n, b in zip(size, block, strict=True)], axis
    )
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    places = np.stack([groups, others] if axis == 0 else [others, groups])
    if requires_grad:
        content = content.detach().clone().requires_grad_()
    return CompressedTensor(places, content, size, layout)


def _check_parts(starts: Array, others: Array, count: int, sizes: list[int], axis: int) -> None:
    """RuntimeError where the parts do not make a matrix."""
    names = ("crow_indices", "col_indices") if axis == 0 else ("ccol_indices", "row_indices")
    if len(starts) != sizes[axis] + 1:
        raise RuntimeError(
            f"{names[0]}.shape[-1] must be equal to the number of {'rows' if axis == 0 else 'columns'} + 1 "
            f"({sizes[axis] + 1}), but got {len(starts)}"
        )
    if len(others) != count:
        raise RuntimeError(
            f"number of {names[1]} ({len(others)}) must be equal to the number of values ({count})"
        )
    if starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
        raise RuntimeError(
            f"`{names[0]}` must grow from 0 to the number of values, {count}; it is {starts.tolist()[:10]}"
        )
    if others.size and not (others.min() >= 0 and others.max() < sizes[1 - axis]):
        raise RuntimeError(f"`{names[1]}` must be from 0 to {sizes[1 - axis] - 1}")
    same = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    if ((np.diff(others) <= 0) & (np.diff(same) == 0)).any():
        raise RuntimeError(
            f"`{names[1]}` must be sorted and without repetition within each {'row' if axis == 0 else 'column'}"
        )
