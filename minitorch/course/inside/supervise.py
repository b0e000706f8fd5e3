"""Starts a submission's process behind its walls, watches it, and ends all that came of it.

Run by `sandbox.py` as `python -I -S -B supervise.py CONTROL REPORT`. The settings are a line of JSON
on CONTROL; when CONTROL ends, whoever asked is gone or wants no more. Standard input and output are
the submission's. REPORT gets a line when it has begun, and one when nothing of it is left:

    {"ready": "ok"} or {"ready": "what went wrong"}    {"kind": "time", "status": 9}
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import cgroups  # noqa: E402
import namespaces  # noqa: E402
import processes  # noqa: E402

Settings = dict[str, Any]
_DEATH_SIGNAL, _DUMPABLE, _DROP_CAPABILITY, _SUBREAPER = 1, 4, 24, 36
_EVERY = 0.05
"""Seconds between two looks, at least; more where looking takes long."""


def prctl(option: int, value: int) -> None:
    """Set a property of this process, where the system has it."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


# --- Starting --------------------------------------------------------------------------------


class Start:
    """The forks between this process and the submission's; each dies with the one before."""

    def __init__(self, settings: Settings, group: cgroups.Group | None) -> None:
        self.settings, self.group, self.layers = settings, group, settings["layers"]
        self.source = (HERE / "confine.py").read_text()
        self.given = tempfile.TemporaryFile()  # noqa: SIM115 - handed to the submission's process
        self.given.write(json.dumps(settings).encode())
        self.given.seek(0)
        self.reader, self.ready = os.pipe()

    def fork(self) -> int:
        """Begin; the process whose end is the submission's."""
        child = os.fork()
        if child == 0:
            self._do(self._outside)
        os.close(self.ready)
        return child

    def _do(self, step: Callable[[], None]) -> None:
        """In a fork: do a step, and whatever happens do not return."""
        try:
            prctl(_DEATH_SIGNAL, signal.SIGKILL)
            step()
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.write(self.ready, f"{type(error).__name__}: {error}".encode()[:1000])
        finally:
            os._exit(1)

    def _outside(self) -> None:
        if self.group is not None:
            self.group.add(os.getpid())
        if "namespaces" not in self.layers:
            self._become()
        prctl(_DUMPABLE, 1)  # or its own /proc/self is not its to write
        namespaces.enter(map_user=not self._changes_user)
        first = os.fork()
        if first == 0:
            self._do(self._first)
        self._follow(first)

    def _first(self) -> None:
        """The first process of a namespace: all others end with it."""
        namespaces.build_view(self.settings)
        prctl(_DUMPABLE, 0)
        child = os.fork()
        if child == 0:
            self._do(self._become)
        self._follow(child)

    def _follow(self, child: int) -> None:
        """End as a child ends; what else ends meanwhile does not matter."""
        for descriptor in (0, 1, self.ready):
            os.close(descriptor)
        while True:
            ended, status = os.wait()
            if ended == child:
                os._exit(_code(status))

    @property
    def _changes_user(self) -> bool:
        return "uid" in self.layers and os.geteuid() == 0

    def _become(self) -> None:
        """Become the submission's process."""
        settings = self.settings
        if self._changes_user:
            os.setgroups([])
            os.setresgid(*[settings["uid"]] * 3)
            os.setresuid(*[settings["uid"]] * 3)
            prctl(_DEATH_SIGNAL, signal.SIGKILL)  # forgotten when the user changes
        elif "bubblewrap" not in self.layers:  # which gives its own up
            for capability in range(64):
                prctl(_DROP_CAPABILITY, capability)
        os.setsid()
        os.umask(0o077)
        given = self.given.fileno()
        for descriptor in (given, self.ready):
            os.set_inheritable(descriptor, True)
        command = [settings["python"], "-I", "-S", "-B", "-c", self.source]
        command += [str(given), str(self.ready)]
        if "bubblewrap" in self.layers:
            command = [*namespaces.bubblewrap(settings), *command]
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        os.execve(command[0], command, settings["environment"])

    def began(self, deadline: float) -> str:
        """Wait for the walls to stand: "ok", or what went wrong."""
        text = b""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.reader], [], [], left)[0]:
                more = os.read(self.reader, 1000)
                if not more:
                    break
                text += more
        return text.decode(errors="replace") or "the process did not begin"


def _code(status: int) -> int:
    """What to exit with to say how a child ended: 128 and more are signals."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


# --- Watching --------------------------------------------------------------------------------


class Watch:
    """Looks at what a submission's processes use, all together."""

    def __init__(self, settings: Settings) -> None:
        self.limits, self.scratch = settings["limits"], settings["scratch"]
        self.on_disk = not {"namespaces", "bubblewrap"} & set(settings["layers"])

    def excess(self) -> str:
        """What is used too much of: "memory", "processes", "disk"; "" if nothing."""
        family = processes.family(os.getpid())
        if len(family) > self.limits["processes"]:
            return "processes"
        if sum(processes.memory(process) for process in family) > self.limits["memory"]:
            return "memory"
        if self.on_disk:
            size, count = processes.folder_size(self.scratch, self.limits["files"])
            size += sum(processes.deleted_files(process) for process in family)
            if size > self.limits["disk"] or count > self.limits["files"]:
                return "disk"
        return ""


def follow(child: int, control: int, settings: Settings, deadline: float) -> tuple[str, int]:
    """Wait until a submission ends or has to: why, and the status of its process."""
    watch = Watch(settings) if "watch" in settings["layers"] else None
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = _code(status)
            kind = "time" if code == 128 + getattr(signal, "SIGXCPU", 24) else "ended"
            return kind, code
        if time.monotonic() > deadline:
            return "time", 0
        looked = time.monotonic()
        excess = watch.excess() if watch else ""
        if excess:
            return excess, 0
        pause = max(_EVERY, 5 * (time.monotonic() - looked))
        if select.select([control], [], [], pause)[0]:
            return "stopped", 0


def main() -> None:
    """Run one submission's script."""
    control, report = int(sys.argv[1]), int(sys.argv[2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    with os.fdopen(control, "rb", buffering=0, closefd=False) as file:
        settings = json.loads(file.readline())
    for descriptor in (control, report):
        os.set_inheritable(descriptor, False)

    def say(**what: Any) -> None:
        with contextlib.suppress(OSError):
            os.write(report, json.dumps(what).encode() + b"\n")

    os.umask(0o022)
    prctl(_SUBREAPER, 1)
    prctl(_DUMPABLE, 0)
    deadline = time.monotonic() + settings["limits"]["seconds"]
    group = None
    try:
        if "cgroup" in settings["layers"]:
            limits = settings["limits"]
            group = cgroups.Group(limits["memory"] + limits["disk"], limits["processes"])
        start = Start(settings, group)
        child = start.fork()
        began = start.began(min(deadline, time.monotonic() + 30))
        say(ready=began)
        for descriptor in (0, 1):
            os.close(descriptor)
        kind, status = ("setup", 1) if began != "ok" else follow(child, control, settings, deadline)
        if group is not None and status == 128 + signal.SIGKILL and group.killed():
            kind = "memory"
    except OSError as error:
        say(ready=f"{type(error).__name__}: {error}")
        kind, status = "setup", 1
    finally:
        processes.end_all(os.getpid())
        if group is not None:
            group.remove()
    say(kind=kind, status=status)


if __name__ == "__main__":
    main()
