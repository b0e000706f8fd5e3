"""Groups of some of the ranks."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .world import (
    GroupMember,
    _checked_timeout,
    _make_group,
    _resolve,
    _single_backend,
    default_group,
    get_global_rank,
    get_rank,
    get_world_size,
    world,
)


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some ranks. All ranks call this, also those that are not in it."""
    default = default_group()
    chosen = list(range(default.size())) if ranks is None else sorted(ranks)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    if len(chosen) > default.size():
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in chosen:
        if not 0 <= rank < default.size():
            size = default.size()
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    limit = _checked_timeout(timeout, default.timeout)
    kind = default.backend if backend is None else _single_backend(backend, device_id)
    if use_local_synchronization:  # only its members call this, so that they alone know the name
        name = f"ranks{chosen}"
    else:
        name = f"{world.names}"
        world.names += 1
    if default.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    comm = _new_communicator(default, chosen, name, limit)
    arguments = chosen, default.rank(), name, default.store, limit, default.presence, world.starts
    made = _make_group(kind, comm, arguments)
    if group_desc is not None:
        made.group_desc = group_desc
    world.groups.append(made)
    return made


def _new_communicator(default: Any, ranks: list[int], name: str, limit: timedelta) -> Any:
    """MPI's communicator of some ranks, once all of them have come: making one has no time limit."""
    comm = default.comm
    for rank in ranks:
        if rank == default.rank():
            default.store.set(f"group/{name}/{rank}", "")
    default.wait_for([f"group/{name}/{rank}" for rank in ranks], f"new_group({ranks})", limit)
    everyone = comm.Get_group()
    return comm.Create_group(everyone.Incl(ranks), zlib.crc32(name.encode()) % 32767)


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of equal size: the first so many ranks, the next, and so on; this rank's first."""
    size = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if group_size is None else group_size
    total = get_world_size()
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if total < size:
        raise ValueError(f"The arg 'group_size' ({size}) must not exceed the world size ({total})")
    if total % size != 0:
        raise ValueError(f"The world size ({total}) must be divisible by 'group_size={size}'")
    starts = range(0, total, size)
    return new_subgroups_by_enumeration(
        [list(range(start, start + size)) for start in starts],
        timeout,
        backend,
        pg_options,
        group_desc,
    )


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """A group for each list of ranks; this rank's first."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    group_of: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in group_of:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {group_of[rank]} and {ranks}")  # fmt: skip
            group_of[rank] = ranks
    own, made = None, []
    for ranks in ranks_per_subgroup_list:
        made.append(new_group(ranks, timeout, backend, pg_options, group_desc=group_desc))
        if get_rank() in ranks:
            own = made[-1]
    return own, made


def split_group(
    parent_pg: Any = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> Any:
    """This rank's group of several that a group is split into, each a list of ranks in it; None if it is in none."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = _resolve(parent_pg)
    own = next((each for each in split_ranks if parent.rank() in each), None)
    if own is None:
        return None
    ranks = [get_global_rank(parent, each) for each in own]
    description = group_desc or f"{parent.group_desc}:split"
    return new_group(
        ranks, timeout, backend or parent.backend, pg_options, True, group_desc=description
    )
