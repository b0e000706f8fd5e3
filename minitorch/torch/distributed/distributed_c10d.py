"""All names of `torch.distributed`, and those by which libraries reach the default group, its store, and calls that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .collectives import coalescing
from .objects import _packed, _unpacked
from .store import Store
from .world import DEFAULT_TIMEOUT as default_pg_timeout  # noqa: N811
from .world import default_group, not_in_group

__all__ = ["default_pg_timeout"]
_rank_not_in_group = not_in_group
_get_default_group = default_group


def __getattr__(name: str) -> Any:
    return getattr(import_module(__name__.rpartition(".")[0]), name)


def _get_default_store() -> Store:
    """The store in which the ranks have met."""
    return default_group().store


def _object_to_tensor(obj: Any, device: Any = None, group: Any = None) -> tuple[Any, Any]:
    """An object as bytes in a tensor, and how many there are."""
    packed = _packed(obj)
    return packed, packed.new_tensor([packed.numel()]).long()


def _tensor_to_object(tensor: Any, tensor_size: Any, group: Any = None) -> Any:
    """The object that bytes in a tensor stand for."""
    return _unpacked(tensor.cpu(), int(tensor_size))


class _Coalesced:
    """Collectives that were started together."""

    def __init__(self) -> None:
        self.works: list[Any] = []

    def append(self, work: Any = None) -> None:
        """Wait for one more."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait for all of them."""
        for work in self.works:
            work.wait()


@contextmanager
def _coalescing_manager(
    group: Any = None, device: Any = None, async_ops: bool = False
) -> Iterator[_Coalesced]:
    """Collectives within start at once; all are over at the end, or after `wait()`."""
    together = _Coalesced()
    before, coalescing.works = coalescing.works, together.works
    try:
        yield together
    finally:
        coalescing.works = before
    if not async_ops:
        together.wait()
