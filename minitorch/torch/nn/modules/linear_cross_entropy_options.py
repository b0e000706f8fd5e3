"""Options for computing the cross entropy of a linear layer's output in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Accepted without effect: the output is computed at once."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None
