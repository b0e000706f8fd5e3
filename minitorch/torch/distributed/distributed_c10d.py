"""Names by which programs and libraries reach the default group, its store, and calls that belong together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .collectives import P2POp as P2POp
from .collectives import all_gather as all_gather
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_reduce as all_reduce
from .collectives import all_to_all as all_to_all
from .collectives import all_to_all_single as all_to_all_single
from .collectives import barrier as barrier
from .collectives import batch_isend_irecv as batch_isend_irecv
from .collectives import broadcast as broadcast
from .collectives import coalescing
from .collectives import gather as gather
from .collectives import irecv as irecv
from .collectives import isend as isend
from .collectives import monitored_barrier as monitored_barrier
from .collectives import recv as recv
from .collectives import reduce as reduce
from .collectives import reduce_scatter as reduce_scatter
from .collectives import reduce_scatter_tensor as reduce_scatter_tensor
from .collectives import scatter as scatter
from .collectives import send as send
from .objects import _packed, _unpacked
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import gather_object as gather_object
from .objects import scatter_object_list as scatter_object_list
from .process_group import ProcessGroup as ProcessGroup
from .reduce_op import ReduceOp as ReduceOp
from .rendezvous import rendezvous as rendezvous
from .store import PrefixStore as PrefixStore
from .store import Store as Store
from .work import Work as Work
from .world import DEFAULT_TIMEOUT as default_pg_timeout  # noqa: N811
from .world import Backend as Backend
from .world import GroupMember as GroupMember
from .world import default_group, not_in_group
from .world import destroy_process_group as destroy_process_group
from .world import get_backend as get_backend
from .world import get_global_rank as get_global_rank
from .world import get_group_rank as get_group_rank
from .world import get_process_group_ranks as get_process_group_ranks
from .world import get_rank as get_rank
from .world import get_world_size as get_world_size
from .world import group as group
from .world import init_process_group as init_process_group
from .world import is_initialized as is_initialized
from .world import is_mpi_available as is_mpi_available
from .world import is_nccl_available as is_nccl_available
from .world import new_group as new_group
from .world import new_subgroups as new_subgroups

__all__ = ["default_pg_timeout"]
_rank_not_in_group = not_in_group
_get_default_group = default_group


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
