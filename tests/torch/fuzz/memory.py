"""Memory that ends at a page which may not be touched, so that reading past it is a crash."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import torch as real

from ..oracle import leaves

_NO_ACCESS = 0
_ROOM = 256 * 1024
_SLOTS = 12

_c = ctypes.CDLL(None, use_errno=True)
_c.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class GuardedMemory:
    """Some slots, each between two pages that may not be touched."""

    def __init__(self) -> None:
        self.slots = [_GuardedSlot() for _ in range(_SLOTS)]
        self.next = 0

    def place(self, data: np.ndarray, at_end: bool) -> np.ndarray:
        """A copy of bytes right before the page after the slot, or right behind the one before it."""
        if not 0 < data.size <= _ROOM:
            return data.copy()
        slot = self.slots[self.next % _SLOTS]
        self.next += 1
        spot = slot.part(_ROOM - data.size if at_end else 0, data.size)
        spot[...] = data
        return spot

    def memories(self, value: Any, at_end: bool) -> dict[int, Any]:
        """Copies of the memory of all tensors in a value, as `oracle.to_ours` takes them."""
        placed: dict[int, Any] = {}
        for t in leaves(value):
            storage = t.untyped_storage()
            if storage.data_ptr() not in placed and t.layout is real.strided:
                data = real.tensor([], dtype=real.uint8).set_(storage).numpy()
                placed[storage.data_ptr()] = storage, self.place(data, at_end)
        return placed


class _GuardedSlot:
    """Memory between two pages that may not be touched."""

    def __init__(self) -> None:
        page = mmap.PAGESIZE
        self.area = mmap.mmap(-1, _ROOM + 2 * page)
        before = ctypes.addressof(ctypes.c_char.from_buffer(self.area))
        self.start = before + page
        for address in (before, self.start + _ROOM):
            if _c.mprotect(address, page, _NO_ACCESS):
                raise OSError(ctypes.get_errno(), "mprotect failed")

    def part(self, offset: int, size: int) -> np.ndarray:
        """An array of some bytes that knows nothing of the rest."""
        bytes_there: Any = (ctypes.c_uint8 * size).from_address(self.start + offset)
        return np.frombuffer(bytes_there, np.uint8)
