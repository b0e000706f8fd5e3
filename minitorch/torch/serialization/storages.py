"""From what a pickle says of a storage to the storage, on the device where it is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pickle import UnpicklingError
from reprlib import repr as brief
from typing import Any

import numpy as np

from .. import dtypes
from ..backends.interface import from_numpy, resolve
from ..device import DeviceError, device
from ..storage import TypedStorage, UntypedStorage
from . import rebuild
from .names import StorageType

MapLocation = (
    None | str | device | Mapping[str, str] | Callable[[UntypedStorage, str], UntypedStorage | None]
)
ReadBytes = Callable[[str, int], np.ndarray]


class StorageLoader:
    """Gives the storages of a file, each once.

    Args:
        read: the bytes of the storage with a key, at least as many as asked for
        map_location: where storages go, as `load` takes it
        foreign_order: whether the numbers in the file have the other byte order
    """

    def __init__(
        self, read: ReadBytes, map_location: MapLocation = None, foreign_order: bool = False
    ) -> None:
        self._read = read
        self._map_location = map_location
        self._foreign_order = foreign_order
        self._loaded: dict[str, tuple[dtypes.dtype | None, UntypedStorage]] = {}

    def __call__(self, description: Any) -> TypedStorage | UntypedStorage:
        """The storage of a description: `("storage", type, key, location, count)`."""
        key, dtype, location, count = parse(description)
        known, storage = self._loaded.get(key, (dtype, None))
        if storage is None:
            storage = self._load(key, dtype, location, count)
            self._loaded[key] = dtype, storage
        if known is not dtype or storage.nbytes() < size_in_bytes(dtype, count):
            raise UnpicklingError(f"the file describes its storage {key} in two ways")
        return storage if dtype is None else TypedStorage(wrap_storage=storage, dtype=dtype)

    def _load(
        self, key: str, dtype: dtypes.dtype | None, location: str, count: int
    ) -> UntypedStorage:
        size = size_in_bytes(dtype, count)
        memory = self._read(key, size)
        if memory.size < size:
            raise RuntimeError(
                f"the file is damaged: storage {key} has {memory.size} bytes, not the {size} of "
                f"{count} elements"
            )
        memory = memory if memory.size == size else memory[:size]
        if self._foreign_order:
            if dtype is None:
                raise RuntimeError(
                    "a storage of bytes in a file of the other byte order is unclear"
                )
            swap_bytes(memory, dtype)
        storage = UntypedStorage.over(memory)
        rebuild.make_boolean(storage, dtype)
        return place(storage, location, self._map_location)


def parse(description: Any) -> tuple[str, dtypes.dtype | None, str, int]:
    """Key, dtype (None: bytes), location and count of a storage, checked."""
    if type(description) is not tuple or len(description) < 5:
        raise UnpicklingError(
            f"persistent_load id must be a tuple about a storage, but got {type(description)}"
        )
    word, kind, key, location, count = description[:5]
    if word != "storage":
        raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {brief(word)}")
    if not isinstance(kind, StorageType) and kind is not UntypedStorage:
        raise UnpicklingError(f"there is no kind of storage {brief(kind)}")
    if type(key) is not str or type(location) is not str or type(count) is not int or count < 0:
        raise UnpicklingError(
            f"the storage {brief(key)} at {brief(location)} of {brief(count)} elements is none"
        )
    return key, kind.dtype if isinstance(kind, StorageType) else None, location, count


def size_in_bytes(dtype: dtypes.dtype | None, count: int) -> int:
    """How many bytes so many elements have."""
    return count * (1 if dtype is None else dtype.itemsize)


def swap_bytes(memory: np.ndarray, dtype: dtypes.dtype) -> None:
    """Turn the bytes of every number around."""
    size = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    numbers = memory.reshape(-1, size)
    numbers[...] = numbers[:, ::-1].copy()


def place(storage: UntypedStorage, location: str, wanted: MapLocation) -> UntypedStorage:
    """Put a storage where `map_location` says, or else where it was saved from."""
    if callable(wanted):
        placed = wanted(storage, location)
        if placed is not None:
            return placed.untyped()
    elif isinstance(wanted, Mapping):
        location = wanted.get(location, location)
    elif wanted is not None:
        location = str(wanted)
    if device(location).type == "cpu":
        return storage
    try:
        where = resolve(location)
    except DeviceError as error:
        raise RuntimeError(
            f"Attempting to deserialize object on a {location} device, which is not available here. "
            "Please use torch.load with map_location=torch.device('cpu') to map your storages to "
            f"the CPU. ({error})"
        ) from None
    return UntypedStorage.over(from_numpy(storage._memory, where))
