"""The memory behind tensors: a run of bytes that several of them may share.

A tensor is a view: memory, an offset into it, a shape and strides. NumPy keeps the memory
with the array that allocated it, at the end of the chain of `base`; this file finds it,
says where in it an array lies, and makes arrays over it again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np

from . import dtypes
from .backends.interface import ARRAYS, address_of, backend_of
from .device import CPU, device
from .tensor import Tensor, wrap

Array = Any
"""A NumPy array."""


# --- Arrays and their memory -------------------------------------------------------------


def root_of(array: Array) -> Array:
    """The array that has the memory of another, through all views in between."""
    while (base := _owner(array.base)) is not None:
        array = base
    return array


def _owner(base: Any) -> Array | None:
    """The array behind what NumPy notes as a base: itself, or in a wrapper or a memoryview."""
    if isinstance(base, np.ndarray) or type(base) in ARRAYS:
        return base
    inner = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return inner if isinstance(inner, np.ndarray) else None


def bytes_of(root: Array) -> Array | None:
    """The memory of an array as bytes in order; None if it has gaps."""
    in_order = root.transpose(np.argsort(root.strides, kind="stable")[::-1].tolist())
    return in_order.reshape(-1).view(np.uint8) if in_order.flags.c_contiguous else None


class View(NamedTuple):
    """An array as Torch describes it: memory, and where in it, counted in elements."""

    root: Array
    memory: Array
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def locate(array: Array) -> View:
    """Where an array lies in its memory.

    An array that Torch cannot describe (read backwards, or of another byte order) is copied.
    """
    root = root_of(array)
    memory = bytes_of(root)
    if memory is not None and array.dtype.isnative:
        offset, rest = divmod(address_of(array) - address_of(memory), array.itemsize)
        strides = _element_strides(array)
        if rest == 0 and strides is not None and offset >= 0:
            end = offset + _extent(array.shape, strides)
            if end * array.itemsize <= memory.size:
                return View(root, memory, offset if array.size else 0, array.shape, strides)
    return locate(array.astype(array.dtype.newbyteorder("="), order="C"))


def _element_strides(array: Array) -> tuple[int, ...] | None:
    """Strides in elements; None where one is negative or between elements."""
    if any(s < 0 or s % array.itemsize for s in array.strides):
        return None
    return tuple(s // array.itemsize for s in array.strides)


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory a view spans from its offset on."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def array_over(
    memory: Array, dtype: Any, offset: int, shape: Sequence[int], strides: Sequence[int]
) -> Array:
    """An array over bytes; RuntimeError if it would reach outside of them."""
    numbers = (offset, *shape, *strides)
    if len(shape) != len(strides) or any(type(n) is not int or n < 0 for n in numbers):
        raise RuntimeError(
            f"a tensor cannot have sizes {short(shape)}, strides {short(strides)}, "
            f"storage offset {short(offset)}"
        )
    end = offset + _extent(shape, strides)
    if end * dtype.itemsize > memory.size and 0 not in shape:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and "
            f"itemsize {dtype.itemsize} requiring a storage size of {end * dtype.itemsize} are out of "
            f"bounds for storage of size {memory.size}"
        )
    start = offset * dtype.itemsize if 0 not in shape else 0
    steps = [stride * dtype.itemsize for stride in strides]
    try:
        if isinstance(memory, np.ndarray):
            return np.ndarray(tuple(shape), dtype, buffer=memory, offset=start, strides=steps)
        elements = memory[start : start + end * dtype.itemsize].view(dtype)
        return backend_of(memory).strided(elements, tuple(shape), tuple(steps))
    except (ValueError, OverflowError, MemoryError) as error:
        raise RuntimeError(f"a tensor cannot have sizes {list(shape)}: {error}") from None


# --- Torch's names for it ----------------------------------------------------------------


class StorageBase:
    """What storages of bytes are instances of."""


class UntypedStorage(StorageBase):
    """Bytes, as `tensor.untyped_storage()` gives them; writing to them writes to the tensor."""

    def __init__(self, size: int = 0) -> None:
        self._memory = self._root = np.zeros(size, np.uint8)

    @classmethod
    def over(cls, memory: Array, root: Array | None = None) -> UntypedStorage:
        """A storage of given bytes; `root` is the array that has them."""
        storage = object.__new__(cls)
        storage._memory = memory
        storage._root = memory if root is None else root
        return storage

    @classmethod
    def from_file(
        cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0
    ) -> UntypedStorage:
        """The first bytes of a file as memory; what is written there reaches it where `shared`."""
        if not nbytes:
            return cls()
        if shared:
            with open(filename, "ab") as file:
                file.truncate(max(file.tell(), nbytes))
        try:
            return cls.over(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=nbytes))
        except (OSError, ValueError) as error:
            raise RuntimeError(f"unable to map {nbytes} bytes of <{filename}>: {error}") from None

    @property
    def device(self) -> device:
        """Where the memory is."""
        if isinstance(self._memory, np.ndarray):
            return CPU
        return backend_of(self._memory).device_of(self._memory)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.device.type == "cuda"

    def data_ptr(self) -> int:
        """The address of the first byte; 0 if there is none."""
        return address_of(self._memory) if self._memory.size and self.device.type != "meta" else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._memory.size

    size = nbytes
    __len__ = nbytes

    def element_size(self) -> int:
        """The size of an element: a byte."""
        return 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return UntypedStorage.over(self._memory[index], self._root)
        return int(self._memory[index].item())

    def __setitem__(self, index: Any, value: int) -> None:
        self._memory[index] = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.cpu()._memory, dtype, copy=copy)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as whole numbers."""
        return self._memory.tolist()

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte."""
        self._memory[...] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool | None = None) -> UntypedStorage:
        """Take the bytes of another storage."""
        self._memory[...] = source._memory
        return self

    def clone(self) -> UntypedStorage:
        """A storage of its own with the same bytes."""
        return UntypedStorage.over(self._memory.copy())

    def cpu(self) -> UntypedStorage:
        """The storage in the machine's main memory: itself, or a copy."""
        if isinstance(self._memory, np.ndarray):
            return self
        return UntypedStorage.over(backend_of(self._memory).to_numpy(self._memory))

    def untyped(self) -> UntypedStorage:
        """The same storage."""
        return self

    def is_shared(self) -> bool:
        """Whether other processes see the memory."""
        return False

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UntypedStorage)
            and self.data_ptr() == other.data_ptr()
            and self.nbytes() == other.nbytes()
        )

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return UntypedStorage.over, (self._memory.copy(),)

    def __repr__(self) -> str:
        known = self.device.type != "meta"
        lines = "".join(f" {byte}\n" for byte in self.tolist()) if known else "...\n"
        return (
            f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        )


class TypedStorage:
    """Elements in order of memory, as the old `tensor.storage()` gives them."""

    def __init__(
        self, *, wrap_storage: UntypedStorage | None = None, dtype: dtypes.dtype | None = None
    ) -> None:
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        self._untyped_storage = UntypedStorage() if wrap_storage is None else wrap_storage

    @property
    def device(self) -> device:
        """Where the memory is."""
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def data_ptr(self) -> int:
        """The address of the first element; 0 if there is none."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """How many bytes an element has."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many whole elements there are."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def _elements(self) -> Array:
        memory = self._untyped_storage._memory
        return array_over(memory, self.dtype.numpy, 0, (self.size(),), (1,))

    def __getitem__(self, index: Any) -> Any:
        return self._elements()[index].tolist()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements()[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        return self._elements().tolist()

    def clone(self) -> TypedStorage:
        """A storage of its own with the same elements."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """The storage in the machine's main memory: itself, or a copy."""
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypedStorage)
            and self.dtype is other.dtype
            and self._untyped_storage == other._untyped_storage
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self._untyped_storage))

    def __repr__(self) -> str:
        lines = "".join(f" {element}\n" for element in self.tolist())
        about = f"dtype={self.dtype}, device={self.device}"
        return f"{lines}[torch.storage.TypedStorage({about}) of size {self.size()}]"


def untyped_storage(tensor: Tensor) -> UntypedStorage:
    """The memory of a tensor, with all that other views see of it."""
    root = root_of(tensor._array)
    memory = bytes_of(root)
    if memory is None:
        raise RuntimeError(
            "the memory of this tensor belongs to an array with gaps; clone it first"
        )
    return UntypedStorage.over(memory, root)


def storage(tensor: Tensor) -> TypedStorage:
    """The memory of a tensor as elements of its dtype."""
    return TypedStorage(wrap_storage=untyped_storage(tensor), dtype=tensor.dtype)


def tensor_over(
    storage: UntypedStorage | TypedStorage,
    dtype: dtypes.dtype,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
) -> Tensor:
    """A tensor over a storage; RuntimeError if it would reach outside of it."""
    memory = storage.untyped()._memory
    return wrap(array_over(memory, dtype.numpy, offset, tuple(size), tuple(stride)))


def is_storage(obj: Any, /) -> bool:
    """Whether a value is the memory of tensors."""
    return isinstance(obj, (TypedStorage, UntypedStorage))
