"""Cholesky and QR: matrices as products of triangular and orthogonal ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...interpreters import composite
from ...tensor import Array, Tensor
from ..joining import cat
from ..memory import fill
from ..precision import is_half, require_floats
from ..ranges import eye
from ..record import Op
from ..surface import into, with_out
from .arguments import (
    check_floating,
    check_info,
    check_matrix,
    check_square,
    check_system,
    lapack,
    offer,
    several,
)
from .solving import SOLVE_TRIANGULAR, triangular_solution

# --- Cholesky --------------------------------------------------------------------------------


@np.errstate(all="ignore")
def _cholesky(A: Array, upper: bool) -> tuple[Array, Array]:
    """The factor, and for each matrix the order of the first minor that is not positive, or 0."""
    try:
        return np.linalg.cholesky(A, upper=upper), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        L, info = np.array(A), np.zeros(A.shape[:-2], np.int32)
        potrf = lapack("potrf", A)
        for at in np.ndindex(A.shape[:-2]):
            L[at], info[at] = potrf(A[at], lower=not upper)
        return L, info


def _cholesky_gradient(g: Any, outs: Any, upper: bool) -> Any:
    L = outs[0].mH if upper else outs[0]
    inner = L.mH @ (g.mH if upper else g)
    inner = (inner.tril() + inner.tril(-1).mH) / 2
    half = SOLVE_TRIANGULAR(L.mH, inner, upper=True, left=True, unitriangular=False)
    return SOLVE_TRIANGULAR(L, half, upper=False, left=False, unitriangular=False)


CHOLESKY = Op("linalg_cholesky_ex", ("A",), _cholesky, {"A": _cholesky_gradient}, differentiable=1)


def _not_positive(order: int) -> str:
    return (
        "The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {order} is not positive-definite)."
    )


@with_out
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """L with A = L Lᴴ, and for each matrix the first minor that is not positive, or 0."""
    check_square("linalg.cholesky", A)
    L, info = CHOLESKY(A, upper=upper)
    if check_errors:
        check_info("linalg.cholesky_ex", info._array, _not_positive)
    return several("linalg_cholesky_ex", "L info", (L, info))


@with_out
@composite
def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """L with A = L Lᴴ (or U with A = Uᴴ U); LinAlgError if A is not positive definite."""
    check_square("linalg.cholesky", A)
    L, info = CHOLESKY(A, upper=upper)
    check_info("linalg.cholesky", info._array, _not_positive)
    return L


@partial(composite, name="cholesky")
def _legacy_cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """L with A = L Lᴴ (or U with A = Uᴴ U)."""
    made = cholesky(input, upper=upper) if input._array.size else input.clone()
    return made if out is None else into(out, made, "cholesky", casts=True)


def _cholesky_solve(B: Array, L: Array, upper: bool) -> Array:
    lower = L.conj().swapaxes(-2, -1) if upper else L
    inner = triangular_solution(lower, B, upper=False)
    return triangular_solution(lower.conj().swapaxes(-2, -1), inner, upper=True)


def _cholesky_solve_by_L(g: Any, L: Any, out: Any, upper: bool) -> Any:
    half = CHOLESKY_SOLVE(g, L, upper=upper) @ out.mH
    whole = half + half.mH
    return -(L @ whole) if upper else -(whole @ L)


def _cholesky_inverse_gradient(g: Any, L: Any, out: Any, upper: bool) -> Any:
    whole = out @ (g + g.mH) @ out
    return -(L @ whole) if upper else -(whole @ L)


CHOLESKY_SOLVE = Op("cholesky_solve", ("B", "L"), _cholesky_solve,
                    {"B": lambda g, L, upper: CHOLESKY_SOLVE(g, L, upper=upper), "L": _cholesky_solve_by_L})  # fmt: skip
CHOLESKY_INVERSE = Op("cholesky_inverse", ("L",),
                      lambda L, upper: _cholesky_solve(np.eye(L.shape[-1], dtype=L.dtype), L, upper),
                      {"L": _cholesky_inverse_gradient})  # fmt: skip


@with_out
@composite
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X of AX = B, given the Cholesky factor of A."""
    for label, x in (("b", B), ("u", L)):
        if x.ndim < 2:
            raise RuntimeError(
                f"{label} should have at least 2 dimensions, but has {x.ndim} dimensions instead"
            )
    check_system("cholesky_solve", L, B)
    return CHOLESKY_SOLVE(B, L, upper=upper)


@with_out
@composite
def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of A, given the Cholesky factor of A."""
    check_square("cholesky_inverse", L)
    zero = np.diagonal(L._array, axis1=-2, axis2=-1) == 0
    if zero.any():
        check_info(
            "cholesky_inverse", np.where(zero.any(-1), zero.argmax(-1) + 1, 0),
            lambda i: f"The diagonal element {i} is zero, the inversion could not be completed because the "
            "input matrix is singular.",
        )  # fmt: skip
    return CHOLESKY_INVERSE(L, upper=upper)


# --- QR ----------------------------------------------------------------------------------------

_MODES = ("reduced", "complete", "r")


@np.errstate(all="ignore")
def _qr(A: Array, mode: str) -> tuple[Array, Array]:
    if mode == "r":
        return np.empty(0, A.dtype), np.linalg.qr(A, mode="r")
    Q, R = np.linalg.qr(A, mode="reduced" if mode == "reduced" else "complete")  # type: ignore[arg-type]
    return Q, R


def _qr_gradient(g: Any, outs: Any, mode: str) -> Any:
    (gQ, gR), (Q, R) = g, outs
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    m, n = Q._array.shape[-2], R._array.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if m >= n:
        return _tall_qr_gradient(gQ, gR, Q, R)
    # R's last columns are Qᴴ times those of A.
    right, g_right = R[..., m:], gR[..., m:]
    square = _tall_qr_gradient(gQ + Q @ right @ g_right.mH, gR[..., :m], Q, R[..., :m])
    return cat([square, Q @ g_right], -1)


def _tall_qr_gradient(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    inner = (gR @ R.mH - Q.mH @ gQ).triu()
    symmetric = inner + inner.mH - inner.diagonal(0, -2, -1).real.diag_embed()
    return SOLVE_TRIANGULAR(R.mH, gQ + Q @ symmetric, upper=False, left=False, unitriangular=False)


QR = Op("linalg_qr", ("A",), _qr, {"A": _qr_gradient})


@with_out
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q and R with A = QR, Q's columns orthonormal and R upper triangular."""
    check_matrix("linalg.qr", A)
    check_floating("linalg.qr", A)
    if mode not in _MODES:
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return several("linalg_qr", "Q R", QR(A, mode=mode))


def _legacy_qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """Q and R with A = QR."""
    result = several("qr", "Q R", qr(input, "reduced" if some else "complete"))
    return result if out is None else into(out, result, "qr")


def _geqrf(input: Array) -> tuple[Array, Array]:
    """R above the diagonal, the reflectors of Q below, and their scales."""
    batch, (m, n) = input.shape[:-2], input.shape[-2:]
    factors, scales = np.array(input), np.zeros((*batch, min(m, n)), input.dtype)
    if input.size:
        geqrf = lapack("geqrf", input)
        for at in np.ndindex(batch):
            factors[at], scales[at], _, _ = geqrf(input[at])
    return factors, scales


GEQRF = Op("geqrf", ("input",), _geqrf, {"input": None})


def _require_wide(name: str, input: Tensor) -> None:
    """NotImplementedError for dtypes without a LAPACK routine: integers and half precision."""
    require_floats(name, input._array, "" if is_half(input._array) else "fc")


def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """R above the diagonal, the reflectors of Q below it, and their scales."""
    check_matrix("torch.geqrf", input)
    _require_wide("geqrf_cpu", input)
    result = several("geqrf", "a tau", GEQRF(input))
    return result if out is None else into(out, result, "geqrf")


def _reflect(x: Tensor, v: Tensor, scale: Tensor) -> Tensor:
    """(I - scale v vᴴ) x."""
    v = v[..., None]
    return x - scale[..., None, None] * (v @ (v.mH @ x))


def _reflectors(A: Tensor) -> Tensor:
    """The vectors below the diagonal, with 1 on it."""
    return A.tril(-1) + eye(*A._array.shape[-2:], dtype=A.dtype, device=A.device)


@with_out
@composite
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of a product of reflections I - tau v vᴴ."""
    name = "torch.linalg.householder_product"
    _check_reflections(name, A, tau)
    _require_wide("orgqr_cpu", A)
    m, n = A._array.shape[-2:]
    if m < n:
        raise RuntimeError(
            f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1], got {list(A.shape)}"
        )
    vectors = _reflectors(A)
    product = eye(m, n, dtype=A.dtype, device=A.device).expand(A._array.shape)
    for i in reversed(range(tau._array.shape[-1])):
        product = _reflect(product, vectors[..., i], tau[..., i])
    return product if tau._array.shape[-1] else product + fill(A, 0) + tau.sum()


def _check_reflections(name: str, A: Tensor, tau: Tensor) -> None:
    check_matrix(name, A)
    if A.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {A.dtype}")
    if tau.ndim != A.ndim - 1 or tau._array.shape[:-1] != A._array.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input and its batch, got shapes "
            f"{list(tau.shape)} and {list(A.shape)}"
        )
    if tau._array.shape[-1] > A._array.shape[-1]:
        raise RuntimeError(
            f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1], got "
            f"{list(A.shape)} and {list(tau.shape)}"
        )


@with_out
@composite
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """A product of reflections times a matrix, or a matrix times it."""
    _check_reflections("torch.ormqr", input, tau)
    check_matrix("torch.ormqr", other, "other")
    if other.dtype is not input.dtype:
        raise RuntimeError(
            f"torch.ormqr: Expected input and other to have the same dtype, but input has {input.dtype} "
            f"and other has {other.dtype}"
        )
    _require_wide("ormqr_cpu", input)
    side = -2 if left else -1
    if other._array.shape[side] != input._array.shape[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2], got {list(other.shape)} "
            f"and {list(input.shape)}"
        )
    least = min(other._array.shape[side], input._array.shape[-1])
    if tau._array.shape[-1] != least:
        raise RuntimeError(
            f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1]), {least}, "
            f"got {list(tau.shape)}"
        )
    if not left:  # other Q = (Qᴴ otherᴴ)ᴴ
        return ormqr(input, tau, other.mH, transpose=not transpose).mH
    vectors, scales = _reflectors(input), tau.conj() if transpose else tau
    order = range(tau._array.shape[-1])
    if not order:
        return other.clone()
    for i in order if transpose else reversed(order):
        other = _reflect(other, vectors[..., i], scales[..., i])
    return other


for _name, _fn in [
    ("cholesky", _legacy_cholesky), ("cholesky_solve", cholesky_solve), ("cholesky_inverse", cholesky_inverse),
    ("qr", _legacy_qr), ("geqrf", geqrf), ("orgqr", householder_product), ("ormqr", ormqr),
]:  # fmt: skip
    offer(_name, _fn)
