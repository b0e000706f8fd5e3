"""What a checkpoint says of its contents: `FileSystemReader(folder).read_metadata().state_dict_metadata`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import dtypes
from ...size import Size
from .index import Entry, read_index


@dataclass
class TensorProperties:
    """Of a tensor's elements."""

    dtype: dtypes.dtype


@dataclass
class TensorStorageMetadata:
    """A tensor: its elements' type, and its shape."""

    properties: TensorProperties
    size: Size


@dataclass
class BytesStorageMetadata:
    """Another object."""


@dataclass
class Metadata:
    """What there is under each name."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]


def read_metadata(folder: Any) -> Metadata:
    """What the checkpoint in a folder has."""
    return Metadata({name: _about(entry) for name, entry in read_index(Path(folder)).items()})


def _about(entry: Entry) -> TensorStorageMetadata | BytesStorageMetadata:
    if entry.shape is None:
        return BytesStorageMetadata()
    kind = next(k for k in dtypes.ALL if str(k) == entry.dtype)
    return TensorStorageMetadata(TensorProperties(kind), Size(entry.shape))
