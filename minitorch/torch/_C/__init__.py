"""What libraries ask Torch's C++ module: answers, where there is one.

Nothing here is C++. Names that other libraries ask for without need are answered as a build without
them would; all others are missing, and `hasattr` says so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..accelerator import current_accelerator
from ..autograd.graph import Node as _FunctionBase
from ..autograd.modes import _set_grad_enabled
from ..backends import cudnn
from ..cuda import current_stream
from ..device import device
from ..dtypes import dtype
from ..environment import layout, memory_format
from ..generator import Generator
from ..overriding import DisableTorchFunction, DisableTorchFunctionSubclass
from ..overriding import disabled as _disabled_torch_function_impl
from ..symbols import SymBool, SymFloat, SymInt
from ..tensor import Size
from ..tensor import Tensor as TensorBase

_TensorBase = TensorBase
_TensorMeta = type(TensorBase)
_has_mps = _has_cuda = _has_mkldnn = False


class Graph:
    """A graph of Torch's script compiler: there are none."""


class Value:
    """A value in such a graph: there are none."""


class ScriptModule:
    """A compiled module: there are none."""


class ScriptMethod:
    """A method of such a module: there are none."""


class TensorType:
    """The type of a tensor in such a graph: there are none."""


def _get_tracing_state() -> None:
    """What Torch's script compiler traces just now: nothing, ever."""


def _are_functorch_transforms_active() -> bool:
    """Whether a function is just now called on a batch of examples."""
    from ..func.vmapping import active

    return bool(active)


def _is_tracing() -> bool:
    """Whether Torch's script compiler traces: never."""
    return False


def _get_accelerator() -> device:
    """The accelerator of this machine, or the CPU."""
    return current_accelerator() or device("cpu")


def _log_api_usage_once(name: str) -> None:
    """Nothing is logged."""


def _cuda_getCurrentRawStream(device: int) -> int:
    """The address of the stream in use on a GPU."""
    return current_stream(device).cuda_stream


def _get_cudnn_enabled() -> bool:
    """Whether NVIDIA's library of layers may be used."""
    return cudnn.enabled


__all__: list[str] = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "Generator", "Graph", "ScriptMethod", "ScriptModule", "Size",
    "SymBool", "SymFloat", "SymInt", "TensorBase", "TensorType", "Value", "_FunctionBase", "_TensorBase",
    "_disabled_torch_function_impl", "_set_grad_enabled", "device", "dtype", "layout", "memory_format",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Switches of Torch's script compiler do nothing: there is none."""
    if name in ("_nn", "_functorch"):
        return import_module(f"{__name__}.{name}")
    if name == "_DisableTorchDispatch":
        return import_module("..wrappers", __name__).DisableTorchDispatch
    if name.startswith(("_jit_set_", "_jit_override_")):
        return lambda *_: None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
