"""What Torch programs ask about their surroundings, and settings that mean nothing here.

Formats of memory, layouts, threads, and determinism: the names exist so that programs run;
what has an effect in Torch and none here says so in its docstring.
"""

from __future__ import annotations

import math
import os
from typing import Any

from ..threads import get_num_threads as get_num_threads
from ..threads import set_num_threads as set_num_threads
from . import dtypes
from .backends.interface import others, resolve
from .device import CPU, set_default, where_new
from .device import device as place

if "NUMBA_NUM_THREADS" in os.environ and "OPENBLAS_NUM_THREADS" not in os.environ:
    set_num_threads(get_num_threads())  # for the BLAS, which does not know the first

inf, nan, pi, e = math.inf, math.nan, math.pi, math.e
newaxis = None


class memory_format:  # noqa: N801
    """An order of a tensor's elements in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class layout(memory_format):  # noqa: N801
    """How a tensor's elements are stored."""

    def __reduce__(self) -> Any:
        from .serialization.rebuild import layout as by_name

        return by_name, (repr(self),)


class qscheme(memory_format):  # noqa: N801
    """How the whole numbers of a quantized tensor are to be read."""

    def __reduce__(self) -> str:
        return self.name  # a name of this file: one object for each


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")

contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")
legacy_contiguous_format = contiguous_format
strided = layout("strided")
jagged = layout("jagged")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")


class _Settings:
    deterministic = False
    warn_only = False
    matmul_precision = "highest"
    warn_always = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Note the wish; all algorithms here are deterministic."""
    _Settings.deterministic, _Settings.warn_only = bool(mode), warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return _Settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return _Settings.warn_only


def set_deterministic_debug_mode(debug_mode: Any) -> None:
    """Note the wish; all algorithms here are deterministic."""
    _Settings.deterministic = debug_mode not in (0, "default")


def set_float32_matmul_precision(precision: str) -> None:
    """How exact products in float32 are on a GPU; those on the CPU are always in full precision."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _Settings.matmul_precision = precision
    for backend in others:
        backend.set_precision(precision)


def get_float32_matmul_precision() -> str:
    """The precision set by `set_float32_matmul_precision`."""
    return _Settings.matmul_precision


def get_num_interop_threads() -> int:
    """How many threads run operations in parallel: one."""
    return 1


def set_num_interop_threads(num: int) -> None:
    """Has no effect: operations run one after the other."""


def set_flush_denormal(mode: bool) -> bool:
    """Denormal numbers are always kept; says whether that is what was wanted."""
    return not mode


def set_default_device(device: Any) -> None:
    """Where new tensors go, in this thread, unless a call or `with torch.device(...)` says otherwise."""
    set_default(None if device is None else resolve(device))


def get_default_device() -> Any:
    """Where new tensors go."""
    return where_new() or CPU


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: `torch.cpu`."""
    from importlib import import_module

    return import_module(f"{__package__}.{place(device or 'cpu').type}")


def get_deterministic_debug_mode() -> int:
    """0: anything goes; 1: warn; 2: deterministic algorithms only."""
    return _Settings.deterministic * (1 if _Settings.warn_only else 2)


def is_warn_always_enabled() -> bool:
    """Whether warnings come each time."""
    return _Settings.warn_always


def set_warn_always(mode: bool) -> None:
    """Note the wish; Python's `warnings` decide how often a warning comes."""
    _Settings.warn_always = bool(mode)


def is_vulkan_available() -> bool:
    """There is no Vulkan here."""
    return False


def set_default_tensor_type(t: Any) -> None:
    """Set the default floating point type by an old tensor type's name."""
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    found = [d for d in dtypes.ALL if d.type_name == name.removeprefix("torch.")]
    if not found:
        raise TypeError(f"invalid type object: {t}")
    dtypes.set_default_dtype(found[0])


def compiled_with_cxx11_abi() -> bool:
    """There is no C++ here."""
    return True


def install() -> None:
    """Let `import torch`, and its like, mean this library from now on, here and in spawned processes."""
    from .runner import install

    install()
