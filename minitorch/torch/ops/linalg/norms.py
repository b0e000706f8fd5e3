"""Norms of vectors and matrices, condition numbers and ranks."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...backends.interface import as_array
from ...tensor import Array, Tensor, tracks
from ..comparison import where
from ..creation import tensor
from ..layout import in_order
from ..movement import wrap_dim, wrap_dims
from ..precision import kind_name
from ..promotion import plain_integers, plain_number, result_type
from ..record import REDUCTION, Op, bind
from ..reduce import spread
from ..surface import FUNCTIONS, check_tensor, function_and_method, into, method, with_out
from .arguments import check_floating
from .solving import INV
from .spectra import eigvalsh, svdvals

# --- Of vectors ------------------------------------------------------------------------------


def _vector_norm(input: Array, ord: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    wide = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    kind = input.real.dtype if input.dtype.kind == "c" else input.dtype
    if ord != 0 and {*map(wide.shape.__getitem__, dim)} <= {1}:
        out = np.abs(wide).max(axis=dim, keepdims=keepdim)
    elif ord == 2 and len(dim) == wide.ndim and wide.flags.c_contiguous:
        row = wide.reshape(-1).view(wide.real.dtype)
        total = np.sqrt(np.vdot(row, row))
        out = total.reshape((1,) * wide.ndim) if keepdim else total
    else:
        out = _of_sizes(np.abs(wide), float(ord), dim, keepdim)
    return as_array(out).astype(kind, copy=False)


def _of_sizes(size: Array, ord: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    if ord == math.inf:
        none = {} if size.size else {"initial": 0}  # which not every device supports
        return size.max(axis=dim, keepdims=keepdim, **none)
    if ord == -math.inf:
        return size.min(axis=dim, keepdims=keepdim)
    if ord == 0:
        return np.add.reduce(size != 0, axis=dim, keepdims=keepdim)
    if ord == 1:
        return np.add.reduce(size, axis=dim, keepdims=keepdim)
    if ord == 2:
        return np.sqrt(np.add.reduce(size * size, axis=dim, keepdims=keepdim))
    if math.isnan(ord) and not size.size:
        return np.add.reduce(size, axis=dim, keepdims=keepdim)
    power = size.dtype.type(ord)
    return np.add.reduce(size**power, axis=dim, keepdims=keepdim) ** size.dtype.type(1 / ord)


def _vector_norm_gradient(g: Any, input: Any, out: Any, ord: float, dim: tuple[int, ...]) -> Any:
    shape = input._array.shape

    def each(x: Any) -> Any:
        return spread(x, shape, dim)

    if ord == 0:
        return input.detach().mul(0).nan_to_num(0) if input._array.size else each(g)
    if ord == 1:
        return each(g) * input.sgn()
    if ord == 2:
        return each(g) * (input / each(out)).masked_fill(each(out) == 0, 0)
    size = input.abs()
    if math.isinf(ord):
        at = (size == each(out)) | (size.isnan() & each(out).isnan())
        share = at.to(g.dtype)
        return input.sgn() * (share / share.sum(dim, keepdim=True)) * each(g)
    if ord < 1:
        direction = (input.sgn() * size.pow(ord - 1)).masked_fill(input == 0, 0)
        return direction * each(g * out.pow(1 - ord))
    direction = input.sgn() * size.pow(ord - 1) if ord < 2 else input * size.pow(ord - 2)
    return direction * each((g / out.pow(ord - 1)).masked_fill(out == 0, 0))


VECTOR_NORM = Op(
    "linalg_vector_norm",
    ("input",),
    in_order(_vector_norm),
    {"input": _vector_norm_gradient},
    kind=REDUCTION,
)


def _in_type(name: str, x: Tensor, dtype: Any) -> Tensor:
    """A tensor in the dtype in which a norm is computed."""
    check_tensor(name, x, "x")
    if x.dtype.kind < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind_name(x._array)}"
        )
    if dtype is None or dtype is x.dtype:
        return x
    if dtype.kind < dtypes.FLOATING:
        raise RuntimeError(f"{name}: dtype should be floating point or complex. Got {dtype}")
    if x.dtype.is_complex != dtype.is_complex:
        kinds = ["complex" if d.is_complex else "real" for d in (x.dtype, dtype)]
        raise RuntimeError(
            f"{name}: dtype should be {kinds[0]} for {kinds[0]} inputs, but got {dtype}"
        )
    if dtypes.promote_types(x.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype}) should be convertible without narrowing to the "
            f"specified dtype ({dtype})"
        )
    return x.to(dtype)


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    wrapped = wrap_dims(dim, ndim)
    return wrapped if ndim else ()


@partial(with_out, of_type=False)
def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The vector norm of order `ord`, of all elements or along dimensions."""
    name = "linalg.vector_norm"
    if dtype is not None or not isinstance(x, Tensor) or x._array.dtype.char not in "fd":
        x = _in_type(name, x, dtype)
    ord = ord.item() if isinstance(ord, Tensor) else ord
    if isinstance(ord, (str, complex)):
        raise RuntimeError(f"{name}: Expected a real number as order of the norm, got {ord!r}")
    dims = _dims(dim, x.ndim)
    if (ord < 0 or ord == math.inf) and not x._array.size:
        if dim is None or (isinstance(dim, (tuple, list)) and not dim):
            raise RuntimeError(
                f"{name} cannot compute the {ord} norm on an empty tensor because the operation does not "
                f"have an identity: shape {list(x.shape)}"
            )
        for d in dims:
            if x._array.shape[d] == 0:
                raise RuntimeError(
                    f"{name} cannot compute the {ord} norm on the dimension {d} because this dimension "
                    f"is empty and the operation does not have an identity: shape {list(x.shape)}"
                )
    return bind(VECTOR_NORM, (x,), {"ord": ord, "dim": dims, "keepdim": keepdim})


# --- Of matrices ---------------------------------------------------------------------------------


@partial(with_out, of_type=False)
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """A norm of matrices: "fro", "nuc", 2, 1, inf, or the smallest of the last three."""
    name = "linalg.matrix_norm"
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, got shape {list(A.shape)}."
        )
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {dim}")
    rows, columns = (wrap_dim(d, A.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    spectral = ord == "nuc" or (not isinstance(ord, (str, complex)) and abs(ord) == 2)
    if spectral:
        check_floating(name, A)
    A = _in_type(name, A, dtype)
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if spectral:
        return _spectral(A, ord, rows, columns, keepdim)
    if isinstance(ord, str):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    return _by_sums(name, A, ord, rows, columns, keepdim)


def _spectral(A: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    """The sum, the largest or the smallest of the singular values."""
    S = svdvals(A.movedim((rows, columns), (-2, -1)))
    value = S.sum(-1) if ord == "nuc" else _extreme(S, -1, ord > 0)
    return value.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns)) if keepdim else value


def _by_sums(name: str, A: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    """The largest or smallest sum of a column's (1) or a row's (inf) absolute values."""
    if abs(ord) not in (1, math.inf):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    along, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, along, True)
    best = _extreme(sums, over, ord > 0, keepdim=True)
    return best if keepdim else best.squeeze((rows, columns))


def _extreme(x: Tensor, dim: int, largest: bool, keepdim: bool = False) -> Tensor:
    """The largest or smallest along a dimension; the largest of none is 0."""
    if largest:
        return x.amax(dim, keepdim) if x._array.shape[dim] else x.sum(dim, keepdim)
    return x.amin(dim, keepdim)


@partial(with_out, of_type=False)
def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The norm of a vector or a matrix, as `ord` and `dim` say."""
    if dim is not None and not isinstance(dim, int):
        dim = tuple(dim)
        if len(dim) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
            )
    elif dim is None and ord is not None and A.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {A.ndim}D."
        )
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if (dim is None and A.ndim == 2) or (isinstance(dim, tuple) and len(dim) == 2):
        return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(
            f"linalg.norm: Order {ord} is not supported for vectors, shape {list(A.shape)}"
        )
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def legacy_norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The norm of all elements, or along dimensions: p a number, "fro" or "nuc"."""
    result = _any_norm(input, p, dim, keepdim, dtype)
    return result if out is None else into(out, result, "norm")


def _any_norm(input: Tensor, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Tensor:
    check_tensor("norm", input)
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"norm(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if isinstance(p, str) and p == "nuc":
        if dim is None and input.ndim != 2:
            raise RuntimeError(
                f"norm: nuclear norm needs a matrix or two dimensions, got shape {list(input.shape)}"
            )
        return matrix_norm(input, "nuc", (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    if dim is not None:
        dim = plain_integers(dim, "norm", "dim")
    if p is None or isinstance(p, str):
        if p is not None and dim is not None and len(dim) > 2:
            return matrix_norm(input, "fro", dim, keepdim, dtype=dtype)
        p = 2
    return vector_norm(input, plain_number(p, "norm", "p"), dim, keepdim, dtype=dtype)


def _norm_of(
    self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """The norm of all elements, or along dimensions: p a number, "fro" or "nuc"."""
    return _any_norm(self, p, dim, keepdim, dtype)


FUNCTIONS["norm"] = legacy_norm
method("norm", _norm_of)


@function_and_method
def dist(input: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference of two tensors."""
    return vector_norm(input - other, p)


def cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number: a matrix's norm times that of its inverse."""
    name = "linalg.cond"
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, got shape {list(A.shape)}."
        )
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        S = svdvals(A)
        result = S[..., -1] / S[..., 0] if p == -2 else S[..., 0] / S[..., -1]
    else:
        rows, columns = A._array.shape[-2:]
        if rows != columns:
            raise RuntimeError(
                f"{name}(ord={p}): A must be batches of square matrices, but they are {rows} by {columns} matrices"
            )
        if not A._array.size:
            result = A.new_zeros(A.shape[:-2]).abs()
        else:
            inverse, info = INV(A)
            product = matrix_norm(A, p) * matrix_norm(inverse, p)
            result = product.masked_fill(info != 0, math.inf) if info._array.any() else product
    return result if out is None else into(out, result, "cond")


def _tolerances(name: str, A: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """The tolerances `atol` and `rtol`, with their defaults, as tensors."""
    real = A.dtype.to_real()

    def as_tensor(value: Any) -> Tensor:
        if isinstance(value, Tensor):
            if value.dtype.is_complex:
                raise RuntimeError(
                    f"{name}: tol tensor of complex type is not supported. Got {value.dtype}"
                )
            return value
        return tensor(value, dtype=dtypes.float64)

    least = dtypes.finfo(real).eps * max(A._array.shape[-2:])
    absolute = as_tensor(0.0 if atol is None else atol)
    if rtol is not None:
        return absolute, as_tensor(rtol)
    if atol is None:
        return absolute, as_tensor(least)
    return absolute, where(absolute > 0, 0.0, least)


def _threshold(name: str, A: Tensor, largest: Tensor, atol: Any, rtol: Any) -> Tensor:
    absolute, relative = _tolerances(name, A, atol, rtol)
    return absolute.maximum(relative.to(result_type(relative, largest)) * largest)


@with_out
def matrix_rank(
    A: Tensor, tol: Any = None, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """The rank of matrices: the number of singular values above a tolerance."""
    if A.ndim < 2:
        raise RuntimeError(
            f"linalg.matrix_rank: The input tensor A must have at least 2 dimensions, got shape {list(A.shape)}."
        )
    A = A.detach() if tracks(A) else A
    if not A._array.size:
        return A.new_zeros(A.shape[:-2], dtype=dtypes.int64)
    S = eigvalsh(A).abs() if hermitian else svdvals(A)
    atol, rtol = (tol, 0.0) if tol is not None else (atol, rtol)
    limit = _threshold("torch.linalg.matrix_rank", A, S.amax(-1), atol, rtol)
    return S.gt(limit.unsqueeze(-1)).sum(-1)
