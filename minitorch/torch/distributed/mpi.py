"""MPI: which one there is, and how this process becomes a rank of it.

A process that `mpiexec` started is one already. Processes that were started in another way
(`multiprocessing`, one by one) share a store; MPI's processes find each other through a process
manager, which they ask for keys and barriers, and `pmi.py` answers these questions from the store.
That needs MPICH, whose questions are lines of text (PMI 1). Open MPI works under its own `mpiexec`.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .pmi import ProcessManager
from .store import Store

INSTALL = "pip install 'minitorch[mpi]'"
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_ALONE = "OMPI_MCA_ess_singleton_isolated"
_LOCAL_RANKS = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")
_LOCAL_SIZES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")


def _packaged(*names: str) -> Iterator[Path]:
    """Files of these names that the packages `mpich` and `openmpi` brought with them."""
    for package in ("mpich", "openmpi"):
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name in names and (found := Path(str(file.locate()))).exists():
                yield found.resolve() if "lib" in found.name else Path(os.path.normpath(found))


def find_mpiexec() -> str | None:
    """The program that starts ranks: of a package, or of the system."""
    packaged = (str(path) for path in _packaged("mpiexec.hydra", "mpiexec"))
    return next(packaged, None) or shutil.which("mpiexec", path=_search_path())


@functools.cache
def open_mpi_version(mpiexec: str) -> int | None:
    """Which Open MPI an `mpiexec` belongs to; None: it is MPICH's."""
    said = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False)
    text = said.stdout + said.stderr
    if not any(name in text for name in ("Open MPI", "OpenRTE", "prte")):
        return None
    version = re.search(r"(\d+)\.\d+", text)
    return int(version[1]) if version and "prte" not in text else 5


def flags(mpiexec: str) -> list[str]:
    """What an `mpiexec` must be told: more ranks than cores are fine, and one that fails ends no other before it can say so."""
    version = open_mpi_version(mpiexec)
    if version is None:
        return ["-disable-auto-cleanup"]
    stays = (
        ["--mca", "orte_abort_on_non_zero_status", "0"]
        if version < 5
        else ["--prtemca", "state_base_error_non_zero_exit", "0"]
    )
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    return ["--oversubscribe", "--bind-to", "none", *stays, *root]


def _search_path() -> str:
    return os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))


def find_library() -> str | None:
    """The MPI library that mpi4py would not find by itself: that of a package."""
    named = os.environ.get("MPI4PY_LIBMPI")
    return named or next(
        map(str, _packaged("libmpi.so.12", "libmpi.so.40", "libmpi.12.dylib")), None
    )


def is_installed() -> bool:
    """Whether mpi4py is there."""
    return find_spec("mpi4py") is not None


def from_launcher(names: tuple[str, ...]) -> int | None:
    """A number that `mpiexec` has put into the environment."""
    return next((int(os.environ[name]) for name in names if name in os.environ), None)


def launched_rank() -> int | None:
    """The rank that `mpiexec` gave this process."""
    return from_launcher(_RANKS)


def launched_size() -> int | None:
    """How many ranks `mpiexec` has started."""
    return from_launcher(_SIZES)


def launched_local() -> tuple[int, int]:
    """The rank among those on this machine, and how many those are."""
    return from_launcher(_LOCAL_RANKS) or 0, from_launcher(_LOCAL_SIZES) or 1


@functools.cache
def load() -> Any:
    """The module `mpi4py.MPI`, before MPI is started."""
    if not is_installed():
        raise RuntimeError(
            f"Distributed training needs MPI, and mpi4py is not installed: {INSTALL}"
        )
    library = find_library()
    if library is not None:
        os.environ["MPI4PY_LIBMPI"] = library
    import mpi4py

    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(f"mpi4py finds no MPI library ({error}): {INSTALL}") from None
    return MPI


def world(rank: int, size: int, store: Store) -> Any:
    """MPI's communicator of all ranks, in which this process is the given one."""
    mpi = load()
    if not mpi.Is_initialized():
        _initialize(mpi, rank, size, store)
    comm = mpi.COMM_WORLD
    if (comm.Get_rank(), comm.Get_size()) != (rank, size):
        raise RuntimeError(
            f"MPI was started with this process as rank {comm.Get_rank()} of {comm.Get_size()}, and "
            f"cannot be started anew as rank {rank} of {size}: start a new process"
        )
    return comm


launched_as: list[tuple[int, int]] = []
"""Of a process that the launcher has started as a rank: which rank, of how many."""


def check_rank(rank: int, size: int) -> None:
    """RuntimeError if the launcher has started this process as another rank."""
    if launched_as and size > 1 and launched_as[0] != (rank, size):
        known = "rank {} of {}".format(*launched_as[0])
        raise RuntimeError(
            f"This process was started as {known}, and cannot be rank {rank} of {size}: RANK and WORLD_SIZE are the launcher's"
        )


def _initialize(mpi: Any, rank: int, size: int, store: Store) -> None:
    """Start MPI; its calls may come from several threads."""
    if (launched_rank(), launched_size()) == (rank, size) or size == 1:
        if size == 1 and launched_size() != 1:
            _forget_launcher()
            os.environ[_ALONE] = "1"  # one rank of Open MPI needs no daemon
        mpi.Init_thread(mpi.THREAD_MULTIPLE)
    else:
        if "MPICH" not in mpi.Get_library_version():
            raise RuntimeError(
                "Processes that mpiexec did not start need MPICH: pip install mpich, or start the "
                "program with python -m minitorch.torch.distributed.run --nproc_per_node N"
            )
        _forget_launcher()
        manager = ProcessManager(store, rank, size)
        atexit.register(manager.end)  # after MPI was ended: what is registered last is called first
        os.environ.update(manager.environment())
        # A thread answers MPI's questions, so Python must not be held: not through mpi4py.
        level = ctypes.c_int()
        code = _library().MPI_Init_thread(None, None, 3, ctypes.byref(level))
        for name in manager.environment():
            del os.environ[name]  # it is not for processes that this one starts
        if code != 0:
            raise RuntimeError(f"MPI_Init_thread failed with code {code}: {manager.error}")
    for comm in (mpi.COMM_WORLD, mpi.COMM_SELF):
        comm.Set_errhandler(mpi.ERRORS_RETURN)
    mpi.COMM_WORLD.Barrier()
    _unlink_shared_memory()
    atexit.register(_finalize)


def _unlink_shared_memory(maps: str = "/proc/self/maps") -> None:
    """Remove the names of MPICH's shared memory, which all have mapped: no crash leaves it behind."""
    if not os.path.exists(maps):
        return
    lines = Path(maps).read_text().splitlines()
    for name in {line.split()[-1] for line in lines if "/dev/shm/mpich_shm_" in line}:
        Path(name).unlink(missing_ok=True)


def _forget_launcher() -> None:
    """Let this process be no rank of an `mpiexec`: what started it started it for something else."""
    for name in list(os.environ):
        if name.startswith(("PMI_", "PMIX_", "OMPI_", "HYDRA_", "MPI_LOCAL")):
            del os.environ[name]


def _library() -> ctypes.CDLL:
    """MPI's library, the one that mpi4py has loaded."""
    lines = Path("/proc/self/maps").read_text().splitlines() if sys.platform == "linux" else []
    loaded = [line.split()[-1] for line in lines if "/libmpi.so" in line]
    return ctypes.CDLL((loaded or [find_library() or "libmpi.so.12"])[0], ctypes.RTLD_GLOBAL)


failed: list[str] = []
"""Errors after which MPI cannot end in order: some rank is not there to end with."""


def _finalize(seconds: float = 2.0) -> None:
    """End MPI, if the others do: a rank that is gone would be waited for without end."""
    if failed or load().Is_finalized():
        return
    sys.stdout.flush()
    ending = threading.Thread(target=_library().MPI_Finalize, daemon=True)
    ending.start()
    ending.join(seconds)
