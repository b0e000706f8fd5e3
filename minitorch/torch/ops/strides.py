"""Views by size, strides and offset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.interface import strided
from ..formulas.indexing import add_at
from ..tensor import Array, Tensor, offset_in, wrap, wrap_beside
from .movement import wrap_dim
from .promotion import plain_integer, plain_integers
from .record import MOVEMENT, Op
from .surface import function_and_method, only_method


def element_strides(array: Array) -> tuple[int, ...]:
    """Strides in elements, as in Torch: dimensions of size 0 count as size 1."""
    if not array.size and not any(array.strides):
        sizes = np.maximum(array.shape[:0:-1], 1)
        return tuple(np.cumprod([1, *sizes]).tolist()[::-1]) if array.ndim else ()
    return tuple(s // array.itemsize for s in array.strides)


def memory_of(tensor: Tensor) -> tuple[Array, int]:
    """The memory of a tensor's base as a vector, and the tensor's offset in it."""
    base = tensor if tensor._base is None else tensor._base
    array = base._array
    if array.flags.c_contiguous:
        memory = array.reshape(-1)
    else:
        spans = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
        count = (sum(spans) // array.itemsize + 1) if array.size else 0
        memory = strided(array, (count,), (array.itemsize,))
    if memory.dtype != tensor._array.dtype:
        memory = memory.view(tensor._array.dtype)
    return memory, offset_in(tensor._array, array)


def _as_strided(
    input: Array, memory: Array, size: Any, stride: Any, offset: int, layout: Any
) -> Array:
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if all(size) and last >= len(memory):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {input.itemsize} requiring a storage size of {(last + 1) * input.itemsize} "
            f"are out of bounds for storage of size {memory.nbytes}"
        )
    item = input.itemsize
    return strided(memory[offset:], tuple(size), tuple(s * item for s in stride))


Geometry = tuple[Sequence[int], Sequence[int], int]
"""The layout of a tensor in memory: size, strides, offset."""


def _places(geometry: Geometry) -> Array:
    """The offset in memory of each element."""
    size, stride, offset = geometry
    places = np.full(tuple(size), offset, np.int64)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        places += (np.arange(n) * s).reshape((n,) + (1,) * (len(size) - d - 1))
    return places


def _restride(input: Array, source: Geometry, target: Geometry) -> Array:
    """Add elements into memory by one geometry, then read the memory by another."""
    at, to = _places(source), _places(target)
    last = max(at.max(initial=-1), to.max(initial=-1))
    at, to = np.asarray(at, like=input), np.asarray(to, like=input)
    memory = np.zeros(1 + last, input.dtype, like=input)
    add_at(memory, at.reshape(-1), input.reshape(-1))
    return memory[to]


RESTRIDE = Op("restride", ("input",), _restride,
              {"input": lambda g, source, target: RESTRIDE(g, source=target, target=source)}, kind=MOVEMENT)  # fmt: skip


def _as_strided_gradient(g: Any, size: Any, stride: Any, offset: int, layout: Geometry) -> Any:
    """The gradient at each element's offset; elements of the input that overlap share it evenly."""
    gradient = RESTRIDE(g, source=(size, stride, offset), target=layout)
    if not _may_overlap(layout):
        return gradient
    own = _places(layout)
    shown = np.bincount(own.reshape(-1))[own] if own.size else own
    return gradient / wrap_beside(shown.astype(g._array.dtype), g)


def _may_overlap(geometry: Geometry) -> bool:
    """Whether two elements may overlap: a stride is not larger than the extent of all smaller ones."""
    reach = 0
    for step, n in sorted(zip(geometry[1], geometry[0], strict=True)):
        if n > 1 and step <= reach:
            return True
        reach += (n - 1) * step
    return False


AS_STRIDED = Op(
    "as_strided", ("input", "memory"), _as_strided, {"input": _as_strided_gradient, "memory": None}, view=True
)  # fmt: skip


@function_and_method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of a tensor's memory by size, strides and offset."""
    size, stride = (
        plain_integers(v, "as_strided", n) for v, n in ((size, "size"), (stride, "stride"))
    )
    if len(size) != len(stride):
        raise RuntimeError(
            f"mismatch in length of strides and shape: {list(stride)} and {list(size)}"
        )
    if min(size, default=0) < 0:
        raise RuntimeError(f"as_strided: a shape cannot have negative sizes: {list(size)}")
    if any(s < 0 for s in stride):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    memory, begin = memory_of(input)
    offset = begin
    if storage_offset is not None:
        offset = plain_integer(storage_offset, "as_strided", "storage_offset")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    layout = input._array.shape, element_strides(input._array), begin
    return AS_STRIDED(input, wrap(memory), size=size, stride=stride, offset=offset, layout=layout)


def _unfold(input: Array, dim: int, size: int, step: int) -> Array:
    shape, strides = list(input.shape or (1,)), list(input.strides or (input.itemsize,))
    windows = [*shape, size], [*strides, strides[dim]]
    windows[0][dim] = (shape[dim] - size) // step + 1
    windows[1][dim] *= min(step, shape[dim])  # one step too far is as wrong as many
    first = 0 if input.ndim else 1  # a zero-dimensional tensor has a single window
    return strided(input, tuple(windows[0][first:]), tuple(windows[1][first:]))


def _add_windows(grad: Array, shape: tuple[int, ...], dim: int, size: int, step: int) -> Array:
    """The gradient of `unfold`: each window's gradient added at its position."""
    out = np.zeros(shape or (1,), grad.dtype, like=grad)
    rows, g = np.moveaxis(out, dim, 0), grad if shape else grad[None]
    g = np.moveaxis(np.moveaxis(g, dim, 0), -1, 1)  # (windows, size, ...)
    if len(g) < size:
        for i, window in enumerate(g):
            rows[i * step : i * step + size] += window
    else:
        for k in range(size):
            rows[k : k + (len(g) - 1) * step + 1 : step] += g[:, k]
    return out.reshape(shape)


UNFOLD = Op("unfold", ("input",), _unfold, {
    "input": lambda g, shapes, dim, size, step: UNFOLD_BACKWARD(g, shape=shapes[0], dim=dim, size=size, step=step),
}, view=True)  # fmt: skip
UNFOLD_BACKWARD = Op("unfold_backward", ("grad",), _add_windows, {
    "grad": lambda g, dim, size, step: UNFOLD(g, dim=dim, size=size, step=step),
})  # fmt: skip


@only_method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a size along a dimension, `step` apart, with the window as a new last dimension."""
    d = wrap_dim(dimension, self.ndim)
    size, step = plain_integer(size, "unfold", "size"), plain_integer(step, "unfold", "step")
    have = self._array.shape[d] if self.ndim else 1
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0 or size < 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return UNFOLD(self, dim=d, size=size, step=step)
