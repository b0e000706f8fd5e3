"""Lesson 2: many numbers in one row of memory, seen through a shape and strides."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

MAX_DIMS = 32


class IndexingError(RuntimeError):
    """An index, a shape or strides that do not fit the tensor."""


Storage: TypeAlias = npt.NDArray[np.float64]
OutIndex: TypeAlias = npt.NDArray[np.int32]
Index: TypeAlias = npt.NDArray[np.int32]
Shape: TypeAlias = npt.NDArray[np.int32]
Strides: TypeAlias = npt.NDArray[np.int32]

UserIndex: TypeAlias = Sequence[int]
UserShape: TypeAlias = Sequence[int]
UserStrides: TypeAlias = Sequence[int]

# --- Task 2.1: indexing ------------------------------------------------------
# The three index functions are compiled by Numba for the fast backends too: plain
# loops over integer arrays. Index buffers may be longer than the shape.


def index_to_position(index: Index, strides: Strides) -> int:
    """Where in storage the element at `index` is; what `index` has beyond `strides` is ignored.

    >>> index_to_position(np.array([1, 2]), np.array([3, 1]))
    5
    """
    position = 0
    for d in range(len(strides)):
        position += int(index[d]) * int(strides[d])
    return position


def to_index(ordinal: int, shape: Shape, out_index: OutIndex) -> None:
    """Write into `out_index` the index that comes `ordinal`-th when counting through `shape`.

    The last dimension counts fastest; ordinals 0 ... size - 1 give every index once. What
    `out_index` has beyond `shape` is left alone.

    >>> out = np.zeros(2, dtype=np.int32)
    >>> to_index(5, np.array([2, 3]), out)
    >>> out.tolist()
    [1, 2]
    """
    rest = ordinal
    for d in range(len(shape) - 1, -1, -1):
        size = int(shape[d])
        out_index[d] = rest % size
        rest = rest // size


# --- Task 2.2: broadcasting --------------------------------------------------


def broadcast_index(big_index: Index, big_shape: Shape, shape: Shape, out_index: OutIndex) -> None:
    """Write into `out_index` the index into `shape` that `big_index` falls on.

    Shapes align at their right ends: dimensions that `shape` lacks are dropped,
    and dimensions of size 1 are always at index 0. What the buffers have beyond their
    shapes is left alone.

    >>> out = np.zeros(2, dtype=np.int32)
    >>> broadcast_index(np.array([4, 1, 2]), np.array([5, 2, 3]), np.array([1, 3]), out)
    >>> out.tolist()
    [0, 2]
    """
    missing = len(big_shape) - len(shape)
    for d in range(len(shape)):
        out_index[d] = big_index[missing + d] if shape[d] > 1 else 0


def shape_broadcast(shape1: UserShape, shape2: UserShape) -> tuple[int, ...]:
    """The shape that two shapes broadcast to; IndexingError where they do not.

    >>> shape_broadcast((2, 3, 1), (7, 2, 1, 5)), shape_broadcast((0,), (1,))
    ((7, 2, 3, 5), (0,))
    """
    dims = max(len(shape1), len(shape2))
    padded1 = (1,) * (dims - len(shape1)) + tuple(shape1)
    padded2 = (1,) * (dims - len(shape2)) + tuple(shape2)
    for a, b in zip(padded1, padded2, strict=True):
        if a != b and a != 1 and b != 1:
            raise IndexingError(
                f"shapes {tuple(shape1)} and {tuple(shape2)} do not broadcast: "
                f"sizes {a} and {b} differ and neither is 1"
            )
    return tuple(b if a == 1 else a for a, b in zip(padded1, padded2, strict=True))


def strides_from_shape(shape: UserShape) -> tuple[int, ...]:
    """The strides of a contiguous tensor: the last dimension moves by 1.

    >>> strides_from_shape((4, 2, 2))
    (4, 2, 1)
    """
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides)) if shape else ()


@lru_cache(maxsize=4096)
def _int32(values: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Shapes and strides as kernels take them; made once per value, never written to."""
    return np.array(values, dtype=np.int32)


@lru_cache(maxsize=4096)
def _size_and_strides(shape: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    """How many elements a shape holds, and its contiguous strides."""
    return prod(shape), strides_from_shape(shape)


class TensorData:
    """Storage, shape and strides: all of a tensor but its gradient.

    Args:
        storage: the numbers, a flat list or array as long as the shape is large
        shape: the size of each dimension
        strides: how far in storage one step in each dimension goes; contiguous unless given
    """

    _storage: Any
    _shape: Shape
    _strides: Strides
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dims: int
    size: int

    def __init__(
        self,
        storage: Sequence[float] | Storage,
        shape: UserShape,
        strides: UserStrides | None = None,
    ) -> None:
        self._storage = storage if _is_flat_float64(storage) else _flat_float64(storage)
        self.shape = _checked_shape(shape)
        self.dims = len(self.shape)
        self.size, contiguous = _size_and_strides(self.shape)
        if len(self._storage) != self.size:
            raise IndexingError(
                f"storage holds {len(self._storage)} numbers but shape {self.shape} needs {self.size}"
            )
        if strides is None:
            self.strides = contiguous
        else:
            self.strides = _checked_strides(strides, self.shape, self.size)
        self._shape = _int32(self.shape)
        self._strides = _int32(self.strides)

    def to_cuda_(self) -> None:
        """Move the storage to the GPU."""
        from . import cuda_device

        self._storage = cuda_device.to_device(self._storage)

    def to_cpu_(self) -> None:
        """Move the storage to main memory."""
        self._storage = self._host_storage()

    def _host_storage(self) -> Storage:
        if isinstance(self._storage, np.ndarray):
            return self._storage
        return self._storage.copy_to_host()

    def to_numpy(self) -> npt.NDArray[np.float64]:
        """A copy as a NumPy array of the same shape."""
        byte_strides = [8 * s for s in self.strides]
        view = np.lib.stride_tricks.as_strided(self._host_storage(), self.shape, byte_strides)
        return view.copy()

    def is_contiguous(self) -> bool:
        """Whether the elements lie in storage in counting order.

        The stride of a dimension of size 1 is never used and does not matter.
        """
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    @staticmethod
    def shape_broadcast(shape_a: UserShape, shape_b: UserShape) -> tuple[int, ...]:
        """The shape that two shapes broadcast to."""
        return shape_broadcast(shape_a, shape_b)

    def index(self, index: int | UserIndex) -> int:
        """The position in storage of an index, after checking it.

        A tensor without dimensions is indexed by `()`, or by 0 like one of shape (1,).
        """
        if isinstance(index, (int, np.integer)):
            index = (index,)
        elif not isinstance(index, Iterable):
            raise TypeError(
                f"an index is a whole number or a tuple of them, not {type(index).__name__}"
            )
        given = tuple(index)
        if self.dims == 0 and given == (0,):
            return 0
        if len(given) != self.dims:
            raise IndexingError(
                f"index {given} has {len(given)} entries but shape {self.shape} has {self.dims} dimensions"
            )
        for d, (i, size) in enumerate(zip(given, self.shape, strict=True)):
            if not isinstance(i, (int, np.integer)):
                raise IndexingError(f"index {given} must be integers, dimension {d} is {i!r}")
            if not 0 <= i < size:
                raise IndexingError(
                    f"index {given} is out of range for shape {self.shape}: "
                    f"dimension {d} runs from 0 to {size - 1}"
                )
        return index_to_position(np.array(given, dtype=np.int32), self._strides)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """Every index, in counting order."""
        out_index = np.zeros(self.dims, dtype=np.int32)
        for ordinal in range(self.size):
            to_index(ordinal, self._shape, out_index)
            yield tuple(out_index.tolist())

    def sample(self) -> tuple[int, ...]:
        """A random valid index."""
        return tuple(random.randint(0, size - 1) for size in self.shape)

    def get(self, key: int | UserIndex) -> float:
        """The element at an index."""
        return float(self._storage[self.index(key)])

    def set(self, key: int | UserIndex, val: float) -> None:
        """Replace the element at an index."""
        if not isinstance(val, (int, float, np.number)):
            raise TypeError(f"an element must be a number, not {type(val).__name__}")
        self._storage[self.index(key)] = val

    def tuple(self) -> tuple[Any, Shape, Strides]:
        """Storage, shape and strides, as kernels take them."""
        return self._storage, self._shape, self._strides

    def permute(self, *order: int) -> TensorData:
        """The same storage with the dimensions in another order.

        >>> TensorData([1, 2, 3, 4, 5, 6], (2, 3)).permute(1, 0).shape
        (3, 2)
        """
        if sorted(order) != list(range(self.dims)):
            raise IndexingError(
                f"permute: {tuple(order)} is not an ordering of the {self.dims} dimensions of {self.shape}"
            )
        return TensorData(
            self._storage, [self.shape[d] for d in order], [self.strides[d] for d in order]
        )

    def to_string(self) -> str:
        """The elements with two decimals, one bracket a dimension, the last on one line."""
        return _format(self.to_numpy(), depth=1)


def _format(array: npt.NDArray[np.float64], depth: int) -> str:
    if array.ndim == 0:
        return f"{float(array):3.2f}"
    if array.ndim == 1:
        return "[" + " ".join(f"{x:3.2f}" for x in array.tolist()) + "]"
    return "[" + "".join("\n" + "    " * depth + _format(row, depth + 1) for row in array) + "]"


def _is_flat_float64(storage: Any) -> bool:
    """Whether a storage can be used as it is, on the CPU or on the GPU."""
    if isinstance(storage, np.ndarray):
        return storage.dtype == np.float64 and storage.ndim == 1 and storage.flags.c_contiguous
    return hasattr(storage, "copy_to_host")


def _flat_float64(storage: Iterable[float]) -> Storage:
    array = float64_array(storage, "storage must be a flat row of numbers")
    if array.ndim != 1:
        raise IndexingError(f"storage must be flat, it has shape {array.shape}")
    return array


def float64_array(values: Any, otherwise: str) -> npt.NDArray[np.float64]:
    """Numbers, nested evenly or not at all, as an array; else a TypeError that begins so."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"{otherwise}: {error}") from None
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{otherwise}, not {values!r}")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def _checked_shape(shape: UserShape) -> tuple[int, ...]:
    sizes = tuple(shape)
    if len(sizes) > MAX_DIMS:
        raise IndexingError(f"shape has {len(sizes)} dimensions, at most {MAX_DIMS} are possible")
    for size in sizes:
        if type(size) is not int and not isinstance(size, np.integer):
            raise TypeError(f"shape {sizes} must be whole numbers, found {size!r}")
        if size < 0:
            raise IndexingError(f"shape {sizes} has the negative size {size}")
    return sizes if set(map(type, sizes)) <= {int} else tuple(map(int, sizes))


def _checked_strides(strides: UserStrides, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Strides that stay inside the storage, or IndexingError."""
    given = tuple(strides)
    for s in given:
        if not isinstance(s, (int, np.integer)):
            raise TypeError(f"strides {given} must be whole numbers, found {s!r}")
    given = tuple(map(int, given))
    if len(given) != len(shape):
        raise IndexingError(f"strides {given} must be as many as the dimensions of shape {shape}")
    furthest = sum((n - 1) * s for n, s in zip(shape, given, strict=True))
    if any(s < 0 for s in given) or (size > 0 and furthest >= size):
        raise IndexingError(f"strides {given} leave the storage of a tensor of shape {shape}")
    return given
