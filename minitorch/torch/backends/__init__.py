"""Where arrays are computed: one folder per device. The CPU is always there."""

from importlib import import_module
from typing import Any

from .cpu import backend as _cpu  # noqa: F401

_LATER = ("cudnn", "mkl", "mkldnn", "mps", "openmp")
"""Modules that programs ask, which load when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
