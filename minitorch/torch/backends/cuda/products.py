"""Products of matrices on a GPU, by cuBLAS, without what CuPy does around them; and linear layers."""

from __future__ import annotations

from math import prod
from struct import Struct
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np
from cupy_backends.cuda.libs import cublas  # pyright: ignore[reportMissingImports]

from ...dtypes import bfloat16
from ..interface import Array
from . import captured_products
from .fused_products import ALIGNED, PLAIN, PLUS_BIAS, SUM_OF_ROWS, plan_for
from .graphs import recording
from .product_sources import PRODUCT
from .reduction_sources import SUMS_OF_ROWS
from .reductions import reduce_one
from .typed_kernels import BY_KIND, WIDE, fit, kernel_for, pointer

FLOAT, DOUBLE, TF32 = 68, 70, 77  # cuBLAS's names of types to compute in
KINDS = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(np.float16): 2,
    bfloat16.numpy: 14,
}
"""cuBLAS's names of types in memory."""

_CONSTANTS = {wide: np.array([0, 1], wide) for wide in WIDE.values()}
_ADDRESSES = {kind: _CONSTANTS[wide].ctypes.data for kind, wide in WIDE.items()}
"""Where the numbers 0 and 1 lie, one after the other, in the type that is computed in."""

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
    if is_small(m, k, n, batch) and to is None:
        _multiply_small(sizes, a, b, None, out, kind, batch, add)
        return
    compute = _compute_type(kind)
    zero = _ADDRESSES[kind]
    one = zero + WIDE[kind].itemsize
    name, made = KINDS[kind], KINDS[kind if to is None else to]
    old = one if add else zero
    # Of columns, which are rows of the transposed: outᵀ = bᵀ aᵀ.
    if batch == 1:
        args: tuple[Any, ...] = (
            int(b[1]), int(a[1]), n, m, k, one, b[0], name, b[2], a[0], name, a[2], old, out[0], made, out[1],
            compute, -1,
        )  # fmt: skip
        if recording.graph is None:
            cublas.gemmEx(cupy.cuda.device.get_cublas_handle(), *args)
        else:
            captured_products.gemm(args)
        return
    args = (
        int(b[1]), int(a[1]), n, m, k, one, b[0], name, b[2], b[3],
        a[0], name, a[2], a[3], old, out[0], made, out[1], out[2], batch, compute, -1,
    )  # fmt: skip
    if recording.graph is None:
        cublas.gemmStridedBatchedEx(cupy.cuda.device.get_cublas_handle(), *args)
    else:
        captured_products.gemm_batched(args)


def _compute_type(kind: Any) -> int:
    """What products of a type are computed in."""
    size = kind.itemsize
    return precision["float32"] if size == 4 else DOUBLE if size == 8 else FLOAT


SMALL = 1 << 20
"""Up to so many multiplications, a kernel of our own computes a product."""

DEEPEST = 1 << 9
"""How long the sums of such a product may be."""

MOST_SMALL = 1 << 14
"""How many numbers such a product may have."""

TILE = 16

_MATRIX = Struct("Piiq").pack
"""The structure `Matrix` of the kernel: an address, and how far apart rows, columns and matrices are."""


def is_small(m: int, k: int, n: int, batch: int = 1) -> bool:
    """Whether a product is computed by our own kernel."""
    if batch >= 8 and k >= 256:  # the gradients of a convolution's weight, of each sample
        return m * n <= SMALL >> 8 and k <= 2 * DEEPEST
    return m * k * n <= SMALL and k <= DEEPEST and m * n * batch <= MOST_SMALL


def _multiply_small(
    sizes: tuple[int, int, int], a: tuple[int, bool, int, int], b: tuple[int, bool, int, int], bias: Array | None,
    out: tuple[int, int, int], kind: Any, batch: int, add: bool,
) -> None:  # fmt: skip
    """`multiply` by our own kernel, plus a number for each column."""
    m, k, n = sizes
    grid = -(-n // TILE), -(-m // TILE), batch
    matrices = [_MATRIX(x[0], *((1, x[2]) if x[1] else (x[2], 1)), x[3]) for x in (a, b)]
    args = (
        *matrices, pointer(bias), out[0], m, k, n, out[1], out[2], add,
    )  # fmt: skip
    kernel_for(PRODUCT, "small_product", kind)(grid, (TILE * TILE,), args)


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
    if input.ndim and not input._c_contiguous:
        input = cupy.ascontiguousarray(input)
    given = (input, weight) if bias is None else (input, weight, bias)
    if weight.ndim != 2 or not input.ndim or not fit(*given) or not weight.size:
        return None
    outputs, inputs = weight.shape
    if bias is not None and bias.shape != (outputs,):
        return None  # one number for all
    outer = input.shape[:-1]
    rows, out = prod(outer), cupy.ndarray((*outer, outputs), input.dtype)
    a, b = (input.data.ptr, False, inputs, 0), (weight.data.ptr, True, inputs, 0)
    target = out.data.ptr, outputs, 0
    if is_small(rows, inputs, outputs):
        _multiply_small((rows, inputs, outputs), a, b, bias, target, input.dtype, 1, False)
        return out
    beside, row = (PLAIN, ()) if bias is None else (PLUS_BIAS, (bias,))
    if _fused(beside, (outputs, inputs, rows), (True, False), (weight, input, out, *row)):
        return out
    if bias is not None:
        spread = kernel_for(SUMS_OF_ROWS, "spread", input.dtype)
        spread((-(-out.size // 256),), (256,), (bias, out, outputs, out.size))
    multiply((rows, inputs, outputs), a, b, target, input.dtype, add=bias is not None)
    return out


def _fused(
    beside: int, sizes: tuple[int, int, int], transposed: tuple[bool, bool], arrays: tuple[Array, ...]
) -> bool:  # fmt: skip
    """Let cuBLASLt compute a product, and what is beside it, as `Plan` says; False where it cannot."""
    addresses = [x.data.ptr for x in arrays]
    for address in addresses:
        if address % ALIGNED:
            return False
    kind = arrays[0].dtype
    names = KINDS[kind], _compute_type(kind), KINDS[WIDE[kind]]
    plan = plan_for(names, sizes, transposed, beside)
    if plan is not None:
        plan(*addresses)
    return plan is not None


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
        sizes, fused = (inputs, outputs, rows), not is_small(rows, outputs, inputs)
        if not (fused and _fused(PLAIN, sizes, (False, False), (weight, grad, out))):
            w = weight.data.ptr, False, inputs, 0
            multiply((rows, outputs, inputs), (g, False, outputs, 0), w, (out.data.ptr, inputs, 0), kind)  # fmt: skip
        found.append(out)
    if wanted[1] and wanted[2] and not is_small(outputs, rows, inputs):
        made = cupy.ndarray(weight.shape, kind), cupy.ndarray((outputs,), kind)
        sizes = inputs, rows, outputs
        if _fused(SUM_OF_ROWS, sizes, (False, True), (input, grad, *made)):
            return (*found, *made)
    if wanted[1]:
        out = cupy.ndarray(weight.shape, kind)
        by = x, False, inputs, 0
        multiply((outputs, rows, inputs), (g, True, outputs, 0), by, (out.data.ptr, inputs, 0), kind)  # fmt: skip
        found.append(out)
    if wanted[2]:
        found.append(sum_of_rows(grad.reshape(rows, outputs)))
    return tuple(found)


FEW_ROWS = 1 << 12
"""Up to so many rows, or columns, are added up by one block of threads for some columns."""


def sum_of_rows(x: Array, out: Array | None = None) -> Array:
    """The sum of a matrix's rows, written into a new row, or into memory for one that is given."""
    if out is None:
        out = cupy.ndarray(x.shape[1:], x.dtype)
    rows, columns = x.shape
    if (
        x._c_contiguous and rows <= FEW_ROWS and columns <= FEW_ROWS
    ):  # one launch is all that it takes
        args = x, out, rows, columns
        kernel_for(SUMS_OF_ROWS, "sum_of_rows", x.dtype)((-(-columns // 8),), (8, 128), args)
        return out
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


def stacks(input: Array, other: Array, left: bool = False, right: bool = False) -> Array | None:
    """The products of two stacks of matrices of the same length, which may be transposed first."""
    a, b = input.swapaxes(-2, -1) if left else input, other.swapaxes(-2, -1) if right else other
    outer = a.shape[:-2]
    if a.dtype not in BY_KIND or a.dtype != b.dtype or b.shape[:-2] != outer:
        return None
    (m, k), (inner, n), batch = a.shape[-2:], b.shape[-2:], prod(outer)
    if inner != k or not (m and n and k and batch):
        return None
    (a, first), (b, second) = _stack(a), _stack(b)
    out = cupy.ndarray((*outer, m, n), a.dtype)
    multiply((m, k, n), first, second, (out.data.ptr, n, m * n), a.dtype, batch)
    return out


def _stack(x: Array) -> tuple[Array, tuple[int, bool, int, int]]:
    """A stack of matrices, or a copy without gaps, and where it is: as `multiply` takes it."""
    size, (rows, columns) = x.itemsize, x.shape[-2:]
    row, column = x.strides[-2:]
    step = x.strides[-3] if x.ndim > 2 else 0
    even = all(x.strides[d] == x.strides[d + 1] * x.shape[d + 1] for d in range(x.ndim - 3))
    if even and column == size and row >= columns * size:
        return x, (x.data.ptr, False, row // size, step // size)
    if even and row == size and column >= rows * size:
        return x, (x.data.ptr, True, column // size, step // size)
    x = cupy.ascontiguousarray(x)
    return x, (x.data.ptr, False, columns, rows * columns)


def multiplied(a: Array, b: Array) -> Array | None:
    """`matmul` of formulas/matmul.py; None where CuPy computes."""
    if a.ndim < 2 or b.ndim < 2 or type(a) is not type(b):
        return None
    return stacks(a, b)


KERNELS: dict[str, Any] = {
    "linear": linear, "linear_backward": linear_backward, "mm": matrices, "bmm": stacks,
}  # fmt: skip
"""By the names of records; where one returns None, the formula computes."""

FORMULAS = {"matmul": multiplied}
"""By the names of formulas."""
