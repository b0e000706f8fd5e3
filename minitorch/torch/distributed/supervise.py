"""What `mpiexec` starts: it starts a rank, waits for it, and ends with its exit code.

A rank that a signal kills would make `mpiexec` kill all others at once, before they can say what they
waited for. So what it sees end is this process, always with an exit code. It is run by its path and
imports nothing of the library: it forks first.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import socket
import struct
import sys
from contextlib import suppress
from types import FrameType

_PR_SET_PDEATHSIG = 1
_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")


def main() -> None:
    """Fork: the child goes on as a rank, this process waits for it."""
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # MPICH's word that another rank has failed
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
        _die_with_parent()
        # The library first: the folder that a rank starts in may be a student's, with a minitorch of its own.
        sys.path[0] = os.path.abspath(os.path.join(__file__, *[os.pardir] * 4))
        runpy.run_module("minitorch.torch.distributed.worker", run_name="__main__", alter_sys=True)
        return

    def forward(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, forward)
    if "PMI_FD" in os.environ:
        os.close(int(os.environ["PMI_FD"]))  # the rank's line to mpiexec
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    code = 128 - code if code < 0 else code
    if code:
        _report(code)
    os._exit(code)


def _report(code: int) -> None:
    """Tell the launcher's store, in its own messages, how the rank has ended: not every `mpiexec` does."""
    found = next((os.environ[name] for name in _RANKS if name in os.environ), "0")
    rank = int(found) + int(os.environ["GROUP_RANK"]) * int(os.environ["LOCAL_WORLD_SIZE"])
    parts = b"set", f"exit/{rank}".encode(), str(code).encode()
    message = struct.pack("<4I", len(parts), *map(len, parts)) + b"".join(parts)
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    with suppress(OSError), socket.create_connection(address, timeout=2) as connection:
        connection.sendall(message)
        connection.recv(64)  # the answer: it is there


def _die_with_parent() -> None:
    """Let the system kill this process when the one that waits for it is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
