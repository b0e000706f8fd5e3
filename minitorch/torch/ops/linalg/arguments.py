"""Checks of matrices, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ....threads import tell_blas
from ... import dtypes
from ...tensor import Array, Tensor, tracks, wrap_beside
from ..precision import kind_name
from ..promotion import broadcast_shapes
from ..results import named
from ..surface import FUNCTIONS, check_tensor, method


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive definite, or an algorithm did not converge."""


LinAlgError.__module__ = "torch._C"


def check_floating(
    name: str, *tensors: Any, argument: str = "input", takes_halves: bool = False
) -> None:
    """RuntimeError unless tensors are of a floating point or complex dtype other than half precision."""
    for x in tensors:
        check_tensor(name, x, argument)
        if x.dtype.kind < dtypes.FLOATING:
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor as input. Got {kind_name(x._array)}"
            )
        if x.dtype.itemsize < 4 and not takes_halves:
            raise RuntimeError(
                f"{name}: Low precision dtypes not supported. Got {kind_name(x._array)}"
            )


def check_matrix(name: str, A: Any, argument: str = "A") -> None:
    """RuntimeError unless a tensor has at least two dimensions."""
    check_tensor(name, A, argument)
    if A.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions, got shape {list(A.shape)}."
        )


def check_square(name: str, A: Any, argument: str = "A") -> None:
    """RuntimeError unless a tensor holds square matrices of a floating point or complex dtype."""
    check_matrix(name, A, argument)
    check_floating(name, A, argument=argument)
    rows, columns = A._array.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are "
            f"{rows} by {columns} matrices (shape {list(A.shape)})"
        )


def check_same_type(name: str, A: Any, B: Any) -> None:
    """RuntimeError unless two tensors have one dtype."""
    check_tensor(name, B, "B")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type "
            f"{kind_name(A._array)} and B of type {kind_name(B._array)} instead"
        )


def check_system(name: str, A: Any, B: Any, left: bool = True) -> None:
    """RuntimeError unless AX = B (or XA = B) has shapes that fit."""
    check_square(name, A)
    check_matrix(name, B, "B")
    check_same_type(name, A, B)
    a, b = A._array.shape, B._array.shape
    if a[-2] != b[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    broadcast_shapes(name, a[:-2], b[:-2])


def check_info(name: str, info: Array, say: Callable[[int], str]) -> None:
    """LinAlgError for the first matrix of a batch whose `info` is not 0."""
    if not info.any():
        return
    at = int(np.flatnonzero(info)[0])
    place = f"(Batch element {at}): " if info.ndim else ""
    raise LinAlgError(f"{name}: {place}{say(int(info.reshape(-1)[at]))}")


def absent(g: Any) -> bool:
    """Whether there is no gradient for an output."""
    return not tracks(g) and not g._array.any()


def several(name: str, fields: str, values: Sequence[Tensor]) -> Any:
    """Several results as a named tuple, with Torch's names."""
    return named(name, *fields.split())(*values)


def offer(name: str, fn: Callable[..., Any]) -> None:
    """Offer a function as `torch.name` and as a method, beside its place in `torch.linalg`."""
    FUNCTIONS[name] = fn
    method(name, fn)


@cache
def scipy_linalg() -> Any:
    """`scipy.linalg`, for LAPACK and BLAS, loaded at the first use, with our number of threads."""
    import scipy.linalg

    tell_blas()
    return scipy.linalg


def lapack(names: str, array: Array) -> Any:
    """LAPACK's functions, from SciPy, for an array's dtype."""
    found = scipy_linalg().get_lapack_funcs(tuple(names.split()), (array,))
    return found if " " in names else found[0]


def identity(n: int, like: Tensor) -> Tensor:
    """The identity matrix in a tensor's dtype."""
    return wrap_beside(np.eye(n, dtype=like._array.dtype), like)
