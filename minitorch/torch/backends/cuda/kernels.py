"""Which of our own kernels computes a record on a GPU."""

from __future__ import annotations

from typing import Any

import cupy  # pyright: ignore[reportMissingImports]

from ..interface import Array
from . import attention, channels, losses, products, rows, windows
from .elementwise import elementwise


def by_kernel(op: Any, arrays: Any, params: dict[str, Any]) -> Any:
    """What a kernel makes of a record's arrays; None where there is none for them."""
    if op.scalar is None:
        kernel = KERNELS.get(op.name)
        return None if kernel is None else kernel(*arrays, **params)
    if params and params.keys() != {"constants"}:
        return None
    return elementwise(op, arrays, params.get("constants", ()))


def compute_into(op: Any, arrays: Any, params: dict[str, Any]) -> bool:
    """Let a kernel write an elementwise record's result into its first input; False where there is none."""
    if op.scalar is None or (params and params.keys() != {"constants"}):
        return False
    return elementwise(op, arrays, params.get("constants", ()), out=arrays[0]) is not None


def clone(input: Array, order: str = "K") -> Array | None:
    """A copy in memory of its own, by the GPU's copy engine."""
    if order not in ("C", "K") or not input._c_contiguous:
        return None
    out = cupy.ndarray(input.shape, input.dtype)
    out.data.copy_from_device_async(input.data, input.nbytes)
    return out


KERNELS = {
    "clone": clone, **rows.KERNELS, **channels.KERNELS, **products.KERNELS, **losses.KERNELS,
    **windows.KERNELS, **attention.KERNELS,
}  # fmt: skip
"""By the names of records."""
