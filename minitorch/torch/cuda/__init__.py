"""NVIDIA's GPUs, as programs ask for them: which there are, their memory, their streams.

The backend (`backends/cuda`) answers; it is looked for when it is first needed. Where there is
no GPU, questions are answered (`is_available()` is False), and requests are errors that say what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..backends.cuda.backend import Cuda, find_cuda, require_cuda
from ..device import device as _device
from . import amp as amp
from . import nvtx as nvtx
from .graphs import CUDAGraph as CUDAGraph
from .graphs import graph as graph
from .memory import empty_cache as empty_cache
from .memory import max_memory_allocated as max_memory_allocated
from .memory import max_memory_cached as max_memory_cached
from .memory import max_memory_reserved as max_memory_reserved
from .memory import mem_get_info as mem_get_info
from .memory import memory_allocated as memory_allocated
from .memory import memory_cached as memory_cached
from .memory import memory_reserved as memory_reserved
from .memory import memory_stats as memory_stats
from .memory import memory_summary as memory_summary
from .memory import reset_max_memory_allocated as reset_max_memory_allocated
from .memory import reset_peak_memory_stats as reset_peak_memory_stats
from .random import get_rng_state as get_rng_state
from .random import get_rng_state_all as get_rng_state_all
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import manual_seed_all as manual_seed_all
from .random import seed as seed
from .random import seed_all as seed_all
from .random import set_rng_state as set_rng_state
from .random import set_rng_state_all as set_rng_state_all
from .streams import Event as Event
from .streams import Stream as Stream
from .streams import StreamContext as StreamContext
from .streams import current_stream as current_stream
from .streams import default_stream as default_stream
from .streams import set_stream as set_stream
from .streams import stream as stream

# --- Which there are ---------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether tensors can live on a GPU."""
    return find_cuda()[0] is not None


def device_count() -> int:
    """How many GPUs there are for tensors."""
    backend = find_cuda()[0]
    return 0 if backend is None else backend.count()


def is_initialized() -> bool:
    """Whether GPUs have been looked for and found."""
    return find_cuda.cache_info().currsize > 0 and is_available()


def init() -> None:
    """Initialize the GPUs; an error if there are none."""
    require_cuda()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes with bfloat16."""
    return is_available()


def is_current_stream_capturing() -> bool:
    """Whether work is being noted for a graph: not by this library."""
    return False


# --- Which one is meant ------------------------------------------------------------------------------


def index_of(backend: Cuda, given: Any = None) -> int:
    """The number of a GPU that is named in any way; by default the one in use."""
    if given is None:
        return backend.current()
    where = given if isinstance(given, _device) else _device(given)
    if where.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {where}")
    index = backend.current() if where.index is None else where.index
    if not 0 <= index < backend.count():
        raise RuntimeError(
            f"CUDA error: invalid device ordinal {index}: there are {backend.count()}"
        )
    return index


def current_device() -> int:
    """Which GPU is in use."""
    return require_cuda().current()


def set_device(device: Any) -> None:
    """Use a GPU from now on."""
    backend = require_cuda()
    backend.use(index_of(backend, device))


@contextmanager
def device(device: Any) -> Iterator[None]:
    """Use a GPU for a while."""
    backend = require_cuda()
    before = backend.current()
    backend.use(index_of(backend, device))
    try:
        yield
    finally:
        backend.use(before)


@contextmanager
def device_of(obj: Any) -> Iterator[None]:
    """Use the GPU that a tensor is on for a while."""
    if obj.device.type != "cuda":
        yield
        return
    with device(obj.device):
        yield


def synchronize(device: Any = None) -> None:
    """Wait until a GPU has done all its work."""
    backend = require_cuda()
    backend.synchronize(index_of(backend, device))


# --- What it is --------------------------------------------------------------------------------------


def get_device_properties(device: Any = None) -> Any:
    """A GPU's `name`, `major`, `minor`, `total_memory`, `multi_processor_count`, ..."""
    backend = require_cuda()
    return backend.properties(index_of(backend, device))


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """What a GPU can do, as NVIDIA numbers it."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_arch_list() -> list[str]:
    """The GPUs that kernels are compiled for: those that are here."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a GPU reads the memory of another by itself: tensors are moved by way of the CPU."""
    return False


def ipc_collect() -> None:
    """Give back memory that other processes no longer use: none is shared."""


def __getattr__(name: str) -> Any:
    """`_initialized`, which libraries read before they ask for the random numbers of GPUs."""
    if name == "_initialized":
        return is_initialized()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
