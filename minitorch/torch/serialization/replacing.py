"""Files that are written whole or not at all, with Torch's errors."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import BinaryIO

from ... import files


def replacing(path: str | os.PathLike[str]) -> AbstractContextManager[BinaryIO]:
    """A new file that takes the place of `path` when it is complete; RuntimeError if it cannot."""
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    if os.path.isdir(target):
        raise RuntimeError(f"{target} cannot be written: it is a directory")
    return files.replacing(target)
