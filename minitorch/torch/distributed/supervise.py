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
import sys
from types import FrameType

_PR_SET_PDEATHSIG = 1


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
        os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, forward)
    if "PMI_FD" in os.environ:
        os.close(int(os.environ["PMI_FD"]))  # the rank's line to mpiexec
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(128 - code if code < 0 else code)


def _die_with_parent() -> None:
    """Let the system kill this process when the one that waits for it is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
