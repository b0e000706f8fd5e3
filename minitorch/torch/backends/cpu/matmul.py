"""Products of matrices on the threads that the kernels use.

NumPy's BLAS has threads of its own. Where they and the threads of the kernels take turns on the
same few cores, each keeps the other waiting: a training step takes several times as long. So
large products are shared out here, and the BLAS is asked for parts of them, on one thread each.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..interface import as_array, formula_of

Array = Any

LARGE = 262_144
"""Products of up to so many multiplications a BLAS does on one thread anyway."""

MANY = 5 * LARGE
"""From so many multiplications on, a stack of small products is worth sharing out."""


def matmul(a: Array, b: Array, bias: Array | None = None) -> Array:
    """The product of two matrices, or of two stacks of them that broadcast, plus a bias in each row."""
    if type(a) is not np.ndarray:
        out = _on_device(a, b)
    elif a.ndim == b.ndim == 2 and a.dtype is b.dtype and a.size * b.shape[1] <= LARGE:
        out = a.dot(b)  # the same, sooner
    elif _by_kernel(a, b):
        return _large(a, b, bias)
    else:
        out = as_array(np.matmul(a, b))  # which says what is wrong, where something is
    if bias is not None:
        out += bias
    return out


def _on_device(a: Array, b: Array) -> Array:
    """The product of arrays that are not the CPU's."""
    own = formula_of(a, "matmul")
    out = None if own is None else own(a, b)
    return as_array(np.matmul(a, b)) if out is None else out


def _by_kernel(a: Array, b: Array) -> bool:
    if a.ndim < 2 or b.ndim < 2 or a.dtype.char not in "fd" or a.dtype != b.dtype:
        return False
    rows, inner = a.shape[-2:]
    columns = b.shape[-1]
    large = rows * inner * columns > LARGE or a.size * columns > MANY
    return large and inner == b.shape[-2] and _kernels().usable(a.dtype.type)


def _large(a: Array, b: Array, bias: Array | None) -> Array:
    outer = a.shape[:-2], b.shape[:-2]
    shape = outer[0] if outer[0] == outer[1] else np.broadcast_shapes(*outer)
    out = np.empty((*shape, a.shape[-2], b.shape[-1]), a.dtype)
    if bias is not None:
        # A copy, since kernels take long to start on memory that is read-only.
        bias = np.array(np.broadcast_to(bias, out.shape[-1:]), a.dtype)
    if out.size and a.shape[-1]:
        _kernels().multiply(_joined(a, shape), _joined(b, shape), out, bias)
    else:
        out[...] = 0 if bias is None else bias
    return out


def _joined(x: Array, shape: tuple[int, ...]) -> Array:
    """A stack of any shape as one of matrices in a row; one matrix for all as it is."""
    if x.ndim == 2 or (x.ndim == 3 and x.shape[:1] == shape):
        return x
    if x.size == x.shape[-2] * x.shape[-1]:
        return x.reshape(x.shape[-2:])
    if x.shape[:-2] != shape:
        x = np.broadcast_to(x, (*shape, *x.shape[-2:]))
    return x.reshape(-1, *x.shape[-2:])


@cache
def _kernels() -> Any:
    """What needs Numba, when it is needed."""
    from . import matmul_kernels

    return matmul_kernels
