"""As much of CuPy as the code around kernels needs, with arrays in main memory: launches are noted, and compute nothing."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

launches: list[tuple[tuple[int, ...], bytes]] = []
"""The grid and block of each launch, and its arguments as CUDA reads them."""


class ndarray(np.ndarray):  # noqa: N801
    """An array that says where it is as CuPy's do."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def _c_contiguous(self) -> bool:
        return self.flags.c_contiguous


class PinnedMemory(bytearray):
    """Memory of the CPU that a GPU could read."""

    @property
    def ptr(self) -> int:
        return np.frombuffer(self, np.uint8).ctypes.data


gpu_in_use = [0]
"""Its number."""

functions: list[int] = []
"""Which function each launch starts."""


class RawKernel:
    """A kernel, which is another function on each GPU."""

    def __init__(self, source: str, name: str) -> None:
        self.max_dynamic_shared_size_bytes = 0

    @property
    def kernel(self) -> Any:
        return SimpleNamespace(ptr=100 + gpu_in_use[0])


def launch(function: int, *args: int) -> None:
    """Note a launch: sizes, shared memory, a stream, no list of addresses, and the options that say where its arguments are."""
    *sizes, _shared, _stream, _addresses, options = args
    _, where, _, size, _ = (ctypes.c_void_p * 5).from_address(options)
    count = ctypes.c_size_t.from_address(size or 0).value
    functions.append(function)
    launches.append((tuple(sizes), ctypes.string_at(where or 0, count)))


def install() -> None:
    """Let imports find it in CuPy's place."""
    names = (
        "cupy",
        "cupy.cuda",
        "cupy.cuda.runtime",
        "cupy_backends",
        "cupy_backends.cuda",
        "cupy_backends.cuda.libs",
    )
    sys.modules |= {name: ModuleType(name) for name in names}
    stream = SimpleNamespace(ptr=0, synchronize=lambda: None)
    vars(sys.modules["cupy.cuda"]).update(
        driver=SimpleNamespace(launchKernel=launch), get_current_stream=lambda: stream,
        runtime=sys.modules["cupy.cuda.runtime"], alloc_pinned_memory=PinnedMemory,
    )  # fmt: skip
    vars(sys.modules["cupy.cuda.runtime"]).update(
        memGetInfo=lambda: (0, 0), getDevice=lambda: gpu_in_use[0]
    )
    vars(sys.modules["cupy"]).update(
        cuda=sys.modules["cupy.cuda"], ndarray=ndarray, asarray=lambda x: np.array(x).view(ndarray),
        RawKernel=RawKernel,
    )  # fmt: skip
    vars(sys.modules["cupy_backends.cuda.libs"])["cublas"] = None
