"""The ranks of a program and its groups: `init_process_group`, `new_group`, who is who."""

from __future__ import annotations

import os
import socket
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
        self.started: dict[str, int] = {}  # collectives of groups that this rank has left


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
    limit = _checked_timeout(timeout, DEFAULT_TIMEOUT)
    name = _single_backend(backend, device_id)
    if store is None:
        found, rank, world_size = rendezvous(
            init_method or "env://", rank, world_size, min(limit, timedelta(minutes=5))
        )
    elif world_size < 1:
        raise AssertionError("world_size must be positive if using store")
    elif rank < 0:
        raise AssertionError("rank must be non-negative if using store")
    else:
        found = store
    _check_ranks(rank, world_size)
    _join(name, found, rank, world_size, limit)


def _checked_timeout(timeout: timedelta | None, default: timedelta) -> timedelta:
    if timeout is None:
        return default
    if not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    return timeout


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
        raise AssertionError(f"Unknown backend type {backend}; there are {', '.join(BACKENDS)}")
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
    arguments = range(size), rank, "0", named, limit, world.presence, world.starts
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
    """Leave a group, or all of them; nothing where this rank is not in the group."""
    if not_in_group(group):
        return
    if world.default is None:
        raise AssertionError("Process group cannot be None")
    if group is not None and group is not world.default:
        found = _resolve(group)
        world.groups.remove(found)
        _close(found)
        return
    leave()


def _close(group: ProcessGroup) -> None:
    group.close()
    world.started[group.unique_name] = group.started


def leave(error: str = "") -> None:
    """Leave all groups, as the program should or with an error that the others are told."""
    if not error and not mpi.failed:
        for each in world.groups:
            _close(each)
    if world.presence is not None:
        world.presence.leave(error, world.started)
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
    """How many groups the ranks have made, those without this rank too."""
    return world.names


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


def own_group(group: Any) -> Any:
    """The group that an argument means; None where this rank is not in it."""
    return None if not_in_group(group) else _resolve(group)


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
