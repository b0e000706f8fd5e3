"""Where Torch keeps tools of quantization."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("nn", "quantization"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
