"""Where a checkpoint is: a folder, named in one of Torch's ways; and objects that have a state."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .metadata import Metadata, read_metadata


@runtime_checkable
class Stateful(Protocol):
    """An object that gives its state, and takes one over."""

    def state_dict(self) -> dict[str, Any]:
        """Its state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""
        ...


class _FileSystem:
    """A folder for a checkpoint."""

    def __init__(self, path: str | os.PathLike[str], *_: Any, **__: Any) -> None:
        self.path = Path(path)


class FileSystemWriter(_FileSystem):
    """Says into which folder a checkpoint is saved."""


class FileSystemReader(_FileSystem):
    """Says from which folder a checkpoint is loaded."""

    def read_metadata(self) -> Metadata:
        """What the checkpoint has."""
        return read_metadata(self.path)


def folder_of(checkpoint_id: Any, storage: Any) -> Path:
    """The folder that a call means."""
    if checkpoint_id is not None:
        return Path(checkpoint_id)
    if storage is None:
        raise RuntimeError(
            "Cannot infer the checkpoint's folder: give checkpoint_id, or a FileSystemWriter or FileSystemReader"
        )
    return Path(storage.path)
