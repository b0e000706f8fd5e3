"""Lesson 3: the GPU as a device: is there one, move numbers to it, compile for it.

Everything that this library asks of `numba.cuda` besides the kernels themselves is here.
Importing this needs no GPU; asking for memory or for a kernel without one is an error
that says what is missing.

With `NUMBA_ENABLE_CUDASIM=1` in the environment before Numba is imported, kernels run
in Numba's simulator: Python runs every CUDA thread. That is slow, and enough to
learn and to test on any machine.
"""

from __future__ import annotations

import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

if TYPE_CHECKING:
    from .tensor_data import TensorData

if not hasattr(np, "row_stack"):  # NumPy 2.5 dropped the name, numba-cuda compiles with it
    np.row_stack = np.vstack  # type: ignore  # noqa: NPY201

try:
    from numba import cuda as _cuda
except ImportError:
    _cuda = None

cuda: Any = _cuda
SIMULATED = bool(numba.config.ENABLE_CUDASIM)  # type: ignore
if SIMULATED:
    from . import cuda_simulator

    cuda_simulator.mend()
warnings.filterwarnings(
    "ignore", ".*Grid size .* under-utilization"
)  # small tensors are no mistake


@cache
def available() -> bool:
    """Whether kernels can run: on a GPU, or in the simulator."""
    return cuda is not None and bool(cuda.is_available())


def require() -> None:
    """Raise RuntimeError, saying what is missing, unless kernels can run."""
    if available():
        return
    if cuda is None:
        missing = "Numba's CUDA target is not installed"
    else:
        missing = "Numba finds no usable NVIDIA GPU, driver or CUDA toolkit"
    raise RuntimeError(
        f"CUDA: {missing}. The GPU backend needs an NVIDIA GPU with its driver, and "
        f"`pip install 'minitorch[cuda]'`. To run it without a GPU, slowly, set "
        f"NUMBA_ENABLE_CUDASIM=1 in the environment before Python starts. "
        f"On the CPU, use minitorch.FastOps."
    )


def is_on_device(storage: Any) -> bool:
    """Whether a storage is a device array."""
    return hasattr(storage, "copy_to_host")


def to_device(storage: Any) -> Any:
    """The storage as a device array; itself if it is one."""
    if is_on_device(storage):
        return storage
    require()
    return cuda.to_device(storage)


_free: defaultdict[int, list[Any]] = defaultdict(list)
"""Device memory that no array uses any more, by how many numbers it holds."""


def empty(size: int) -> Any:
    """A device array of float64, not filled with anything.

    Asking the driver for memory takes longer than most kernels, and giving it back waits
    for all of them, so memory goes from array to array. That is safe while kernels run:
    they run one after the other, and what is written next is launched last.
    """
    require()
    if SIMULATED or size == 0:
        return cuda.device_array(size, np.float64)
    unused = _free[size]
    memory = unused.pop() if unused else _allocate(size)
    array = cuda.cudadrv.devicearray.DeviceNDArray((size,), (8,), np.float64, gpu_data=memory)
    weakref.finalize(array, unused.append, memory).atexit = False
    return array


def _allocate(size: int) -> Any:
    try:
        return cuda.device_array(size, np.float64).gpu_data
    except cuda.cudadrv.driver.CudaAPIError:  # full: give back what nobody uses, try again
        _free.clear()
        return cuda.device_array(size, np.float64).gpu_data


@lru_cache(maxsize=4096)
def ints(values: tuple[int, ...]) -> Any:
    """A shape or strides as kernels take them, an int32 device array; made once per value."""
    require()
    return cuda.to_device(np.array(values, dtype=np.int32))


@lru_cache(maxsize=1024)
def number(value: float) -> Any:
    """A device array of one number, never written to; made once per value."""
    require()
    return cuda.to_device(np.array([value], dtype=np.float64))


@lru_cache(maxsize=1024)
def jit(kernel: Callable[..., None], max_registers: int | None = None) -> Any:
    """A kernel, compiled at its first launch: `jit(kernel)[blocks, threads](...)`."""
    require()
    if max_registers is None or SIMULATED:
        return cuda.jit(kernel)
    return cuda.jit(max_registers=max_registers)(kernel)


@lru_cache(maxsize=1024)
def device_function(fn: Callable[..., Any]) -> Any:
    """A function that kernels may call, compiled with the first that does.

    Without a GPU it stays as it is, so that files with kernels can be imported anywhere.
    """
    return cuda.jit(device=True)(fn) if available() and not hasattr(fn, "py_func") else fn


def synchronize() -> None:
    """Wait until all launched kernels are done."""
    require()
    cuda.synchronize()


# --- What a launch needs ----------------------------------------------------------


def storage(data: TensorData) -> Any:
    """The storage of a tensor that is on the device; RuntimeError if it is not."""
    if not is_on_device(data._storage):
        raise RuntimeError(
            f"CUDA: a tensor of shape {data.shape} is not on the GPU; make it with "
            f"backend=minitorch.TensorBackend(minitorch.CudaOps)"
        )
    return data._storage


def launch_arguments(data: TensorData) -> tuple[Any, Any, Any]:
    """Storage, shape and strides on the device, as kernels take them."""
    return storage(data), ints(data.shape), ints(data.strides)


def ceil_div(a: int, b: int) -> int:
    """How many blocks of b cover a."""
    return -(-a // b)
