"""Pillow, where it is there; a message that says how to get it, where it is not."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any


@cache
def load(name: str = "Image") -> Any:
    """A module of Pillow's; ImportError says what to do about a missing one."""
    try:
        return importlib.import_module(f"PIL.{name}")
    except ImportError:
        raise ImportError(
            "pictures need Pillow, which is not installed; get it with: pip install pillow "
            "(or pip install 'minitorch[train]')"
        ) from None


def is_picture(value: Any) -> bool:
    """Whether a value is a picture of Pillow's; without loading it."""
    image: Any = sys.modules.get("PIL.Image")
    return image is not None and isinstance(value, image.Image)


def picture(array: Any, mode: str | None = None) -> Any:
    """An array of bytes, or of other numbers that the mode says, as a picture."""
    image = load()
    if mode in (None, "L", "RGB", "RGBA", "LA", "I", "I;16", "I;16B", "F"):
        return image.fromarray(array)
    return image.frombuffer(mode, array.shape[1::-1], array.tobytes(), "raw", mode, 0, 1)


def get_image_backend() -> str:
    """The library that makes pictures of files."""
    return "PIL"


def set_image_backend(backend: str) -> None:
    """Choose the library that makes pictures of files; there is one."""
    if backend not in ("PIL", "accimage"):
        raise ValueError(f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'")
