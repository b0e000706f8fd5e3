"""The factorization A = L D Lᴴ of symmetric matrices that need not be positive definite."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Array, Tensor
from ..record import Op
from ..surface import with_out
from .arguments import check_info, check_matrix, check_same_type, check_square, lapack, several
from .solving import check_rows


def _ldl_factor(A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    LD, pivots, info = (
        np.array(A),
        np.zeros(A.shape[:-1], np.int32),
        np.zeros(A.shape[:-2], np.int32),
    )
    if A.size:
        trf = lapack("hetrf" if hermitian and A.dtype.kind == "c" else "sytrf", A)
        for at in np.ndindex(A.shape[:-2]):
            LD[at], pivots[at], info[at] = trf(A[at], lower=True)
    return np.tril(LD), pivots, info


LDL_FACTOR = Op("linalg_ldl_factor_ex", ("A",), _ldl_factor, {"A": None})


@with_out
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """L and D with A = L D Lᴴ in one matrix, the pivots, and for each matrix whether it failed."""
    check_square("torch.linalg.ldl_factor_ex", A)
    LD, pivots, info = LDL_FACTOR(A, hermitian=hermitian)
    if check_errors:
        check_info(
            "torch.linalg.ldl_factor_ex", info._array, lambda i: f"the factor D[{i},{i}] is zero."
        )
    return several("linalg_ldl_factor_ex", "LD pivots info", (LD, pivots, info))


@with_out
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """L and D with A = L D Lᴴ in one matrix, and the pivots."""
    LD, pivots, _ = ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return several("linalg_ldl_factor", "LD pivots", (LD, pivots))


def _ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    LD, B = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (LD, B))
    pivots = np.broadcast_to(pivots, batch + pivots.shape[-1:])
    X = np.array(B)
    if X.size:
        trs = lapack("hetrs" if hermitian and LD.dtype.kind == "c" else "sytrs", LD)
        for at in np.ndindex(batch):
            X[at] = trs(LD[at], pivots[at], B[at], lower=True)[0]
    return X


LDL_SOLVE = Op(
    "linalg_ldl_solve", ("LD", "pivots", "B"), _ldl_solve, {"LD": None, "pivots": None, "B": None}
)


def _check_pairs(pivots: Array) -> None:
    """RuntimeError unless negative pivots come in pairs, for blocks of two rows: LAPACK would write past the last row."""
    waiting = np.zeros(pivots.shape[:-1], bool, like=pivots)
    for negative in np.moveaxis(pivots < 0, -1, 0):
        alone = waiting & ~negative
        waiting = negative & ~waiting
        if alone.any():
            break
    else:
        alone = waiting
    if alone.any():
        raise RuntimeError("torch.linalg.ldl_solve: negative pivots must come in pairs")


@with_out
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X of AX = B, given what `ldl_factor` returned for A."""
    check_square("torch.linalg.ldl_solve", LD)
    check_matrix("torch.linalg.ldl_solve", B, "B")
    check_same_type("torch.linalg.ldl_solve", LD, B)
    if B._array.shape[-2] != LD._array.shape[-1]:
        raise RuntimeError(
            "Incompatible matrix sizes for torch.linalg.ldl_solve: LD and B are "
            f"{list(LD.shape)} and {list(B.shape)}"
        )
    if pivots.dtype.kind != dtypes.INTEGRAL:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.dtype}"
        )
    sizes = np.abs(pivots._array.astype(np.int64))
    check_rows("torch.linalg.ldl_solve", pivots, sizes, LD._array.shape[:-1], LD._array.shape[-1])
    _check_pairs(pivots._array)
    return LDL_SOLVE(LD, pivots, B, hermitian=hermitian)
