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

from .signatures import format_of

MOST_BYTES = 4096
"""How many bytes of arguments a kernel may have."""

BUFFER, SIZE, END = 1, 2, 0  # CUDA's names of what a list of options says next

ndarray = cupy.ndarray


class _Thread(threading.local):
    """Memory for the arguments of a thread's launches, of which the driver makes a copy."""

    def __init__(self) -> None:
        cupy.cuda.runtime.memGetInfo()  # so that the thread has a context
        self.memory = ctypes.create_string_buffer(MOST_BYTES)
        self.options: dict[int, Any] = {}

    def options_for(self, size: int) -> int:
        """The address of a list that says where so many bytes of arguments are."""
        count = ctypes.c_size_t(size)
        of = BUFFER, ctypes.addressof(self.memory), SIZE, ctypes.addressof(count), END
        made = (ctypes.c_void_p * len(of))(*of)
        self.options[size] = ctypes.addressof(made), made, count
        return ctypes.addressof(made)


_own = _Thread()


class Kernel:
    """A kernel of a source.

    Args:
        shared: how many bytes of shared memory a launch may ask for, where that is more than usual
    """

    def __init__(self, source: str, name: str, shared: int = 0) -> None:
        kernel = cupy.RawKernel(source, name)
        if shared:
            kernel.max_dynamic_shared_size_bytes = shared
        self.function = kernel.kernel  # which keeps its module loaded
        layout = Struct(format_of(source, name))
        self.address, self.pack, self.size = self.function.ptr, layout.pack_into, layout.size

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: Any, shared_mem: int = 0
    ) -> None:
        """Start it on the current stream; arguments are arrays, addresses, numbers, and structures as bytes."""
        own = _own
        self.pack(own.memory, 0, *[x.data.ptr if type(x) is ndarray else x for x in args])
        found = own.options.get(self.size)
        options = own.options_for(self.size) if found is None else found[0]
        gx, gy, gz = (*grid, 1, 1)[:3]
        bx, by, bz = (*block, 1, 1)[:3]
        stream = get_current_stream().ptr
        driver.launchKernel(
            self.address, gx or 1, gy or 1, gz or 1, bx, by, bz, shared_mem, stream, 0, options
        )
