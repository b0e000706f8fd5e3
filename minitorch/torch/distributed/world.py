"""The ranks of a program and its groups: `init_process_group`, `new_group`, who is who."""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ..device import device
from . import mpi
from .debug import DebugLevel, get_debug_level
from .errors import DistStoreError
from .process_group import ProcessGroup, ProcessGroupMPI
from .rendezvous import rendezvous
from .store import PrefixStore, Store
from .tcp_store import Presence, TCPStore

DEFAULT_TIMEOUT = timedelta(minutes=30)
BACKENDS = ("gloo", "mpi", "nccl")


class Backend(str):
    """The name of a backend: `Backend("GLOO")` is "gloo"."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    MPI = "mpi"
    NCCL = "nccl"
    backend_list = (UNDEFINED, GLOO, MPI, NCCL)

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class GroupMember:
    """Stands for a group: the default one, or one that this rank is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Any = -100


class group:  # noqa: N801
    """`group.WORLD`: the default group."""

    WORLD: ProcessGroup | None = None


class _World:
    """What this process knows of the ranks."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: list[ProcessGroup] = []
        self.presence: Presence | None = None
        self.names = 0  # names of groups that were given
        self.starts = 0  # how often the default group was made


world = _World()


# --- The default group ------------------------------------------------------------------------


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Meet the other ranks, and make the group of all.

    Args:
        backend: "gloo" and "mpi" are MPI, for tensors in main memory; "nccl" is NCCL, for those of GPUs
        init_method: where to meet: "env://" (the default), "tcp://host:port", "file:///path"
        timeout: how long a collective may take
        world_size: how many ranks there are
        rank: which one this process is
        store: a store that the ranks share, in place of init_method
    """
    if world.default is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    name = _single_backend(backend, device_id)
    limit = DEFAULT_TIMEOUT if timeout is None else timeout
    if store is None:
        found, rank, world_size = rendezvous(
            init_method or "env://", rank, world_size, min(limit, timedelta(minutes=5))
        )
    elif rank < 0 or world_size < 1:
        raise AssertionError("rank must be non-negative and world_size positive if using store")
    else:
        found = store
    _check_ranks(rank, world_size)
    _join(name, found, rank, world_size, limit)


def _single_backend(backend: str | None, device_id: Any) -> str:
    """The backend's name; "cpu:gloo,cuda:nccl" is NCCL, which leaves tensors of the CPU to MPI, where it is there."""
    on_gpu = device_id is not None and device(device_id).type == "cuda"
    named = (backend or ("nccl" if on_gpu else "gloo")).lower()
    if ":" in named:
        by_device = dict(part.split(":", 1) for part in named.split(","))
        on_gpu = on_gpu or is_nccl_available()
        named = by_device.get("cuda" if on_gpu else "cpu", next(iter(by_device.values())))
    if named == "nccl" and not is_nccl_available():
        raise RuntimeError("Distributed package doesn't have NCCL built in, or there is no GPU")
    if named not in BACKENDS:
        raise ValueError(f"Invalid backend: '{backend}'; there are {', '.join(BACKENDS)}")
    return named


def _check_ranks(rank: int, size: int) -> None:
    if size < 1 or not 0 <= rank < size:
        raise ValueError(f"rank {rank} is not one of the {size} ranks, 0 to {size - 1}")


def _join(backend: str, store: Store | None, rank: int, size: int, limit: timedelta) -> None:
    """Be a rank: of MPI, and one whose end the others hear of."""
    mpi.check_rank(rank, size)
    world.starts += 1
    if store is None:
        comm = mpi.world(rank, size, _no_store)
        shared = _share_through_mpi(comm, rank)
    else:
        shared = _reachable_store(store, rank, size)
        _meet(shared, rank, size)
        comm = mpi.world(rank, size, shared)
    if world.presence is None and size > 1:
        world.presence = Presence(shared, rank)
    named = PrefixStore(f"world{world.starts}", shared)
    arguments = range(size), rank, "0", named, limit, world.presence
    made = _make_group(backend, comm.Dup(), arguments)
    world.default = group.WORLD = GroupMember.WORLD = made
    world.groups = [made]
    world.names = 1


def _meet(store: Store, rank: int, size: int) -> None:
    """Wait until all ranks are there; the error names those that did not come. (MPI would wait without end.)"""
    keys = [f"here{world.starts}/{each}" for each in range(size)]
    store.set(keys[rank], "")
    try:
        store.wait(keys)
    except DistStoreError:
        missing = [str(i) for i, key in enumerate(keys) if not store.check([key])]
        seconds = store.timeout.total_seconds()
        raise DistStoreError(
            f"Timed out after {seconds:g} seconds waiting for clients. {size - len(missing)}/{size} clients joined; "
            f"not rank {', '.join(missing)}."
        ) from None


class _NoStore(Store):
    """What ranks that `mpiexec` has brought together need of a store before they have one."""


_no_store = _NoStore()


def _make_group(backend: str, comm: Any, arguments: Any) -> ProcessGroup:
    detail = get_debug_level() is DebugLevel.DETAIL
    if backend == "nccl":
        from .nccl import ProcessGroupNCCL

        return ProcessGroupNCCL(comm, backend, detail, *arguments)
    return ProcessGroupMPI(comm, backend, detail, *arguments)


def _share_through_mpi(comm: Any, rank: int) -> TCPStore:
    """A store of rank 0, whose address MPI tells the others."""
    made = TCPStore("127.0.0.1", 0, is_master=True) if rank == 0 else None
    host, port = comm.bcast((socket.gethostname(), made.port) if made else None)
    return made or TCPStore(_address(host), port)


def _reachable_store(store: Store, rank: int, size: int) -> TCPStore:
    """The store, if it is one over TCP; else one whose address is in it."""
    inner = store
    while isinstance(inner, PrefixStore):
        inner = inner.underlying_store
    if isinstance(inner, TCPStore):
        return inner
    key = f"address{world.starts}"
    if rank == 0:
        made = TCPStore("127.0.0.1", 0, is_master=True, timeout=store.timeout)
        if size > 1:
            store.set(key, f"{socket.gethostname()} {made.port}")
        return made
    host, port = store.get(key).decode().split()
    return TCPStore(_address(host), int(port), timeout=store.timeout)


def _address(host: str) -> str:
    """How a host is reached from here: by its name, or as this one."""
    return "127.0.0.1" if host == socket.gethostname() else host


def destroy_process_group(group: Any = None) -> None:
    """Leave a group, or all of them."""
    if world.default is None:
        raise AssertionError("Process group cannot be None")
    if group is not None and group is not world.default:
        found = _resolve(group)
        world.groups.remove(found)
        found.close()
        return
    leave()


def leave(error: str = "") -> None:
    """Leave all groups, as the program should or with an error that the others are told."""
    if not error and not mpi.failed:
        for each in world.groups:
            each.close()
    if world.presence is not None:
        world.presence.leave(error)
    world.default = world.presence = GroupMember.WORLD = None
    _default_is(None)
    world.groups = []


def _default_is(made: ProcessGroup | None) -> None:
    group.WORLD = made


# --- Who is who -------------------------------------------------------------------------------


def is_available() -> bool:
    """Whether there is MPI to talk over."""
    return mpi.is_installed()


def is_mpi_available() -> bool:
    """Whether there is MPI to talk over."""
    return mpi.is_installed()


def is_gloo_available() -> bool:
    """Whether there is MPI, which stands for gloo."""
    return mpi.is_installed()


def is_nccl_available() -> bool:
    """Whether there is a GPU, and NCCL for it."""
    from . import nccl

    return nccl.is_available()


def is_ucc_available() -> bool:
    """Whether there is UCC: no."""
    return False


def is_xccl_available() -> bool:
    """Whether there is XCCL: no."""
    return False


def supports_complex(reduceOp: Any) -> bool:  # noqa: N803
    """Whether complex numbers can be reduced so."""
    return reduceOp.name in ("SUM", "AVG")


def get_default_backend_for_device(device: Any) -> str:  # noqa: F811
    """The backend that tensors of a device are exchanged by."""
    kind = device if isinstance(device, str) else device.type
    return "nccl" if kind.split(":")[0] == "cuda" else "gloo"


def get_pg_count() -> int:
    """How many groups there are."""
    return len(world.groups)


def is_torchelastic_launched() -> bool:
    """Whether a launcher has started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_backend_available(backend: str) -> bool:
    """Whether a backend can be used."""
    name = backend.lower()
    return is_nccl_available() if name == "nccl" else name in BACKENDS and is_available()


def is_initialized() -> bool:
    """Whether the default group was made."""
    return world.default is not None


def default_group() -> ProcessGroup:
    """The group of all ranks; ValueError before there is one."""
    if world.default is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group."
        )
    return world.default


def _resolve(group: Any) -> ProcessGroup:
    """The group that an argument means."""
    if group is None or group is GroupMember.WORLD:
        return default_group()
    if not isinstance(group, ProcessGroup):
        raise ValueError("Invalid process group specified")
    if group not in world.groups:
        raise ValueError(f"Group {group.group_name} is not registered, please create group with torch.distributed.new_group API")  # fmt: skip
    return group


def not_in_group(group: Any) -> bool:
    """Whether this rank is not in a group."""
    return group is GroupMember.NON_GROUP_MEMBER


def get_rank(group: Any = None) -> int:
    """This process's rank, or that in a group; -1 outside of it."""
    if not_in_group(group):
        return -1
    return _resolve(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many ranks there are, or are in a group; -1 outside of it."""
    if not_in_group(group):
        return -1
    return _resolve(group).size()


def get_backend(group: Any = None) -> Backend:
    """The name of a group's backend."""
    if not_in_group(group):
        raise ValueError("Invalid process group specified")
    return Backend(_resolve(group).backend)


def get_process_group_ranks(group: Any) -> list[int]:
    """The ranks of a group."""
    return list(_resolve(group).ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """A rank's number in a group."""
    found = _resolve(group)
    if global_rank not in found.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {found.group_name}")
    return found.ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank of a member of a group."""
    found = _resolve(group)
    if not 0 <= group_rank < found.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {found.group_name}")
    return found.ranks[group_rank]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank among those of this machine, as the launcher has numbered them."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context"
    )


# --- Other groups -----------------------------------------------------------------------------


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
    limit = default.timeout if timeout is None else timeout
    if use_local_synchronization:  # only its members call this, so that they alone know the name
        name = f"ranks{chosen}"
    else:
        name = f"{world.names}"
        world.names += 1
    if default.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    kind = default.backend if backend is None else _single_backend(backend, device_id)
    comm = _new_communicator(default, chosen, name, limit)
    arguments = chosen, default.rank(), name, default.store, limit, default.presence
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
    default.store.wait([f"group/{name}/{rank}" for rank in ranks], limit)
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
