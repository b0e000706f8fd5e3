"""From an address to a store, a rank and the number of ranks: `env://`, `tcp://`, `file://`."""

from __future__ import annotations

import os
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

from .errors import DistError
from .mpi import launched_rank, launched_size
from .store import FileStore, Store
from .tcp_store import TCPStore


class DistRendezvousError(DistError):
    """The ranks did not find each other."""


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = timedelta(minutes=5)
) -> tuple[Store | None, int, int]:
    """The store behind an address (None: mpiexec has brought the ranks together), this rank, how many."""
    if not isinstance(url, str):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    parts = urlsplit(url)
    given = dict(parse_qsl(parts.query))
    rank = int(given.get("rank", rank)) if rank == -1 else rank
    world_size = int(given.get("world_size", world_size)) if world_size == -1 else world_size
    if parts.scheme == "env":
        return _from_environment(rank, world_size, timeout)
    for name, number in (("rank", rank), ("world size", world_size)):
        if number == -1:
            raise ValueError(
                f"Error initializing torch.distributed using {parts.scheme}:// rendezvous: "
                f"{name} parameter missing"
            )
    if parts.scheme == "tcp":
        if parts.port is None:
            raise ValueError(
                "Error initializing torch.distributed using tcp:// rendezvous: port number missing"
            )
        return _tcp(parts.hostname or "localhost", parts.port, rank, world_size, timeout)
    if parts.scheme == "file":
        if not parts.path:
            raise ValueError(
                "Error initializing torch.distributed using file:// rendezvous: path missing"
            )
        store = FileStore(parts.path, world_size)
        store.set_timeout(timeout)
        return store, rank, world_size
    raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")


def _from_environment(
    rank: int, world_size: int, timeout: timedelta
) -> tuple[Store | None, int, int]:
    """RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; a plain `mpiexec` gives the first two."""
    if "RANK" not in os.environ and launched_size() is not None and rank == -1:
        rank, world_size = launched_rank() or 0, launched_size() or 1
        if "MASTER_ADDR" not in os.environ:
            return None, rank, world_size  # MPI's own ranks need no store to start
    rank = int(_variable("RANK")) if rank == -1 else rank
    world_size = int(_variable("WORLD_SIZE")) if world_size == -1 else world_size
    host, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
    return _tcp(host, port, rank, world_size, timeout)


def _tcp(
    host: str, port: int, rank: int, world_size: int, timeout: timedelta
) -> tuple[Store | None, int, int]:
    """A store at an address: the launcher's, if it has one, else rank 0 keeps it."""
    keeps = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    store = TCPStore(host, port, world_size, keeps, timeout, wait_for_workers=False, multi_tenant=True)  # fmt: skip
    return store, rank, world_size


def _variable(name: str) -> str:
    if not os.environ.get(name):
        raise ValueError(
            "Error initializing torch.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set"
        )
    return os.environ[name]
