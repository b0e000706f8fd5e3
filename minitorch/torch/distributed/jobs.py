"""Starting the ranks of a program with `mpiexec`, and ending all of them together.

The launcher keeps the store in which the ranks meet. A rank whose connection to it breaks has
ended, so the launcher knows which one failed first. The others are given a moment to say so in their own
words, and are then stopped. When the launcher itself is gone, its ranks end too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from . import mpi
from .tcp_store import Server

NOTICE = 10.0
"""Seconds that the other ranks have for an error of their own, after one has failed."""
_STOP = 3.0


@dataclass
class Job:
    """What is started: `command` is a script or the name of a module, and its arguments."""

    command: Sequence[str]
    ranks_per_node: int = 1
    nodes: int = 1
    node_rank: int | None = None  # None: mpiexec starts the ranks of all nodes
    hostfile: str | None = None
    master_addr: str = "127.0.0.1"
    master_port: int = 0
    max_restarts: int = 0
    module: bool = False
    check: bool = True
    pass_local_rank: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.nodes * self.ranks_per_node

    @property
    def here(self) -> int:
        """How many ranks this launcher starts."""
        return self.size if self.node_rank is None else self.ranks_per_node


def launch(job: Job) -> int:
    """Run a job to its end, anew after a failure while there are restarts left; return the exit code."""
    if mpi.find_mpiexec() is None:
        sys.stderr.write(
            f"minitorch run: no mpiexec is installed to start ranks with: {mpi.INSTALL}\n"
        )
        return 1
    code = 0
    for attempt in range(job.max_restarts + 1):
        code = _Attempt(job, attempt).run()
        if code in (0, 130, 143):
            break
        if attempt < job.max_restarts:
            _say(f"starting all ranks anew ({attempt + 1} of {job.max_restarts} restarts)")
    return code


def _say(text: str) -> None:
    sys.stderr.write(f"minitorch run: {text}\n")
    sys.stderr.flush()


class _Stopped(BaseException):
    """The launcher was told to stop."""

    def __init__(self, number: int) -> None:
        self.number = number


def _stop_on(number: int, _: FrameType | None) -> None:
    raise _Stopped(number)


class _Attempt:
    """One start of all ranks."""

    def __init__(self, job: Job, number: int) -> None:
        self.job, self.number = job, number
        self.failed_at: float | None = None
        self.server: Server | None = None
        self._lock = threading.Lock()

    def run(self) -> int:
        if not self.job.node_rank:
            try:
                self.server = Server(("", self.job.master_port))
            except OSError as error:
                _say(f"ranks cannot meet on port {self.job.master_port}: {error.strerror}. Choose another, or none")  # fmt: skip
                return 1
            self.server.on_loss = self._note
        handlers = {s: signal.signal(s, _stop_on) for s in (signal.SIGINT, signal.SIGTERM)}
        process = subprocess.Popen(
            self._arguments(), env=self._environment(), start_new_session=True
        )
        try:
            return self._wait(process)
        except _Stopped as stopped:
            return 128 + stopped.number
        finally:
            for number in handlers:
                signal.signal(number, signal.SIG_IGN)
            _end(process)
            if self.server is not None:
                self.server.shutdown()
                self.server.close_all()
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """The exit code of the ranks, or of the first that failed."""
        while process.poll() is None:
            try:
                process.wait(0.1)
            except subprocess.TimeoutExpired:
                self._look_for_ends()
                if self.failed_at is not None and time.monotonic() > self.failed_at + NOTICE:
                    break
        code = process.poll()
        reported = self._reported_code()
        if reported is not None and reported > 128:
            _say(f"rank {self.first} was ended by {_signal_name(reported - 128)}")
        return reported if reported is not None else 128 - code if code and code < 0 else code or 0

    def _look_for_ends(self) -> None:
        """Notice ranks that have failed before they could say that they are there."""
        if self.server is None or self.failed_at is not None:
            return
        for rank in set(range(self.job.size)) - self.server.known:
            if self.server.values.check([f"exit/{rank}"]):
                code = self.server.values.get(f"exit/{rank}").decode()
                self._note(rank, f"it ended with exit code {code} before it had met the others")

    def _note(self, rank: int, reason: str) -> None:
        """Remember when a rank failed, and say so of the first."""
        with self._lock:
            first, self.failed_at = self.failed_at is None, self.failed_at or time.monotonic()
        if first:
            self.first = rank
            _say(f"rank {rank} failed: {reason}")

    def _reported_code(self) -> int | None:
        """What the first rank that failed said that its exit code is."""
        if self.failed_at is None or self.server is None:
            return None
        key = f"exit/{self.first}"
        return int(self.server.values.get(key)) if self.server.values.check([key]) else None

    def _arguments(self) -> list[str]:
        job = self.job
        mpiexec = mpi.find_mpiexec() or "mpiexec"
        flags = ["-n", str(job.here), *mpi.flags(mpiexec)]
        if mpi.open_mpi_version(mpiexec) is not None:
            if (
                job.hostfile
            ):  # whose machines Open MPI gives no variables but those that it is told of
                named = [name for name in self._environment() if _travels(name)]
                flags += ["--hostfile", job.hostfile, "--map-by", f"ppr:{job.ranks_per_node}:node"]
                flags += [word for name in named for word in ("-x", name)]
        else:
            flags += ["-f", job.hostfile, "-ppn", str(job.ranks_per_node)] if job.hostfile else []
        worker = [sys.executable, str(Path(__file__).with_name("supervise.py"))]
        worker += ["--module"] if job.module else []
        worker += [] if job.check else ["--no-check"]
        worker += ["--local-rank"] if job.pass_local_rank else []
        return [mpiexec, *flags, *worker, *job.command]

    def _environment(self) -> dict[str, str]:
        job = self.job
        port = self.server.server_address[1] if self.server is not None else job.master_port
        threads = (
            {} if job.here == 1 or "OMP_NUM_THREADS" in os.environ else {"OMP_NUM_THREADS": "1"}
        )
        library = str(Path(__file__).parents[3])
        paths = [library, *filter(None, [os.environ.get("PYTHONPATH")])]
        return {
            **os.environ,
            **threads,
            **job.environment,
            "PYTHONPATH": os.pathsep.join(paths),
            "MASTER_ADDR": job.master_addr,
            "MASTER_PORT": str(port),
            "WORLD_SIZE": str(job.size),
            "LOCAL_WORLD_SIZE": str(job.ranks_per_node),
            "GROUP_RANK": str(job.node_rank or 0),
            "GROUP_WORLD_SIZE": str(job.nodes),
            "ROLE_WORLD_SIZE": str(job.size),
            "ROLE_NAME": "default",
            "TORCHELASTIC_RESTART_COUNT": str(self.number),
            "TORCHELASTIC_MAX_RESTARTS": str(job.max_restarts),
            "TORCHELASTIC_RUN_ID": "minitorch",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
        }


def _signal_name(number: int) -> str:
    """What a signal is called, and what it may mean."""
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return (
        f"{name}: is /dev/shm full, which ranks of a machine share?" if name == "SIGBUS" else name
    )


def _travels(name: str) -> bool:
    """Whether a variable is for other machines, too."""
    of_this_machine = (
        "OMPI_",
        "PMIX_",
        "PRTE_",
        "OPAL_",
        "SSH_",
        "BASH_FUNC",
        "HOSTNAME",
        "DISPLAY",
        "_",
    )
    return name.isidentifier() and not name.startswith(of_this_machine)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End `mpiexec`, which ends its ranks; kill it and its processes where it does not."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
