"""Control groups: memory and processes bounded in sum (Linux, where one may be made)."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


class Group:
    """A control group of each controller, for the processes of one run."""

    def __init__(self, name: str, memory: int, processes: int) -> None:
        self.folders: list[Path] = []
        try:
            self._make(name, memory, processes)
        except OSError:
            self.remove()
            raise

    def _make(self, name: str, memory: int, processes: int) -> None:
        memory_limits = {
            "memory.max": memory,
            "memory.swap.max": 0,
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
        }
        for parent, limits in _parents(memory_limits, {"pids.max": processes}):
            folder = parent / name
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
        """End all that is in the group, and take it away."""
        deadline = time.monotonic() + 5
        while (left := self.processes()) and time.monotonic() < deadline:
            for process in left:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


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
