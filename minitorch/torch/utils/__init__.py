"""Torch's `utils`: hooks of modules, checkpointing, data."""

from importlib import import_module
from typing import Any

from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks


def __getattr__(name: str) -> Any:
    if name in (
        "_python_dispatch",
        "data",
        "tensorboard",
    ):  # which load when they are first asked for
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
