"""Torch's `utils`: hooks of modules, checkpointing, data."""

from importlib import import_module
from typing import Any

from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks
from .swapping import swap_tensors as swap_tensors

_LATER = ("_python_dispatch", "_pytree", "data", "deterministic", "tensorboard")
"""Modules that load when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
