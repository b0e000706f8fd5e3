"""Getting the samples of a batch from a data set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....tensor import tracks
from ..dataset import Subset, TensorDataset, samples_at
from .collate import default_collate


class _DatasetKind:
    """Whether a data set has indices or is iterated over."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool
    ) -> Fetcher:
        """What gets batches from a data set of a kind."""
        maker = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return maker(dataset, auto_collation, collate_fn, drop_last)


class Fetcher:
    """Gets batches, or with `auto_collation` off single samples."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, index: Any) -> Any:
        """The batch of a list of indices, or the sample of one."""
        raise NotImplementedError


class MapFetcher(Fetcher):
    """From a data set with indices."""

    def fetch(self, index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate:
            whole = _rows(self.dataset, index)
            if whole is not None:
                return whole
        return self.collate_fn(samples_at(self.dataset, index))


def _rows(dataset: Any, indices: Any) -> list[Any] | None:
    """A batch taken from tensors at once: what stacking its samples would give."""
    while type(dataset) is Subset:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or any(tracks(t) for t in dataset.tensors):
        return None
    return [tensor[indices] for tensor in dataset.tensors]


class IterableFetcher(Fetcher):
    """From a data set that is iterated over; indices only say how many samples make a batch."""

    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.samples = iter(dataset)
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch, or the next sample."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in index:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and len(batch) < len(index)):
            raise StopIteration
        return self.collate_fn(batch)
