"""Singular values and eigenvalues, with their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Array, Tensor, tracks
from ..record import Op
from ..surface import into, with_out
from .arguments import (
    LinAlgError,
    absent,
    check_floating,
    check_matrix,
    check_square,
    identity,
    offer,
    several,
)
from .solving import SOLVE

# --- Singular values ------------------------------------------------------------------------------


@np.errstate(all="ignore")
def _finite_svd(A: Array, **options: Any) -> Any:
    """NumPy's decomposition with infinities as NaN, which is an error: on infinities it may never end."""
    if np.isnan(A).any():
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    infinite = np.isinf(A).any((-2, -1))
    if not infinite.any():
        return np.linalg.svd(A, **options)
    found = np.linalg.svd(np.where(infinite[..., None, None], A.dtype.type(0), A), **options)
    for part in found if isinstance(found, tuple) else (found,):
        part[infinite] = np.nan
    return found


def _svd(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    try:
        U, S, Vh = _finite_svd(A, full_matrices=full_matrices)
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix is ill-conditioned or "
            "has too many repeated singular values, or contains values that are not finite."
        ) from None
    return U, S, Vh


def _skew(x: Any) -> Any:
    return x - x.mH


def _gaps(values: Any) -> Any:
    """values[k] - values[j] at (j, k), and 1 on the diagonal."""
    return values[..., None, :] - values[..., None] + identity(values._array.shape[-1], values)


def _svd_gradient(g: Any, outs: Any) -> Any:
    gU, gS, gVh = g
    U, S, Vh = outs
    k = S._array.shape[-1]
    U, gU, Vh, gVh = U[..., :k], gU[..., :k], Vh[..., :k, :], gVh[..., :k, :]
    inner = gS.diag_embed()
    if absent(gU) and absent(gVh):
        return (U * gS[..., None, :].to(U.dtype)) @ Vh
    at_U, at_V = _skew(U.mH @ gU), _skew(Vh @ gVh.mH)
    if U.dtype.is_complex:
        _check_phase("svd_backward", "singular vectors", at_U + at_V)
        inner = inner + (at_U.diagonal(0, -2, -1) / (2 * S)).diag_embed()
    inner = inner + (at_U * S[..., None, :] + S[..., None] * at_V) / _gaps(S * S)
    whole = U @ inner @ Vh
    if U._array.shape[-2] > k:
        scaled = gU / S[..., None, :]
        whole = whole + (scaled - U @ (U.mH @ scaled)) @ Vh
    if Vh._array.shape[-1] > k:
        scaled = gVh / S[..., None]
        whole = whole + U @ (scaled - (scaled @ Vh.mH) @ Vh)
    return whole


def _check_phase(name: str, what: str, inner: Any) -> None:
    """RuntimeError if the gradient depends on the arbitrary phases of the vectors."""
    turn = np.abs(np.imag(np.diagonal(inner._array, 0, -2, -1)))
    if turn.size and turn.max() > 1e-2:
        raise RuntimeError(
            f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this phase term, making it ill-defined."
        )


SVD = Op("linalg_svd", ("A",), _svd, {"A": _svd_gradient})


@with_out
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vᴴ with A = U diag(S) Vᴴ, the singular values S in descending order."""
    check_matrix("linalg.svd", A)
    check_floating("linalg.svd", A)
    _check_driver(driver, A)
    return several("linalg_svd", "U S Vh", SVD(A, full_matrices=full_matrices))


def _check_driver(driver: str | None, A: Tensor) -> None:
    if driver is not None and A._array.size:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@with_out
def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, in descending order."""
    check_matrix("linalg.svdvals", A)
    check_floating("linalg.svdvals", A)
    _check_driver(driver, A)
    if tracks(A):
        return SVD(A, full_matrices=False)[1]
    return SVDVALS(A)


SVDVALS = Op("linalg_svdvals", ("A",), lambda A: _finite_svd(A, compute_uv=False), {"A": None})


def _legacy_svd(
    input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None
) -> Any:
    """U, S and V with A = U diag(S) Vᴴ."""
    check_matrix("torch.svd", input)
    if compute_uv:
        U, S, Vh = svd(input, full_matrices=not some)
        V = Vh.mH
    else:
        (m, n), S = input._array.shape[-2:], svdvals(input)
        U, V = (input.new_zeros((*input.shape[:-2], size, size)) for size in (m, n))
    result = several("svd", "U S V", (U, S, V))
    return result if out is None else into(out, result, "svd")


# --- Eigenvalues -------------------------------------------------------------------------------------


@np.errstate(all="ignore")
def _eig(A: Array) -> tuple[Array, Array]:
    if not np.isfinite(A).all():
        raise LinAlgError(
            "linalg.eig: The algorithm failed to converge because the input contains infinities or NaN."
        )
    L, V = np.linalg.eig(A)
    kind = np.result_type(A.dtype, np.complex64)
    return L.astype(kind, copy=False), V.astype(kind, copy=False)


@np.errstate(all="ignore")
def _eigh(A: Array, UPLO: str) -> tuple[Array, Array]:
    try:
        L, V = np.linalg.eigh(A, UPLO)  # type: ignore[arg-type]
    except np.linalg.LinAlgError:
        raise LinAlgError(
            "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned "
            "or has too many repeated eigenvalues."
        ) from None
    return L, V


def _eig_gradient(g: Any, outs: Any) -> Any:
    """V⁻ᴴ ((Vᴴ gV - VᴴV diag(Re Vᴴ gV)) / gaps + diag(gL)) Vᴴ."""
    (gL, gV), (L, V) = g, outs
    if absent(gV):
        return SOLVE(V.mH, gL[..., None] * V.mH)[0]
    inner = V.mH @ gV
    _check_phase("linalg_eig_backward", "eigenvectors", inner)
    length = inner.diagonal(0, -2, -1).real
    inner = (inner - V.mH @ (V * length[..., None, :])) / _gaps(L).conj()
    inner = inner - inner.diagonal(0, -2, -1).diag_embed() + gL.diag_embed()
    return SOLVE(V.mH, inner @ V.mH)[0]


def _eigh_gradient(g: Any, outs: Any) -> Any:
    """V (skew(Vᴴ gV) / gaps + diag(gL)) Vᴴ."""
    (gL, gV), (L, V) = g, outs
    if absent(gV):
        return (V * gL[..., None, :]) @ V.mH
    inner = V.mH @ gV
    if V.dtype.is_complex:
        _check_phase("linalg_eigh_backward", "eigenvectors", inner)
    return V @ (_skew(inner) / (2 * _gaps(L)) + gL.diag_embed()) @ V.mH


EIG = Op("linalg_eig", ("A",), _eig, {"A": _eig_gradient})
EIGH = Op("linalg_eigh", ("A",), _eigh, {"A": _eigh_gradient})
EIGVALS = Op(
    "linalg_eigvals",
    ("A",),
    np.errstate(all="ignore")(
        lambda A: np.linalg.eigvals(A).astype(np.result_type(A.dtype, np.complex64))
    ),
    {"A": None},
)
EIGVALSH = Op(
    "linalg_eigvalsh",
    ("A",),
    np.errstate(all="ignore")(lambda A, UPLO: np.linalg.eigvalsh(A, UPLO)),
    {"A": None},
)


@with_out
def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors, complex, in no particular order."""
    check_square("linalg.eig", A)
    return several("linalg_eig", "eigenvalues eigenvectors", EIG(A))


@with_out
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues, complex, in no particular order."""
    check_square("linalg.eigvals", A)
    return EIG(A)[0] if tracks(A) else EIGVALS(A)


def _triangle(UPLO: str) -> str:
    side = UPLO.upper()
    if side not in ("U", "L"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return side


@with_out
def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors of a Hermitian matrix; only one triangle is read."""
    check_square("linalg.eigh", A)
    return several("linalg_eigh", "eigenvalues eigenvectors", EIGH(A, UPLO=_triangle(UPLO)))


@with_out
def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues (ascending) of a Hermitian matrix."""
    check_square("linalg.eigvalsh", A)
    return (EIGH(A, UPLO=_triangle(UPLO))[0]) if tracks(A) else EIGVALSH(A, UPLO=_triangle(UPLO))


offer("svd", _legacy_svd)
