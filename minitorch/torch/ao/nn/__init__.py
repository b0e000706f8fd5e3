"""Where Torch keeps the modules of quantization: `quantized`, `intrinsic` and `qat`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("intrinsic", "qat", "quantized"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
