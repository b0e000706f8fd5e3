"""Tensors that are spread over the ranks of a mesh."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .dtensor import DTensor as DTensor
from .dtensor import distribute_module as distribute_module
from .dtensor import distribute_tensor as distribute_tensor
from .placements import Partial as Partial
from .placements import Placement as Placement
from .placements import Replicate as Replicate
from .placements import Shard as Shard


def __getattr__(name: str) -> Any:
    if name == "parallel":
        return import_module(f"{__name__}.parallel")
    if name in ("zeros", "ones", "empty", "full", "rand", "randn"):
        return getattr(import_module(f"{__name__}.creation"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
