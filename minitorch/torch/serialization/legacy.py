"""Files of Torch before 1.6, to be read only: four pickles, a list of keys, the storages.

the magic number, the protocol's version, facts about the system, the object;
the keys of all storages; then of each its number of elements and its bytes
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pickle import UnpicklingError
from reprlib import repr as brief
from typing import Any

import numpy as np

from .. import dtypes
from ..storage import TypedStorage, UntypedStorage
from . import rebuild
from .storages import MapLocation, parse, place, size_in_bytes, swap_bytes

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001

ReadPickle = Callable[[memoryview, int, Callable[[Any], Any]], tuple[Any, int]]


def load_legacy(data: memoryview, read_pickle: ReadPickle, map_location: MapLocation) -> Any:
    """The object of an old file; `read_pickle(data, position, persistent_load)` reads one pickle."""
    if not len(data):
        raise EOFError("Ran out of input: the file is empty")
    storages = _Storages(len(data), map_location)
    position, parts = 0, []
    for _ in range(5):
        part, position = read_pickle(data, position, storages)
        parts.append(part)
        if parts[0] != MAGIC:
            raise UnpicklingError("Invalid magic number; corrupt file?")
    _, version, system, obj, keys = parts
    if version != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {brief(version)}")
    foreign = isinstance(system, dict) and system.get("little_endian") is False
    storages.fill(keys, data[position:], foreign)
    return obj


class _Storages:
    """Storages that the object refers to before their bytes are read."""

    def __init__(self, limit: int, map_location: MapLocation) -> None:
        self._left = limit
        self._map_location = map_location
        self._by_key: dict[str, tuple[dtypes.dtype, UntypedStorage]] = {}

    def __call__(self, description: Any) -> TypedStorage:
        """The storage of a description, its elements still to come."""
        key, dtype, location, count = parse(description)
        if dtype is None or (len(description) > 5 and description[5] is not None):
            raise UnpicklingError(f"storage {key} is of a kind that cannot be read from old files")
        size = size_in_bytes(dtype, count)
        if key not in self._by_key:
            self._left -= size
            if self._left < 0:
                raise RuntimeError(f"the file is cut off: storage {key} needs {size} bytes")
            empty = UntypedStorage.over(np.zeros(size, np.uint8))
            self._by_key[key] = dtype, place(empty, location, self._map_location)
        known, storage = self._by_key[key]
        if known is not dtype or storage.nbytes() != size:
            raise UnpicklingError(f"the file describes its storage {key} in two ways")
        return TypedStorage(wrap_storage=storage, dtype=dtype)

    def fill(self, keys: Any, data: memoryview, foreign_order: bool) -> None:
        """Read the bytes of all storages, in the order of their keys."""
        if type(keys) is not list or any(type(key) is not str for key in keys):
            raise UnpicklingError("the keys of the file's storages are no list of texts")
        if set(keys) != set(self._by_key):
            raise UnpicklingError("the file does not have the storages that its tensors need")
        position = 0
        for key in keys:
            dtype, storage = self._by_key[key]
            begin, end = position + 8, position + 8 + storage.nbytes()
            if end > len(data):
                raise RuntimeError(f"the file is cut off in storage {key}")
            (count,) = struct.unpack_from(">q" if foreign_order else "<q", data, position)
            if size_in_bytes(dtype, count) != storage.nbytes():
                raise UnpicklingError(f"the file describes its storage {key} in two ways")
            storage._memory[...] = np.frombuffer(data[begin:end], np.uint8)
            if foreign_order:
                swap_bytes(storage._memory, dtype)
            rebuild.make_boolean(storage, dtype)
            position = end
