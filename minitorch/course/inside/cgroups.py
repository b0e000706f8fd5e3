"""Control groups: memory and processes bounded in sum (Linux, where one may be made)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
NAME = "minitorch-"
"""Of a group; the number of the process that made it follows."""


class Group:
    """A control group of each controller, for the processes of one run."""

    def __init__(self, memory: int, processes: int) -> None:
        self.folders: list[Path] = []
        try:
            self._make(memory, processes)
        except OSError:
            self.remove()
            raise

    def _make(self, memory: int, processes: int) -> None:
        memory_limits = {
            "memory.max": memory,
            "memory.swap.max": 0,
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
        }
        for parent, limits in _parents(memory_limits, {"pids.max": processes}):
            remove_abandoned(parent)
            folder = parent / f"{NAME}{os.getpid()}"
            folder.mkdir()
            self.folders.append(folder)
            for file, value in limits.items():
                if (folder / file).exists():
                    (folder / file).write_text(str(value))

    def add(self, process: int) -> None:
        """Put a process into the group; its children will be in it too."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(process))

    def processes(self) -> set[int]:
        """The processes of the group."""
        found: set[int] = set()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text().split()}
        return found

    def killed(self) -> bool:
        """Whether the kernel ended a process because the group's memory was full."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    words = (folder / name).read_text().split()
                    if int(dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", 0)):
                        return True
        return False

    def remove(self) -> None:
        """End all that is in the group, and take it away: the kernel refuses while one still exits."""
        deadline = time.monotonic() + 5
        while self.folders and time.monotonic() < deadline:
            for process in self.processes():
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            self.folders = [folder for folder in self.folders if not _is_removed(folder)]
            time.sleep(0.01)


def _is_removed(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def remove_abandoned(parent: Path) -> None:
    """Take away empty groups of runs that were killed: none is there that has the group's number."""
    for folder in parent.glob(f"{NAME}[0-9]*"):
        if not Path("/proc", folder.name.removeprefix(NAME)).exists():
            _is_removed(folder)


def _parents(
    memory: dict[str, int], processes: dict[str, int]
) -> Iterator[tuple[Path, dict[str, int]]]:
    """Where a group can be made, with the limits that are set there."""
    own = dict(_own())
    if "memory" in own and "pids" in own:
        yield ROOT / "memory" / own["memory"], memory
        yield ROOT / "pids" / own["pids"], processes
        return
    place = ROOT / own.get("", "")
    for folder in (place, *place.parents):
        control = folder / "cgroup.subtree_control"
        passed_on = set(control.read_text().split()) if control.is_file() else set()
        if {"memory", "pids"} <= passed_on and os.access(folder, os.W_OK):
            yield folder, memory | processes
            return
        if folder == ROOT:
            break
    raise OSError("no control group may be made here")


def _own() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            yield controller, path.lstrip("/")
