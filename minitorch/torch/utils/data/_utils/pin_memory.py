"""Batches in memory that a GPU reads by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....tensor import Tensor
from .collate import mapping_like, sequence_like


def pin_memory(data: Any, device: Any = None) -> Any:
    """A batch with its tensors, also those in containers, in pinned memory; all else as it is."""
    if isinstance(data, Tensor):
        return data if data.is_cuda else data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return mapping_like(data, {key: pin_memory(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(pin_memory, data))
    if isinstance(data, tuple):
        return [pin_memory(each) for each in data]
    if isinstance(data, Sequence):
        return sequence_like(data, [pin_memory(each) for each in data])
    return data.pin_memory() if hasattr(data, "pin_memory") else data
