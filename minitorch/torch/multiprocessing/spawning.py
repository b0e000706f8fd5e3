"""Starting a function in several processes, and waiting for them."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from multiprocessing import connection
from typing import Any


class ProcessException(Exception):  # noqa: N818
    """A process that was started did not end well."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, error_pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended with an exception."""


class ProcessExitedException(ProcessException):
    """A process was killed, or ended with a code other than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> tuple[Any, ...]:
        where = self.msg, self.error_index, self.pid
        return type(self), (*where, self.exit_code, self.signal_name)


def _call(fn: Callable[..., Any], rank: int, args: Sequence[Any], errors: Any) -> None:
    """What a process does: call the function, and send the text of an exception home."""
    try:
        fn(rank, *args)
    except KeyboardInterrupt:
        pass  # the parent was interrupted too
    except Exception:  # whatever the function raises is raised again by the parent
        errors.put(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes: Sequence[Any], error_queues: Sequence[Any]) -> None:
        self.processes = list(processes)
        self.error_queues = list(error_queues)
        self.sentinels = {p.sentinel: rank for rank, p in enumerate(self.processes)}

    def pids(self) -> list[int]:
        """The numbers that the system has given them."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait until one ends badly or all have ended, or for so many seconds.

        Returns:
            whether all have ended; if one ended badly, the others are stopped and what happened
            to it is raised
        """
        if not self.sentinels:
            return True
        ended = [self.sentinels.pop(s) for s in connection.wait(list(self.sentinels), timeout)]  # type: ignore[arg-type]
        for rank in ended:
            self.processes[rank].join()
        failed = next((rank for rank in ended if self.processes[rank].exitcode != 0), None)
        if failed is None:
            return not self.sentinels
        self._stop(grace_period)
        self._raise(failed)
        return True

    def _stop(self, grace_period: float | None) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(30 if grace_period is None else grace_period)
            if process.is_alive():
                process.kill()
                process.join()

    def _raise(self, rank: int) -> None:
        """Raise what happened to a process."""
        process, errors = self.processes[rank], self.error_queues[rank]
        if not errors.empty():
            text = f"\n\n-- Process {rank} terminated with the following error:\n{errors.get()}"
            raise ProcessRaisedException(text, rank, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            text = f"process {rank} terminated with signal {name}"
            raise ProcessExitedException(text, rank, process.pid, code, name)
        text = f"process {rank} terminated with exit code {code}"
        raise ProcessExitedException(text, rank, process.pid, code)


class SpawnContext(ProcessContext):
    """Processes that were spawned together."""

    def __init__(self, processes: Sequence[Any], error_queues: Sequence[Any]) -> None:
        super().__init__(processes, error_queues)


def start_processes(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call `fn(rank, *args)` in so many processes.

    Args:
        fn: a function that can be imported
        args: its arguments after the number of the process
        nprocs: how many processes
        join: whether to wait for them; if one fails, its exception is raised here
        daemon: whether they end with this process
        start_method: "spawn", "fork" or "forkserver"

    Returns:
        None if joined, else the processes
    """
    context: Any = multiprocessing.get_context(start_method)
    processes, queues = [], []
    for rank in range(nprocs):
        errors = context.SimpleQueue()
        process = context.Process(target=_call, args=(fn, rank, args, errors), daemon=daemon)
        process.start()
        processes.append(process)
        queues.append(errors)
    started = SpawnContext(processes, queues)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Call `fn(rank, *args)` in so many new processes; see `start_processes`."""
    return start_processes(fn, args, nprocs, join, daemon, start_method)
