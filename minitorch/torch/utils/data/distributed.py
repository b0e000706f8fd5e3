"""A sampler that gives each of several processes its part of the samples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...generator import Generator
from ...ops.random import randperm
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index, beginning with index `rank`.

    Call `set_epoch` before each epoch: the shuffled order depends on it.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        replicas: int = _distributed().get_world_size() if num_replicas is None else num_replicas
        rank = int(_distributed().get_rank() if rank is None else rank)
        if rank >= replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        count = len(dataset)
        if drop_last and count % replicas != 0:
            count -= replicas
        self.num_samples = math.ceil(count / replicas)
        self.total_size = self.num_samples * replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        indices = list(range(count))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        if not self.drop_last:  # repeat some, so that all processes have equally many
            indices *= math.ceil(self.total_size / count)
        return iter(indices[: self.total_size][self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch is next: it decides the order."""
        self.epoch = epoch


def _distributed() -> Any:
    """Torch's `distributed`, where it is there."""
    try:
        from ... import distributed  # type: ignore[attr-defined]
    except ImportError:
        raise RuntimeError("Requires distributed package to be available") from None
    return distributed
