"""Checkpoints of many files as one file of `torch.save`, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...ops.creation import empty
from ...serialization import load as load_file
from ...serialization import save as save_file
from .index import read_index
from .loading import load
from .metadata import TensorStorageMetadata, read_metadata
from .saving import save


def dcp_to_torch_save(dcp_checkpoint_dir: Any, torch_save_path: Any) -> None:
    """Write all of a checkpoint, as nested dictionaries, into one file."""
    entries = read_index(Path(dcp_checkpoint_dir))
    contents = read_metadata(dcp_checkpoint_dir).state_dict_metadata
    flat = {name: _room(about) for name, about in contents.items()}
    load(flat, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
    state: dict[str | int, Any] = {}
    for name, value in flat.items():
        *path, last = entries[name].path or [name]
        inner = state
        for key in path:
            inner = inner.setdefault(key, {})
        inner[last] = value
    save_file(state, torch_save_path)


def _room(about: Any) -> Any:
    """What an entry is loaded into."""
    if not isinstance(about, TensorStorageMetadata):
        return None
    return empty(about.size, dtype=about.properties.dtype)


def torch_save_to_dcp(torch_save_path: Any, dcp_checkpoint_dir: Any) -> None:
    """Write what a file of `torch.save` has as a checkpoint."""
    state = load_file(torch_save_path, map_location="cpu", weights_only=True)
    save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
