"""Tensors that are spread over the ranks of a mesh."""

from __future__ import annotations

from ...lazy_attributes import lazy_attributes
from .dtensor import DTensor as DTensor
from .dtensor import distribute_module as distribute_module
from .dtensor import distribute_tensor as distribute_tensor
from .placements import Partial as Partial
from .placements import Placement as Placement
from .placements import Replicate as Replicate
from .placements import Shard as Shard

__getattr__ = lazy_attributes(
    __name__,
    ("parallel",),
    dict.fromkeys(("zeros", "ones", "empty", "full", "rand", "randn"), ".creation"),
)
