"""Torch's names for recorded launches: to be asked about; `torch.compile` is what records steps here."""

from __future__ import annotations

from typing import Any

_INSTEAD = "is not supported by minitorch.torch: torch.compile records whole steps"


class CUDAGraph:
    """Launches that are recorded and played again: none are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"torch.cuda.CUDAGraph {_INSTEAD}")


class graph:  # noqa: N801
    """Where launches would be recorded."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"torch.cuda.graph {_INSTEAD}")
