"""Public functions of a dense tensor and a sparse one, in this order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..tensor import Tensor, wrap_beside

if TYPE_CHECKING:
    from .coo import SparseTensor


def _add(dense: Tensor, other: SparseTensor, *, alpha: Any = 1) -> Tensor:
    return dense.add(other.to_dense(), alpha=alpha)


def _sub(dense: Tensor, other: SparseTensor, *, alpha: Any = 1) -> Tensor:
    return dense.sub(other.to_dense(), alpha=alpha)


def _add_(dense: Tensor, other: SparseTensor, *, alpha: Any = 1) -> Tensor:
    """Add values where they belong, and touch nothing else."""
    other._same_shape("add_", dense)
    if other.dtype is not dense.dtype:
        return dense.add_(other.to_dense(), alpha=alpha)
    coo = other.to_sparse_coo()
    values = coo._content if alpha == 1 else coo._content * alpha
    return dense.index_put_(tuple(wrap_beside(p, dense) for p in coo._coordinates), values, True)


def _addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return mat * beta + (mat1 @ mat2) * alpha


def _sparse_mask(dense: Tensor, mask: SparseTensor) -> SparseTensor:
    mask._same_shape("sparse_mask", dense)
    return mask._with(dense[tuple(wrap_beside(p, dense) for p in mask._coordinates)])


def _matmul(dense: Tensor, other: SparseTensor) -> Tensor:
    return other.__rmatmul__(dense)


BESIDE_DENSE: dict[str, Callable[..., Any]] = {
    "add": _add, "__add__": _add, "__radd__": _add, "sub": _sub, "__sub__": _sub,
    "add_": _add_, "__iadd__": _add_, "_add_in_place": _add_,
    "sub_": lambda dense, other, *, alpha=1: _add_(dense, other, alpha=-alpha),
    "mul": lambda dense, other: other.mul(dense), "__mul__": lambda dense, other: other.mul(dense),
    "matmul": _matmul, "__matmul__": _matmul, "mm": _matmul, "addmm": _addmm,
    "spmm": _matmul, "dsmm": _matmul, "sparse_mask": _sparse_mask,
    "is_same_size": lambda dense, other: tuple(dense.shape) == tuple(other.shape),
}  # fmt: skip
"""Public functions of a dense tensor and a sparse one, by name."""
