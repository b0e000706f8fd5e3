"""Inverses, systems of equations, determinants, and the LU factors behind them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...backends.interface import as_array
from ...interpreters import composite
from ...tensor import Array, Tensor, wrap_beside
from ..comparison import where
from ..creation import ones_like
from ..elementwise import conj
from ..joining import cat
from ..precision import require_floats
from ..ranges import eye
from ..record import Op
from ..surface import FUNCTIONS, function, into, method, with_out
from .arguments import (
    check_floating,
    check_info,
    check_matrix,
    check_same_type,
    check_square,
    check_system,
    identity,
    lapack,
    offer,
    scipy_linalg,
    several,
)

# --- LU ------------------------------------------------------------------------------------


def _lu_factor(A: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the rows that were swapped (from 1), and the first zero pivot."""
    batch, (m, n) = A.shape[:-2], A.shape[-2:]
    LU = A.copy()
    pivots = np.zeros((*batch, min(m, n)), np.int32)
    info = np.zeros(batch, np.int32)
    if A.size:
        getrf = lapack("getrf", A)
        for at in np.ndindex(batch):
            LU[at], pivots[at], info[at] = getrf(A[at])
    return LU, pivots + np.int32(1), info


def _lu_gradient(g: Any, outs: Any) -> Any:
    """From the gradients of L and U, which lie in one matrix.

    For the leading k x k block, A = PLU; the columns to its right are L times those of U, the rows
    below it those of L times U, and their contributions to the block's gradient are subtracted.
    """
    LU, pivots = outs[0], outs[1].detach()
    m, n = LU._array.shape[-2:]
    k = min(m, n)
    (L, U), P = _triangles(LU), _permutation(pivots, LU._array.shape[-2], LU)
    corner_L, low, corner_U, right = L[..., :k, :], L[..., k:, :], U[..., :k], U[..., k:]
    g_corner, g_low, g_right = g[..., :k, :k], g[..., k:, :k], g[..., :k, k:]
    below = (corner_L.mH @ g_corner.tril(-1) - g_right @ right.mH).tril(-1)
    above = (g_corner.triu() @ corner_U.mH - low.mH @ g_low).triu()
    if m > n:
        rows = cat([_behind(corner_L, below + above), g_low], -2)
        return P @ _before(corner_U, rows)
    columns = cat([_before(corner_U, below + above), g_right], -1)
    return P @ _behind(corner_L, columns)


def _behind(L: Any, x: Any) -> Any:
    """L⁻ᴴ x."""
    return SOLVE_TRIANGULAR(L.mH, x, upper=True, left=True, unitriangular=True)


def _before(U: Any, x: Any) -> Any:
    """x U⁻ᴴ."""
    return SOLVE_TRIANGULAR(U.mH, x, upper=False, left=False, unitriangular=False)


LU_FACTOR = Op("linalg_lu_factor_ex", ("A",), _lu_factor, {"A": _lu_gradient}, differentiable=1)


def _order(pivots: Array, m: int) -> Array:
    """The permutation of rows that results from swapping row i with row pivots[i] - 1, for each i."""
    batch = pivots.shape[:-1]
    order = np.empty((*batch, m), np.int64)
    for at in np.ndindex(batch):
        rows = list(range(m))
        for i, p in enumerate(pivots[at].tolist()):
            rows[i], rows[p - 1] = rows[p - 1], rows[i]
        order[at] = rows
    return order


def _lu_permutation(pivots: Array, m: int, dtype: Any) -> Array:
    ordered_rows = np.eye(m, dtype=dtype)[_order(pivots, m)]
    return np.ascontiguousarray(ordered_rows.swapaxes(-2, -1))


LU_PERMUTATION = Op("lu_permutation", ("pivots",), _lu_permutation, {"pivots": None})


def _permutation(pivots: Tensor, m: int, like: Tensor) -> Tensor:
    """P of A = PLU."""
    return LU_PERMUTATION(pivots, m=m, dtype=like._array.dtype)


def _triangles(LU: Tensor) -> tuple[Tensor, Tensor]:
    """L and U, from the matrix that holds both."""
    m, n = LU._array.shape[-2:]
    k = min(m, n)
    ones = eye(m, k, dtype=LU.dtype, device=LU.device)
    return LU[..., :k].tril(-1) + ones, LU[..., :k, :].triu()


def check_pivots(name: str, pivots: Tensor, shape: tuple[int, ...], rows: int) -> None:
    """RuntimeError unless pivots are as `lu_factor` gives them: numbers of rows, from 1 on."""
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            f"{name}: pivots should be of scalar type torch.int32, got {pivots.dtype}"
        )
    check_rows(name, pivots, pivots._array, shape, rows)


def check_rows(name: str, pivots: Tensor, sizes: Array, shape: tuple[int, ...], rows: int) -> None:
    """RuntimeError unless pivots have a shape, and their sizes are numbers of rows, from 1 on."""
    if pivots._array.shape != shape:
        raise RuntimeError(
            f"{name}: expected pivots of shape {list(shape)}, one for each row that was swapped, but got "
            f"{list(pivots.shape)}"
        )
    if sizes.size and not (sizes.min() >= 1 and sizes.max() <= rows):
        raise RuntimeError(f"{name}: pivots must be between 1 and {rows} inclusive")


def _check_pivot(name: str, pivot: bool) -> None:
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


@with_out
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """L and U in one matrix, the swapped rows, and for each matrix its first zero pivot or 0."""
    check_matrix("torch.lu_factor", A)
    check_floating("torch.lu_factor_ex", A)
    _check_pivot("linalg.lu_factor", pivot)
    LU, pivots, info = LU_FACTOR(A)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", info._array, _zero_pivot)
    return several("linalg_lu_factor_ex", "LU pivots info", (LU, pivots, info))


def _zero_pivot(i: int) -> str:
    return (
        f"U[{i},{i}] is zero and using it on lu_solve would result in a division by zero. If you still "
        "want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )


@with_out
def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the swapped rows; LinAlgError where a pivot is 0."""
    check_matrix("torch.linalg.lu_factor", A)
    check_floating("torch.linalg.lu_factor", A)
    _check_pivot("linalg.lu_factor", pivot)
    LU, pivots, info = LU_FACTOR(A)
    check_info("torch.linalg.lu_factor", info._array, _zero_pivot)
    return several("linalg_lu_factor", "LU pivots", (LU, pivots))


@with_out
def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """P, L and U with A = PLU."""
    check_matrix("linalg.lu", A)
    check_floating("linalg.lu", A)
    _check_pivot("linalg.lu", pivot)
    LU, pivots, _ = LU_FACTOR(A)
    P = _permutation(pivots, LU._array.shape[-2], LU)
    return several("linalg_lu", "P L U", (P, *_triangles(LU)))


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: Any = None,
) -> Any:
    """P, L and U from what `lu_factor` returns."""
    check_matrix("torch.lu_unpack", LU_data, "LU_data")
    P = LU_data.new_empty((0,))
    L, U = _triangles(LU_data) if unpack_data else (LU_data.reshape(-1)[:0].clone(),) * 2
    if unpack_pivots:
        *batch, m, n = LU_data._array.shape
        check_pivots("torch.lu_unpack", LU_pivots, (*batch, min(m, n)), m)
        P = _permutation(LU_pivots, m, LU_data)
    parts = (P, L, U)
    result = several("lu_unpack", "P L U", parts)
    return result if out is None else into(out, result, "lu_unpack")


@with_out
@composite
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """X of AX = B (or XA = B), given what `lu_factor` returned for A."""
    name = "linalg.lu_solve"
    check_system(name, LU, B, left)
    check_pivots(name, pivots, LU._array.shape[:-1], LU._array.shape[-1])
    if not left:
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    (L, U), P = _triangles(LU), _permutation(pivots, LU._array.shape[-1], LU)
    if adjoint:
        inner = solve_triangular(U.mH, B, upper=False)
        return P @ solve_triangular(L.mH, inner, upper=True, unitriangular=True)
    inner = solve_triangular(L, P.mT @ B, upper=False, unitriangular=True)
    return solve_triangular(U, inner, upper=True)


def _lu_of(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """L and U in one matrix and the swapped rows, as `torch.lu` gives them."""
    if not isinstance(pivot, bool):
        raise TypeError(f"lu(): argument 'pivot' must be bool, not {type(pivot).__name__}")
    check_matrix("lu", A)
    _check_pivot("lu", pivot)
    half = A._array.size and A.dtype.itemsize == 2
    require_floats("lu_cpu", A._array, "" if half else "fcV")
    return tuple(LU_FACTOR(A)[: 3 if get_infos else 2])


def _legacy_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U in one matrix, and the pivots, written to `out` if it is given."""
    result = _lu_of(A, pivot, get_infos)
    return result if out is None else into(out, result, "lu")


@partial(composite, name="lu_solve")
def _legacy_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """X of AX = b, given what `lu` returned for A."""
    return lu_solve(LU_data, LU_pivots, b, out=out)


# --- Triangular systems ----------------------------------------------------------------------


def triangular_solution(
    A: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """X of AX = B (or XA = B), where A is triangular, for each matrix of a batch."""
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    A, B = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (A, B))
    X = B.copy()
    if X.size:
        trsm: Any = scipy_linalg().get_blas_funcs("trsm", (A, B))
        for at in np.ndindex(batch):
            X[at] = trsm(1.0, A[at], B[at], side=not left, lower=not upper, diag=unitriangular)
    return X


def _triangular_by_A(g: Any, A: Any, out: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    at_B = _triangular_by_B(g, A, upper, left, unitriangular)
    whole = -(at_B @ out.mH) if left else -(out.mH @ at_B)
    return whole.triu(int(unitriangular)) if upper else whole.tril(-int(unitriangular))


def _triangular_by_B(g: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return SOLVE_TRIANGULAR(A.mH, g, upper=not upper, left=left, unitriangular=unitriangular)


SOLVE_TRIANGULAR = Op("linalg_solve_triangular", ("A", "B"), triangular_solution,
                      {"A": _triangular_by_A, "B": _triangular_by_B})  # fmt: skip


@with_out
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X of AX = B (or XA = B), where A is triangular; its other half is not read."""
    check_system("linalg.solve_triangular", A, B, left)
    return SOLVE_TRIANGULAR(A, B, upper=upper, left=left, unitriangular=unitriangular)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:  # fmt: skip
    """X of AX = b, where A is triangular, and a copy of A."""
    check_system("triangular_solve", A, b)
    M, side = (A.mT, not upper) if transpose else (A, upper)
    X = SOLVE_TRIANGULAR(M, b, upper=side, left=True, unitriangular=unitriangular)
    both = X, A.expand(*X.shape[:-2], *A.shape[-2:]).clone()
    result = several("triangular_solve", "solution cloned_coefficient", both)
    return result if out is None else into(out, result, "triangular_solve")


# --- Systems and inverses ----------------------------------------------------------------------


def _regular(A: Array) -> tuple[Array, Array]:
    """The matrices, with the identity in place of singular ones, and their first zero pivots or 0."""
    *_, info = _lu_factor(A)
    info[(info == 0) & (np.linalg.slogdet(A)[0] == 0)] = A.shape[-1]  # LAPACK rounds otherwise
    return np.where((info == 0)[..., None, None], A, np.eye(A.shape[-1], dtype=A.dtype)), info


@np.errstate(all="ignore")
def _solve(A: Array, B: Array) -> tuple[Array, Array]:
    """The solutions, and for each matrix its first zero pivot or 0."""
    try:
        return np.linalg.solve(A, B), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        regular, info = _regular(A)
        X = np.linalg.solve(regular, B)
        return np.where((info == 0)[..., None, None], X, X.dtype.type(np.nan)), info


@np.errstate(all="ignore")
def _inv(A: Array) -> tuple[Array, Array]:
    try:
        return np.linalg.inv(A), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        regular, info = _regular(A)
        return np.linalg.inv(regular), info


SOLVE = Op("linalg_solve_ex", ("A", "B"), _solve,
           {"A": lambda g, A, outs: -(_solution(A.mH, g) @ outs[0].mH), "B": lambda g, A: _solution(A.mH, g)},
           differentiable=1)  # fmt: skip
INV = Op("linalg_inv_ex", ("A",), _inv, {"A": lambda g, outs: -(outs[0].mH @ g @ outs[0].mH)},
         differentiable=1)  # fmt: skip


def _solution(A: Tensor, B: Tensor) -> Tensor:
    return SOLVE(A, B)[0]


def _vector_side(A: Tensor, B: Tensor) -> bool:
    """Whether B is a batch of vectors, one for each matrix."""
    a, b = A._array.shape, B._array.shape
    return len(b) == 1 or (len(a) - 1 == len(b) and a[:-1] == b)


def _solve_any(name: str, A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]:
    check_square(name, A)
    check_same_type(name, A, B)
    vector = _vector_side(A, B)
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False"
        )
    columns = B.unsqueeze(-1) if vector else B
    check_system(name, A, columns, left)
    X, info = SOLVE(A, columns) if left else SOLVE(A.mT, columns.mT)
    X = X if left else X.mT
    return X.squeeze(-1) if vector else X, info


def _singular(i: int) -> str:
    return "The solver failed because the input matrix is singular."


@with_out
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """X of AX = B (or XA = B), and for each matrix its first zero pivot or 0."""
    X, info = _solve_any("linalg.solve", A, B, left)
    if check_errors:
        check_info("linalg.solve_ex", info._array, _singular)
    return several("linalg_solve_ex", "result info", (X, info))


@with_out
def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X of AX = B (or XA = B); LinAlgError if A is singular."""
    X, info = _solve_any("linalg.solve", A, B, left)
    check_info("linalg.solve", info._array, _singular)
    return X


def _not_invertible(i: int) -> str:
    return (
        f"The diagonal element {i} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    )


@with_out
def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverse, and for each matrix its first zero pivot or 0."""
    check_square("linalg.inv", A)
    inverse, info = INV(A)
    if check_errors:
        check_info("linalg.inv_ex", info._array, _not_invertible)
    return several("linalg_inv_ex", "inverse info", (inverse, info))


@with_out
@composite
def inv(A: Tensor) -> Tensor:
    """The inverse; LinAlgError if A is singular."""
    check_square("linalg.inv", A)
    inverse, info = INV(A)
    check_info("linalg.inv", info._array, _not_invertible)
    return inverse


# --- Determinants -------------------------------------------------------------------------------


def _det_gradient(g: Any, A: Any, out: Any) -> Any:
    """The cofactors: det(A) A⁻ᴴ, or where A is singular, from its singular values."""
    if A._array.shape[-1] == 1:
        return g[..., None, None]
    singular = out.detach().abs() < 100 * dtypes.finfo(A.dtype).eps
    if not singular._array.any():
        return _regular_cofactors(g, A, out)
    n = A._array.shape[-1]
    mask = singular[..., None, None]
    regular = _regular_cofactors(g, where(mask, identity(n, A), A), out)
    spread = wrap_beside(
        np.diag(np.arange(1.0, n + 1)).astype(A._array.dtype), A
    )  # distinct singular values
    return where(mask, _singular_cofactors(g, where(mask, A, spread)), regular)


def _regular_cofactors(g: Any, A: Any, out: Any) -> Any:
    scale = (g * conj(out))[..., None, None]
    return _solution(A.mH, scale * identity(A._array.shape[-1], A))


def _singular_cofactors(g: Any, A: Any) -> Any:
    from .spectra import svd

    U, S, Vh = svd(A, full_matrices=False)
    turn = conj(det(U) * det(Vh)) * g
    ones = ones_like(S[..., :1])
    before = cat([ones, S[..., :-1]], -1).cumprod(-1)
    after = cat([ones, S.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    return (U * (turn[..., None] * (before * after))[..., None, :]) @ Vh


def _slogdet_gradient(g: Any, A: Any, outs: Any) -> Any:
    turn, size = g
    if A.dtype.is_complex:
        size = size - (conj(turn) * outs[0]).imag * 1j
    return _solution(A.mH, size[..., None, None] * identity(A._array.shape[-1], A))


def _slogdet(A: Array) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        sign, size = np.linalg.slogdet(A)
    real = np.empty(0, A.dtype).real.dtype
    return as_array(sign).astype(A.dtype, copy=False), as_array(size).astype(real, copy=False)


def _det(A: Array) -> Array:
    with np.errstate(all="ignore"):
        return as_array(np.linalg.det(A)).astype(A.dtype, copy=False)


DET = Op("linalg_det", ("A",), _det, {"A": _det_gradient})
SLOGDET = Op("linalg_slogdet", ("A",), _slogdet, {"A": _slogdet_gradient})


@with_out
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices."""
    check_square("linalg.det", A)
    return DET(A)


@with_out
def slogdet(A: Tensor) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value."""
    check_square("linalg.slogdet", A)
    return several("linalg_slogdet", "sign logabsdet", SLOGDET(A))


def logdet(A: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    check_square("logdet", A)
    sign, size = SLOGDET(A)
    if A.dtype.is_complex:
        return sign.log() + size
    return size.masked_fill(sign == -1, np.nan)


for _name, _fn in [
    ("det", det), ("slogdet", slogdet), ("logdet", logdet), ("inverse", inv),
    ("lu_solve", _legacy_lu_solve), ("triangular_solve", triangular_solve),
]:  # fmt: skip
    offer(_name, _fn)
FUNCTIONS["lu"] = _legacy_lu
method("lu", _lu_of)
function(lu_unpack)
