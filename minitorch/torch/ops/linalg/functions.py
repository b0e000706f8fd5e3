"""Functions of whole matrices: powers, exponentials, pseudo-inverses, least squares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...interpreters import composite
from ...tensor import Array, Tensor, tracks
from ..creation import empty, zeros_like
from ..elementwise import conj
from ..joining import cat
from ..memory import fill
from ..movement import wrap_dim
from ..precision import kind_name, require_floats
from ..products import multi_dot as product_of_all
from ..promotion import broadcast_shapes, plain_integer
from ..random import randn
from ..record import Op
from ..surface import FUNCTIONS, check_tensor, function, function_and_method, into, with_out
from .arguments import (
    check_floating,
    check_matrix,
    check_same_type,
    check_square,
    identity,
    offer,
    several,
)
from .factorizations import qr
from .norms import _threshold, matrix_rank
from .solving import inv, solve
from .spectra import eigh, svd, svdvals

# --- Powers and exponentials -------------------------------------------------------------------


def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """A multiplied with itself n times; its inverse where n is negative."""
    result = _matrix_power(A, n)
    copied = n & (n - 1) == 0 and n != 2 if n >= 0 else n < -2 and -n & (-n - 1) == 0
    return result if out is None else into(out, result, "matrix_power", A, casts=copied)


def _matrix_power(A: Tensor, n: int) -> Tensor:
    """A multiplied with itself n times; its inverse where n is negative."""
    check_matrix("linalg.matrix_power", A)
    n = plain_integer(n, "linalg_matrix_power", "n")
    rows, columns = A._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if n == 0:
        return identity(rows, A) + fill(A, 0)
    base, n = (inv(A), -n) if n < 0 else (A.clone(), n)
    while n % 2 == 0:  # square, then square and multiply
        base, n = base @ base, n // 2
    result = base
    while n := n // 2:
        base = base @ base
        result = base @ result if n % 2 else result
    return result


def _matrix_exp(A: Array) -> Array:
    """exp(A / 2ˢ) as a polynomial, squared s times, each matrix by its own s."""
    if not A.size:
        return A.copy()
    if A.itemsize == 2:
        return _matrix_exp(A.astype(np.float32)).astype(A.dtype)
    size = np.add.reduce(np.abs(A), axis=-2).max(axis=-1)
    halvings = np.where(np.isfinite(size), np.ceil(np.log2(np.maximum(size, 1))), 0).astype(
        np.int64
    )
    X = _exp_near_zero(A / (2.0**halvings).astype(size.dtype)[..., None, None])
    for i in range(int(halvings.max())):
        X = np.where((halvings > i)[..., None, None], X @ X, X)
    return X


def _exp_near_zero(A: Array) -> Array:
    """The first 19 terms of the Taylor series, evaluated in six groups of three by powers of the cube of A."""
    one, square = np.asarray(np.eye(A.shape[-1], dtype=A.dtype), like=A), A @ A
    cube = square @ A
    c = [A.dtype.type(1 / math.factorial(i)) for i in range(19)]
    X = c[18] * one
    for i in range(15, -1, -3):
        X = X @ cube + (c[i] * one + c[i + 1] * A + c[i + 2] * square)
    return X


def _matrix_exp_gradient(g: Any, A: Any) -> Any:
    """The upper right block of the exponential of [[Aᴴ, g], [0, Aᴴ]]."""
    n = A._array.shape[-1]
    above = cat([A.mH, g], -1)
    below = cat([zeros_like(g), A.mH], -1)
    return MATRIX_EXP(cat([above, below], -2))[..., :n, n:]


MATRIX_EXP = Op("linalg_matrix_exp", ("A",), _matrix_exp, {"A": _matrix_exp_gradient})


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices."""
    if not A._array.size and A.ndim > 1 and A.shape[-1] == A.shape[-2]:
        check_floating("linalg.matrix_exp", A, takes_halves=True)
        return A.clone()
    check_matrix("linalg.matrix_exp", A)
    check_square("linalg.matrix_exp", A)
    return MATRIX_EXP(A)


# --- Pseudo-inverses and least squares -------------------------------------------------------------


def _pinv_gradient(g: Any, A: Any, out: Any) -> Any:
    m, n = A._array.shape[-2:]
    out_h, g_h = out.mH, g.mH
    if m <= n:
        K = g_h @ out
        inner = K @ out_h
        return inner - (out @ K).mH - (A @ out) @ inner + (out_h @ out) @ (g_h - K @ A)
    K = out @ g_h
    inner = out_h @ K
    return inner - (K @ out).mH + (g_h - A @ K) @ out @ out_h - (inner @ out) @ A


def _pinv(A: Array, limit: Array, hermitian: bool, factors: Any) -> Array:
    """V diag(1 / S, or 0 where S is at most a limit) Uᴴ."""
    U, S, Vh = factors
    kept = np.abs(S) > limit
    inverse = np.where(kept, 1 / np.where(kept, S, 1), 0).astype(S.dtype)
    return np.matmul(
        Vh.conj().swapaxes(-2, -1) * inverse[..., None, :], U.conj().swapaxes(-2, -1)
    ).astype(A.dtype, copy=False)


PINV = Op("linalg_pinv", ("A",), _pinv, {"A": _pinv_gradient})


@with_out
def pinv(
    A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The pseudo-inverse: singular values of at most max(atol, rtol * the largest) count as 0."""
    check_matrix("linalg.pinv", A)
    check_floating("linalg.pinv", A)
    for tolerance in (rcond, atol, rtol):
        if isinstance(tolerance, Tensor) and tracks(tolerance):
            raise RuntimeError("linalg.pinv is not differentiable with respect to its tolerances")
        if isinstance(tolerance, Tensor) and tolerance.dtype.is_complex:
            raise RuntimeError(
                f"torch.linalg.pinv: a tolerance of complex type is not supported. Got {tolerance.dtype}"
            )
    return _pseudo_inverse(A, atol, rcond if rtol is None else rtol, hermitian)


def _pseudo_inverse(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    if not A._array.size:
        shape = A._array.shape
        return A.mT.clone() if A.ndim else A.new_empty((*shape[:-2], shape[-1], shape[-2]))
    plain = A.detach()
    if hermitian:
        check_square("linalg.pinv", A)
        S, U = eigh(plain)
        Vh, largest = U.mH, S.abs().amax(-1)
    else:
        U, S, Vh = svd(plain, full_matrices=False)
        largest = S[..., 0]
    limit = _threshold("torch.linalg.pinv", A, largest, atol, rtol).unsqueeze(-1)
    return PINV(A, limit=limit._array, hermitian=hermitian, factors=(U._array, S._array, Vh._array))


@composite
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse: singular values of at most `rcond` times the largest count as 0."""
    return pinv(input, rcond)


_DRIVERS = ("gelsy", "gels", "gelsd", "gelss")


@with_out
def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None) -> Any:
    """X of least squares, which minimizes AX - B; with the residuals, A's rank and singular values."""
    name = "torch.linalg.lstsq"
    driver = driver or "gelsy"
    if driver not in _DRIVERS:
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver}"
        )
    check_matrix(name, A)
    check_floating(name, A)
    check_same_type(name, A, B)
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    vector = A.ndim - B.ndim == 1 and A._array.shape[:-1] == B._array.shape
    columns = B.unsqueeze(-1) if vector else B
    if A._array.shape[-2] != columns._array.shape[-2]:
        raise RuntimeError(
            f"{name}: input.size(-2) should match other.size(-2), got {list(A.shape)} and {list(B.shape)}"
        )
    broadcast_shapes(name, A._array.shape[:-2], columns._array.shape[:-2])
    X = _pseudo_inverse(A, None, rcond, hermitian=False) @ columns
    rank, S = _rank_and_values(A.detach(), rcond, driver)
    residuals = _residuals(
        A, X, columns, known=driver != "gelsy" and not (rank._array < A._array.shape[-1]).any()
    )
    result = X.squeeze(-1) if vector else X
    return several(
        "linalg_lstsq", "solution residuals rank singular_values", (result, residuals, rank, S)
    )


def _rank_and_values(A: Tensor, rcond: Any, driver: str) -> tuple[Tensor, Tensor]:
    real = A.dtype.to_real()
    values = svdvals(A) if driver in ("gelsd", "gelss") else empty(0, dtype=real, device=A.device)
    if driver == "gels":
        return empty(0, dtype=dtypes.int64, device=A.device), values
    return matrix_rank(A, rtol=rcond), values


def _residuals(A: Tensor, X: Tensor, B: Tensor, known: bool) -> Tensor:
    """The squared length of each column of AX - B, where there are more rows than unknowns."""
    m, n = A._array.shape[-2:]
    if m <= n or not known:
        return X.abs().reshape(-1)[:0]
    rest = (A @ X - B).abs()
    return (rest * rest).sum(-2)


# --- Tensors as matrices -----------------------------------------------------------------------------


@with_out
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a linear map by `tensordot`: tensordot(tensorinv(A), A, ind) is the identity."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    shape = A._array.shape
    if ind > len(shape):
        raise RuntimeError(
            f"linalg.tensorinv: ind = {ind} is beyond the dimensions of {list(shape)}"
        )
    front, back = shape[:ind], shape[ind:]
    if math.prod(front) != math.prod(back):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but "
            f"got {math.prod(back)} != {math.prod(front)}: shape {list(shape)}"
        )
    return inv(A.reshape(math.prod(back), math.prod(front))).reshape(back + front)


@with_out
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        moved = [wrap_dim(d, A.ndim) for d in dims]
        A = A.movedim(tuple(moved), tuple(range(A.ndim - len(moved), A.ndim)))
    unknown = A._array.shape[B.ndim :]
    count = math.prod(unknown)
    if A._array.size != count * count or B._array.size != count:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), got {list(A.shape)} and {list(B.shape)}"
        )
    return solve(A.reshape(count, count), B.reshape(-1)).reshape(unknown)


# --- Products of vectors ------------------------------------------------------------------------------


@with_out
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product of vectors of 3."""
    name = "linalg.cross"
    check_tensor(name, input)
    check_tensor(name, other, "other")
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"{name}: inputs must have the same number of dimensions, got shapes {list(input.shape)} and {list(other.shape)}"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"expected scalar type {kind_name(input._array)} but found {kind_name(other._array)}"
        )
    d = wrap_dim(dim, input.ndim)
    if not input.ndim or input._array.shape[d] != 3 or other._array.shape[d] != 3:
        raise RuntimeError(
            f"{name}: inputs dimension {dim} must have length 3. Got shapes {list(input.shape)} and {list(other.shape)}"
        )
    broadcast_shapes(name, input._array.shape, other._array.shape)
    if input.dtype is not other.dtype:
        found = kind_name(input._array), kind_name(other._array)
        raise RuntimeError(f"expected scalar type {found[0]} but found {found[1]}")
    a1, a2 = input.roll(-1, d), input.roll(-2, d)
    b1, b2 = other.roll(-1, d), other.roll(-2, d)
    return a1 * b2 - a2 * b1


def _legacy_cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None
) -> Tensor:
    """The cross product of vectors of 3, along the first dimension of that size if none is named."""
    if dim is None and input.ndim == other.ndim:
        broadcast_shapes("cross", input._array.shape, other._array.shape)
        if 3 not in input._array.shape:
            raise RuntimeError(
                f"no dimension of size 3 in input: shapes {list(input.shape)} and {list(other.shape)}"
            )
        dim = input._array.shape.index(3)
    result = cross(input, other, dim=-1 if dim is None else dim)
    return result if out is None else into(out, result, "cross")


@with_out
@composite
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The dot product along a dimension, the first argument conjugated."""
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, got {x.dtype} and {y.dtype}"
        )
    check_floating("linalg.vecdot", x, takes_halves=True)
    broadcast_shapes("linalg.vecdot", x._array.shape, y._array.shape)
    if x.ndim == y.ndim == 1 and len(x) != len(y):
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(x.shape)} and src {list(y.shape)} to have the same "
            "number of elements"
        )
    return (conj(x) * y).sum(dim, dtype=x.dtype)


@with_out
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, along a new last dimension."""
    if x.dtype in (dtypes.bool_, dtypes.float16, dtypes.bfloat16):
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{kind_name(x._array)}"
        )
    x = x if x.ndim else x.reshape(1)
    count = x._array.shape[-1] if N is None else plain_integer(N, "linalg_vander", "N")
    if count <= 1:
        raise RuntimeError(f"N must be greater than 1, got {count}")
    x = x.to(dtypes.int64) if x.dtype.kind < dtypes.FLOATING else x
    factors = x.unsqueeze(-1).expand(*x.shape, count - 1)
    return cat([x.new_ones((*x.shape, 1)), factors.cumprod(-1)], -1)


@with_out
def multi_dot(tensors: Any) -> Tensor:
    """The product of several matrices, in the cheapest order."""
    return product_of_all(tensors)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


def matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The product of matrices."""
    return FUNCTIONS["matmul"](input, other, out=out)


@function_and_method
@composite
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    require_floats("trace", input._array, "iufcV")
    return input.diagonal().sum()


# --- A few of the largest singular values ------------------------------------------------------------


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Any:
    """The q largest singular values and their vectors, by a randomized algorithm."""
    m, n = A.shape[-2:]
    if M is not None and M.dtype is not A.dtype:
        raise RuntimeError(
            f"svd_lowrank: expected A and M to have the same dtype, but got: {A.dtype} != {M.dtype}"
        )
    centered = A if M is None else A - M.broadcast_to(A.shape)
    turned = m < n
    X = centered.mH if turned else centered
    Q = _range_of(
        X, 6 if q is None else int(q) if isinstance(q, bool) else q, 2 if niter is None else niter
    )
    U, S, Vh = svd(Q.mH @ X, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if turned else (U, S, V)


def _range_of(A: Tensor, q: int, niter: int) -> Tensor:
    """An orthonormal basis of, approximately, A's q leading left singular vectors."""
    own = A.dtype.is_complex or A.dtype in (dtypes.float16, dtypes.float32, dtypes.float64)
    Q = qr(A @ randn(A._array.shape[-1], q, dtype=A.dtype if own else dtypes.float32))[0]
    for _ in range(niter):
        Q = qr(A.mH @ Q)[0]
        Q = qr(A @ Q)[0]
    return Q


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The q principal components of the rows of a matrix."""
    m, n = A.shape[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)


offer("cross", _legacy_cross)
for _fn in (matrix_power, matrix_exp, pinverse):
    offer(_fn.__name__, _fn)
for _fn in (svd_lowrank, pca_lowrank):
    function(_fn)
