"""A module on several devices at once, or on several ranks."""

from typing import Any

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":  # which imports all of torch.distributed
        from .distributed import DistributedDataParallel

        return DistributedDataParallel
    if name in ("gather", "scatter"):
        from . import scatter_gather

        return getattr(scatter_gather, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
