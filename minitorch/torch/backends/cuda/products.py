"""Products of matrices on a GPU, by cuBLAS, without what CuPy does around them; and linear layers."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np
from cupy_backends.cuda.libs import cublas  # pyright: ignore[reportMissingImports]

from ...dtypes import bfloat16
from ..interface import Array
from .reduction_sources import SUMS_OF_ROWS
from .reductions import reduce_one
from .typed_kernels import BY_KIND, fit, kernel_for

FLOAT, DOUBLE, TF32 = 68, 70, 77  # cuBLAS's names of types to compute in
KINDS = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(np.float16): 2,
    bfloat16.numpy: 14,
}
"""cuBLAS's names of types in memory."""

_CONSTANTS = {kind: np.array([0, 1], kind) for kind in (np.float32, np.float64)}
_ADDRESSES = {kind: pair.ctypes.data for kind, pair in _CONSTANTS.items()}
precision = {"float32": FLOAT}
"""What products in float32 are computed in; `set_precision` changes it."""


def multiply(
    sizes: tuple[int, int, int], a: tuple[int, bool, int, int], b: tuple[int, bool, int, int],
    out: tuple[int, int, int], kind: Any, batch: int = 1, add: bool = False, to: Any = None,
) -> None:  # fmt: skip
    """Products a b of matrices, one after another in memory.

    Args:
        sizes: the rows of a, its columns, and the columns of b
        a: its address, whether it is transposed, the length of a row in memory, and how far the next matrix is
        b: the same
        out: an address, the length of a row in memory, and how far the next matrix is
        kind: the type of all three
        batch: how many matrices
        add: whether to add to what is there
        to: the type of the result, where that is another one: float32 for products of two bytes
    """
    m, k, n = sizes
    wide = np.float64 if kind == np.float64 else np.float32
    compute = (
        DOUBLE if wide is np.float64 else precision["float32"] if kind == np.float32 else FLOAT
    )
    zero = _ADDRESSES[wide]
    one = zero + wide(0).itemsize
    name, made = KINDS[kind], KINDS[kind if to is None else to]
    handle, old = cupy.cuda.device.get_cublas_handle(), one if add else zero
    # Of columns, which are rows of the transposed: outᵀ = bᵀ aᵀ.
    if batch == 1:
        cublas.gemmEx(
            handle, int(b[1]), int(a[1]), n, m, k, one, b[0], name, b[2], a[0], name, a[2], old, out[0], made, out[1],
            compute, -1,
        )  # fmt: skip
        return
    cublas.gemmStridedBatchedEx(
        handle, int(b[1]), int(a[1]), n, m, k, one, b[0], name, b[2], b[3],
        a[0], name, a[2], a[3], old, out[0], made, out[1], out[2], batch, compute, -1,
    )  # fmt: skip


def product(a: Array, b: Array, out: Array) -> Array:
    """The product of matrices whose rows, or columns, have no gaps, written into rows without gaps."""
    m, k = a.shape
    n = b.shape[1]
    if not (m and n):
        return out
    if not k:
        out.fill(0)
        return out
    multiply((m, k, n), _matrix(a), _matrix(b), (out.data.ptr, n, 0), out.dtype)
    return out


def _matrix(x: Array) -> tuple[int, bool, int, int]:
    """Where a matrix is, whether it is transposed, and how far its rows are apart."""
    if x._c_contiguous:
        return x.data.ptr, False, x.shape[1], 0
    return x.data.ptr, True, x.shape[0], 0


def linear(input: Array, weight: Array, bias: Array | None = None) -> Array | None:
    """Each row of the input times the weight's rows, plus the bias."""
    given = (weight,) if bias is None else (weight, bias)
    if input.ndim and not input._c_contiguous:
        input = cupy.ascontiguousarray(input)
    if weight.ndim != 2 or not input.ndim or not fit(input, *given) or not weight.size:
        return None
    rows = prod(input.shape[:-1])
    outputs, inputs = weight.shape
    out = cupy.ndarray((*input.shape[:-1], outputs), input.dtype)
    if bias is not None:
        spread = kernel_for(SUMS_OF_ROWS, "spread", input.dtype)
        spread((-(-out.size // 256),), (256,), (bias, out, outputs, out.size))
    a, b = (input.data.ptr, False, inputs, 0), (weight.data.ptr, True, inputs, 0)
    target = out.data.ptr, outputs, 0
    multiply((rows, inputs, outputs), a, b, target, input.dtype, add=bias is not None)
    return out


def linear_backward(
    grad: Array, input: Array, weight: Array, wanted: tuple[bool, ...]
) -> tuple[Array, ...] | None:
    """Of input, weight and bias, the wanted gradients: g W, gᵀ x, and the sum of g's rows."""
    grad = grad if grad._c_contiguous else cupy.ascontiguousarray(grad)
    input = input if input._c_contiguous else cupy.ascontiguousarray(input)
    if weight.ndim != 2 or not fit(grad, input, weight) or not weight.size:
        return None
    (outputs, inputs), kind, found = weight.shape, grad.dtype, []
    rows = grad.size // outputs
    g, x = grad.data.ptr, input.data.ptr
    if wanted[0]:
        out = cupy.ndarray(input.shape, kind)
        w = weight.data.ptr, False, inputs, 0
        multiply((rows, outputs, inputs), (g, False, outputs, 0), w, (out.data.ptr, inputs, 0), kind)  # fmt: skip
        found.append(out)
    if wanted[1]:
        out = cupy.ndarray(weight.shape, kind)
        by = x, False, inputs, 0
        multiply((outputs, rows, inputs), (g, True, outputs, 0), by, (out.data.ptr, inputs, 0), kind)  # fmt: skip
        found.append(out)
    if wanted[2]:
        found.append(sum_of_rows(grad.reshape(rows, outputs)))
    return tuple(found)


def sum_of_rows(x: Array, out: Array | None = None) -> Array:
    """The sum of a matrix's rows, written into a new row, or into memory for one that is given."""
    if out is None:
        out = cupy.ndarray(x.shape[1:], x.dtype)
    reduce_one(x, out, "sum", (1, *x.shape), 1.0)
    return out


def matrices(input: Array, other: Array, left: bool = False, right: bool = False) -> Array | None:
    """The product of two matrices, of which the left or the right one may be transposed first."""
    if input.ndim != 2 or other.ndim != 2 or input.dtype not in BY_KIND or input.dtype != other.dtype:  # fmt: skip
        return None
    a, b = input.T if left else input, other.T if right else other
    if a.shape[1] != b.shape[0] or not all(x._c_contiguous or x._f_contiguous for x in (a, b)):
        return None
    return product(a, b, cupy.ndarray((a.shape[0], b.shape[1]), a.dtype))


KERNELS: dict[str, Any] = {"linear": linear, "linear_backward": linear_backward, "mm": matrices}
"""By the names of records; where one returns None, the formula computes."""
