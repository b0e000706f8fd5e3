"""Which of our own kernels computes a record on a GPU."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from math import prod
from struct import Struct
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
import numpy as np

from ..interface import Array
from . import attention, channels, losses, products, recurrent, reductions, rows, windows
from .elementwise import elementwise
from .launching import Kernel
from .sources import JOIN, PUT
from .typed_kernels import kernel_for

MOST_PARTS = 16
"""How many arrays are joined by one launch."""

_PARTS = Struct(f"{2 * MOST_PARTS}q").pack
"""The structure `Parts` of the kernel."""

OF_SIZE = {n: np.dtype(f"f{n}") for n in (2, 4, 8)}
"""Types by their bytes: to move elements, whatever they are."""


def kernel_of(op: Any) -> Any:
    """What computes a record by a kernel, or returns None where that is not for its arrays; None where there is nothing."""
    if op.scalar is None:
        return KERNELS.get(op.name)

    def compute(*arrays: Any, constants: tuple[Any, ...] = (), **others: Any) -> Array | None:
        if others:
            return None
        if op.check is not None:
            op.check(*arrays)
        return elementwise(op, arrays, constants)

    return compute


def compute_into(op: Any, arrays: Any, params: dict[str, Any]) -> bool:
    """Let a kernel write an elementwise record's result into its first input; False where there is none."""
    if op.scalar is None or (params and params.keys() != {"constants"}):
        return False
    if op.check is not None:
        op.check(*arrays)
    return elementwise(op, arrays, params.get("constants", ()), out=arrays[0]) is not None


MOST_PUT = 3840
"""How many bytes travel with a launch."""

PLAIN = frozenset("?bBhHiIlLqQefdFD")
"""The types of NumPy's, by their characters, that CuPy has, too."""


@cache
def _put() -> Kernel:
    return Kernel(PUT, "put")


def put(array: np.ndarray) -> Array | None:
    """A small array of the CPU on the GPU in use, as an argument of a launch: no copy is waited for. None for other ones."""
    size, kind = array.nbytes, array.dtype
    if not 0 < size <= MOST_PUT or kind.char not in PLAIN or not kind.isnative:
        return None
    if not array.flags.c_contiguous:
        return None
    out = cupy.ndarray(array.shape, kind)
    _put()((1,), (256,), (array.tobytes(), out, size))
    return out


def clone(input: Array, order: str = "K") -> Array | None:
    """A copy in memory of its own, by the GPU's copy engine."""
    if order not in ("C", "K") or not input._c_contiguous:
        return None
    out = cupy.ndarray(input.shape, input.dtype)
    out.data.copy_from_device_async(input.data, input.nbytes)
    return out


def cat(*tensors: Array, dim: int) -> Array | None:
    """Arrays one after the other along a dimension, in one launch."""
    first = tensors[0]
    kind, outer, inner = first.dtype, first.shape[:dim], first.shape[dim + 1 :]
    if len(tensors) > MOST_PARTS or not first.ndim or kind.itemsize not in OF_SIZE:
        return None
    for x in tensors:
        alike = x.dtype == kind and x.shape[:dim] == outer and x.shape[dim + 1 :] == inner
        if not (alike and x._c_contiguous and x.ndim == first.ndim):
            return None
    ends = [*accumulate(x.shape[dim] for x in tensors)]
    out = cupy.ndarray((*outer, ends[-1], *inner), kind)
    if out.size:
        size, more = prod(inner), [0] * (MOST_PARTS - len(tensors))
        parts = [*(x.data.ptr for x in tensors), *more, *(n * size for n in ends), *more]
        struct = _PARTS(*parts)
        kernel = kernel_for(JOIN, "join", OF_SIZE[kind.itemsize])
        kernel((-(-out.size // 256),), (256,), (struct, out, ends[-1] * size, out.size))
    return out


KERNELS = {
    "clone": clone, "cat": cat, **rows.KERNELS, **channels.KERNELS, **products.KERNELS, **losses.KERNELS,
    **windows.KERNELS, **attention.KERNELS, **reductions.KERNELS,
}  # fmt: skip
"""By the names of records."""

FORMULAS = {**products.FORMULAS, **recurrent.FORMULAS, **channels.FORMULAS, **rows.FORMULAS}
"""By the names of formulas."""
