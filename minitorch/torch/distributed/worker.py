"""One rank under `mpiexec`: it says who it is in Torch's variables, and runs the program."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from ..runner import run_module, run_script
from . import mpi
from .errors import DistError
from .tcp_store import Presence, TCPStore
from .world import leave, world


def main(argv: Sequence[str]) -> int:
    """Run a rank, and tell the launcher if it fails."""
    args = list(argv)
    options = set()
    while args and args[0] in ("--module", "--no-check", "--local-rank"):
        options.add(args.pop(0))
    rank = _set_variables()
    if "--local-rank" in options:
        args.insert(1, f"--local-rank={os.environ['LOCAL_RANK']}")
    mpi.launched_as[:] = [(rank, int(os.environ["WORLD_SIZE"]))]
    world.presence = Presence(_store(), rank)
    world.presence.on_store_gone = lambda: os._exit(1)
    run = run_module if "--module" in options else run_script
    try:
        code = run(args[0], args[1:], "--no-check" not in options)
        reason = "" if code == 0 else _last_error(code)
    except SystemExit as ended:
        code, reason = _exit_code(ended.code)
    if code:
        _report(rank, code, reason)
    leave(reason if code else "")
    if mpi.failed or code:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # MPI cannot end in order: not all ranks come to its end
    return code


def _set_variables() -> int:
    """RANK and its companions, from what mpiexec says."""
    local, _ = mpi.launched_local()
    per_node, node = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["GROUP_RANK"])
    rank = (mpi.launched_rank() or 0) + node * per_node
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(local), ROLE_RANK=str(rank))
    if int(os.environ["GROUP_WORLD_SIZE"]) > 1 and node == 0:
        os.environ["GROUP_RANK"] = str(rank // per_node)
    return rank


def _store() -> TCPStore:
    port = int(os.environ["MASTER_PORT"])
    return TCPStore(os.environ["MASTER_ADDR"], port, timeout=timedelta(minutes=1))


def _exit_code(given: object) -> tuple[int, str]:
    """The code of a `sys.exit`, and what it said."""
    if given is None or isinstance(given, int):
        code = int(given or 0) & 0xFF
        return code, f"it ended with exit code {code}"
    sys.stderr.write(f"{given}\n")
    return 1, str(given)


def _last_error(code: int) -> str:
    """The exception that the program ended with, in one line."""
    error = getattr(sys, "last_value", None)
    if error is None:
        return f"it ended with exit code {code}"
    return traceback.format_exception_only(type(error), error)[-1].strip()


def _report(rank: int, code: int, reason: str) -> None:
    with suppress(DistError):  # the launcher is gone
        _store().set(f"exit/{rank}", str(code))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
