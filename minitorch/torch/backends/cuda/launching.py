"""Kernels, and how they are started: their arguments are packed as CUDA reads them, in one go.

CuPy makes an object for each argument, which takes longer than the driver's own part of a launch where there are many of them.
"""

from __future__ import annotations

import ctypes
import threading
from struct import Struct
from typing import Any

import cupy  # pyright: ignore[reportMissingImports]
from cupy.cuda import driver, get_current_stream  # pyright: ignore[reportMissingImports]
from cupy.cuda.runtime import getDevice  # pyright: ignore[reportMissingImports]

from .signatures import format_of

MOST_BYTES = 4096
"""How many bytes of arguments a kernel may have."""

BUFFER, SIZE, END = 1, 2, 0  # CUDA's names of what a list of options says next

ndarray = cupy.ndarray


class _Thread(threading.local):
    """Memory for the arguments of a thread's launches, of which the driver makes a copy."""

    def __init__(self) -> None:
        cupy.cuda.runtime.memGetInfo()  # so that the thread has a context
        self.place = _Place()


class _Place(dict[int, int]):
    """By how many bytes of arguments there are: the address of a list that says where they are."""

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(MOST_BYTES)
        self.kept: list[Any] = []

    def __missing__(self, size: int) -> int:
        count = ctypes.c_size_t(size)
        of = BUFFER, ctypes.addressof(self.memory), SIZE, ctypes.addressof(count), END
        made = (ctypes.c_void_p * len(of))(*of)
        self.kept += made, count
        self[size] = ctypes.addressof(made)
        return self[size]


_own = _Thread()


class Kernel:
    """A kernel of a source.

    Args:
        shared: how many bytes of shared memory a launch may ask for, where that is more than usual
    """

    def __init__(self, source: str, name: str, shared: int = 0) -> None:
        self.kernel, self.shared = cupy.RawKernel(source, name), shared
        self.functions: dict[int, tuple[int, Any]] = {}  # by GPU, with what keeps them loaded
        layout = Struct(format_of(source, name))
        self.pack, self.size = layout.pack_into, layout.size

    def _load(self, gpu: int) -> tuple[int, Any]:
        """Load it on the GPU in use."""
        if self.shared:
            self.kernel.max_dynamic_shared_size_bytes = self.shared
        function = self.kernel.kernel
        self.functions[gpu] = function.ptr, function
        return self.functions[gpu]

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: Any, shared_mem: int = 0
    ) -> None:
        """Start it on the current stream; arguments are arrays, addresses, numbers, and structures as bytes."""
        gpu, place = getDevice(), _own.place
        address, _ = self.functions.get(gpu) or self._load(gpu)
        self.pack(place.memory, 0, *[x.data.ptr if type(x) is ndarray else x for x in args])
        x, y, z = (grid[0], 1, 1) if len(grid) == 1 else (*grid, 1)[:3]
        width, height, depth = (block[0], 1, 1) if len(block) == 1 else (*block, 1)[:3]
        stream = get_current_stream().ptr
        driver.launchKernel(
            address, x or 1, y or 1, z or 1, width, height, depth, shared_mem, stream, 0, place[self.size]
        )  # fmt: skip
