"""A process of its own for code that is not trusted, and walls around it.

    with Sandbox(script, folder, limits, layers) as box:     # folder holds the script and the code
        box.send(b'{"what": "to do"}')
        line = box.receive()                                  # Ended when nothing more will come
    box.outcome                                               # how it ended

The script reads lines from file descriptor 0 and writes lines to the one that `sys.argv[1]` names;
what it prints goes nowhere. It sees, where the system can see to it, the Python installation without
`minitorch`, `folder`, and a folder to write in (the current one, also HOME and TMPDIR); nothing of the
environment, the network or other processes. When the sandbox is closed nothing of it is left.

`inside/supervise.py` starts and ends the process, `inside/confine.py` says what each layer does.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .inside.processes import end_marked
from .visible import DEVICES, FOREIGN, environment, hidden, python_path, readable
from .workspace import CourseError

INSIDE = Path(__file__).parent / "inside"
LAYERS = {
    "namespaces": "files, processes and network of its own (user namespaces of Linux)",
    "bubblewrap": "the same through bwrap, where namespaces alone are not allowed",
    "landlock": "no file is opened but those of Python and the submission (Linux 5.13)",
    "seccomp": "no other process, no socket, no tracing (Linux)",
    "cgroup": "memory and processes bounded in sum by the kernel",
    "uid": "a user of its own, where the grader is root",
    "limits": "processor time, memory, file sizes bounded for each process",
    "watch": "memory, files and processes bounded in sum by looking often",
    "guard": "Python itself refuses the same, with a reason",
}
"""What a sandbox can be made of."""


@dataclass(frozen=True)
class Limits:
    """What one run may use, all its processes together."""

    seconds: int = 120
    memory: int = 8 << 30
    disk: int = 256 << 20
    files: int = 10_000
    processes: int = 2048
    output: int = 16 << 20


@dataclass
class Outcome:
    """How a run ended.

    `kind` is "ended" (by itself), "stopped" (by us), "setup" (it never began: not the submission's
    fault), or what it had too much of: "time", "memory", "disk", "processes", "output".
    """

    kind: str
    text: str
    status: int = 0
    seconds: float = 0.0
    output: bytes = b""


_TEXTS = {
    "ended": "the process ended with status {status} before it had answered",
    "stopped": "not needed any more",
    "setup": "the process could not be started",
    "time": "no end after {seconds} s",
    "memory": "more than {memory} bytes of memory",
    "disk": "more than {disk} bytes or {files} files written",
    "processes": "more than {processes} processes",
    "output": "more than {output} bytes of answers",
}
_LINE = 100
"""Bytes that a line takes, however short."""
_GRACE = 30
"""Seconds that the supervisor has, beyond a run's own, to end what is left."""
_FIRST_UID = 0x60000000
_TOKEN = "MINITORCH_SANDBOX"
_LOCK = "in-use"


class Ended(Exception):  # noqa: N818 - it is no error that a process ends
    """The sandbox has ended, and nothing more will come from it."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(f"{outcome.kind}: {outcome.text}")
        self.outcome = outcome


# --- The sandbox -----------------------------------------------------------------------------


class Sandbox:
    """A script that runs in a process of its own, behind walls.

    Args:
        script: a file of Python, in `folder`
        folder: what the script may read; other users may, too, from then on
        limits: what it may use
        layers: names of LAYERS; those that work here if None
        arguments: the script finds them in `sys.argv[2:]`
        variables: added to its environment
    """

    def __init__(
        self,
        script: Path,
        folder: Path,
        limits: Limits | None = None,
        layers: Collection[str] | None = None,
        arguments: Sequence[str] = (),
        variables: dict[str, str] | None = None,
    ) -> None:
        if os.name != "posix":
            raise CourseError("grading needs Linux or macOS, or a container (docs/grading.md)")
        self.limits = limits or Limits()
        self.layers = frozenset(usable() if layers is None else layers)
        self.outcome: Outcome | None = None
        self.began = time.monotonic()
        self._deadline = self.began + self.limits.seconds + _GRACE
        self._answers, self._reports, self._unsent = _Lines(), _Lines(), _Lines()
        self._folders = contextlib.ExitStack()
        self._private = self._folders.enter_context(temporary_folder("minitorch-sandbox-"))
        self._token = f"{_TOKEN}={self._private.name}"
        try:
            settings = self._settings(script.resolve(), folder.resolve(), variables or {})
            self._start(settings | {"arguments": list(arguments)})
        except BaseException:
            self._folders.close()
            raise

    def _settings(self, script: Path, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
        root, scratch = self._private / "root", self._private / "scratch"
        root.mkdir()
        scratch.mkdir()
        uid = _FIRST_UID + os.getpid()
        if "uid" in self.layers and os.geteuid() == 0:
            os.chown(scratch, uid, uid)
            _share(folder)
        name, _, value = self._token.partition("=")
        return {
            "layers": sorted(self.layers),
            "limits": vars(self.limits),
            "folder": str(folder),
            "root": str(root),
            "scratch": str(scratch),
            "readable": readable(),
            "hidden": hidden(),
            "foreign": sorted(FOREIGN),
            "devices": [path for path in DEVICES if os.path.exists(path)],
            "path": python_path(),
            "python": os.path.realpath(sys.executable),
            "bubblewrap": shutil.which("bwrap"),
            "uid": uid,
            "environment": environment(scratch) | variables | {name: value},
            "script": str(script),
        }

    def _start(self, settings: dict[str, Any]) -> None:
        control, self._control = os.pipe()
        report, questions, answers = os.pipe(), os.pipe(), os.pipe()
        self._reports.read_from(report[0], 1 << 20)
        self._answers.read_from(answers[0], self.limits.output)
        self._unsent.write_to(questions[1])
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", "-B", str(INSIDE / "supervise.py")),
                *(str(control), str(report[1])),
            ],
            stdin=questions[0],
            stdout=answers[1],
            stderr=subprocess.DEVNULL,
            pass_fds=[control, report[1]],
            start_new_session=True,
        )
        for descriptor in (control, report[1], questions[0], answers[1]):
            os.close(descriptor)
        _write(self._control, json.dumps(settings).encode() + b"\n")
        ready = self._report(60).get("ready", "the supervisor ended")
        if ready != "ok":
            self._end("setup", ready)

    # --- Talking ---------------------------------------------------------------------------

    def send(self, line: bytes) -> None:
        """Give a line to the script; what it does not read waits."""
        if self.outcome is not None:
            raise Ended(self.outcome)
        self._unsent.put(line + b"\n")

    def receive(self, seconds: float | None = None) -> bytes:
        """Wait for a line of the script, if need be for some seconds only; Ended if none comes."""
        if self.outcome is not None:
            raise Ended(self.outcome)
        wait = max(self._deadline - time.monotonic(), 0)
        try:
            line = self._answers.get(timeout=wait if seconds is None else min(wait, seconds))
        except queue.Empty:
            raise Ended(self._end("time")) from None
        if line is None:
            raise Ended(self._end("output" if self._answers.too_long else ""))
        return line

    def ask(self, line: bytes, seconds: float | None = None) -> bytes:
        """Send a line, and wait for one."""
        self.send(line)
        return self.receive(seconds)

    def close(self) -> Outcome:
        """End all that is left; how it ended."""
        return self.outcome or self._end("stopped")

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Ending ------------------------------------------------------------------------------

    def _report(self, seconds: float) -> dict[str, Any]:
        """What the supervisor says next; nothing if it has ended or is silent."""
        try:
            line = self._reports.get(timeout=seconds)
        except queue.Empty:
            line = None
        return json.loads(line) if line else {}

    def _end(self, kind: str, text: str = "") -> Outcome:
        """End the process for a reason of ours; without one, for its own."""
        last = {} if kind else self._report(2)
        os.close(self._control)
        last = last or self._report(_GRACE)
        kind = kind or last.get("kind", "ended")
        status = last.get("status", 0)
        text = text or _TEXTS[kind].format(status=status, **vars(self.limits))
        self._process.kill()
        self._process.wait()
        if not last:  # the supervisor was killed: what it watched is not ended yet
            end_marked(self._token)
        self._unsent.put(None)
        self._folders.close()
        self.outcome = Outcome(kind, text, status, round(time.monotonic() - self.began, 3))
        return self.outcome


def run(
    script: Path,
    folder: Path,
    request: bytes,
    limits: Limits | None = None,
    layers: Collection[str] | None = None,
    **options: Any,
) -> Outcome:
    """Give a script one line and take all that it answers until it ends; see `Sandbox`."""
    lines = []
    with Sandbox(script, folder, limits, layers, **options) as box:
        try:
            box.send(request)
            while True:
                lines.append(box.receive())
        except Ended as ended:
            ended.outcome.output = b"\n".join(lines)
            return ended.outcome


class _Lines(queue.SimpleQueue[bytes | None]):
    """Lines on their way from or to a file descriptor; None after the last."""

    too_long = False

    def read_from(self, source: int, most: int) -> None:
        """Fill the queue in the background, with `most` bytes at most."""

        def read() -> None:
            text, total = b"", 0
            with contextlib.suppress(OSError), os.fdopen(source, "rb", buffering=0):
                while not self.too_long and (more := os.read(source, 1 << 16)):
                    total += len(more) + _LINE * more.count(b"\n")
                    self.too_long = total > most
                    *lines, text = (text + more).split(b"\n")
                    for line in lines:
                        self.put(line)
            self.put(None)

        threading.Thread(target=read, daemon=True).start()

    def write_to(self, target: int) -> None:
        """Empty the queue in the background."""

        def write() -> None:
            with contextlib.suppress(OSError), os.fdopen(target, "wb", buffering=0):
                while (line := self.get()) is not None:
                    _write(target, line)

        threading.Thread(target=write, daemon=True).start()


def _share(folder: Path) -> None:
    """Let other users read a folder."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _write(target: int, text: bytes) -> None:
    while text:
        text = text[os.write(target, text) :]


@contextlib.contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A folder that is removed afterwards; if we are killed, by the next who makes one."""
    with contextlib.suppress(OSError):
        _remove_abandoned(Path(tempfile.gettempdir()), prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    folder.chmod(0o711)
    try:
        with open(folder / _LOCK, "w") as lock:
            _lock(lock.fileno())
            yield folder
    finally:
        remove_tree(folder)


def _remove_abandoned(place: Path, prefix: str) -> None:
    for folder in place.glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            found = folder.lstat()
            recent = time.time() - found.st_mtime < 60
            if recent or not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            with open(folder / _LOCK) as lock:
                _lock(lock.fileno())  # an error while its owner lives
                remove_tree(folder)


def _lock(descriptor: int) -> None:
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def remove_tree(folder: Path) -> None:
    """Remove a folder, however deep or forbidden what is in it: folders are moved up, then emptied."""
    top, mark = str(folder), secrets.token_hex(8)
    pending, count = [top], 0
    while pending:
        current = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(current, 0o700)
            for entry in list(os.scandir(current)):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)
                    continue
                count += 1
                moved = os.path.join(top, f"{mark}-{count}")
                os.chmod(entry.path, 0o700)
                os.rename(entry.path, moved)
                pending.append(moved)
            if current != top:
                os.rmdir(current)
    with contextlib.suppress(OSError):
        os.rmdir(top)


# --- Layers ------------------------------------------------------------------------------------


@functools.cache
def usable(without: frozenset[str] = frozenset()) -> frozenset[str]:
    """The layers that work here, of those that are wanted."""
    return frozenset(name for name, problem in probe(without).items() if not problem)


@functools.cache
def probe(without: frozenset[str] = frozenset()) -> dict[str, str]:
    """What keeps each layer from being used; "" if nothing does."""
    problems = {name: _known_problem(name, without) for name in LAYERS}
    together = {name for name in LAYERS if not problems[name]} - {"bubblewrap"}
    with temporary_folder("minitorch-probe-") as folder:
        script = folder / "probe.py"
        script.write_text("import os, sys\nos.write(int(sys.argv[1]), b'ok\\n')\n")
        folder.chmod(0o755)
        all_work = "namespaces" in together and not _problem(script, together)
        active = together if all_work else set()
        for name in LAYERS:
            if name == "bubblewrap" and "namespaces" in active:
                problems[name] = problems[name] or "not needed"
            elif name not in active:
                problems[name] = problems[name] or _problem(script, {*active, name})
            if not problems[name]:
                active.add(name)
    return problems


def _known_problem(name: str, without: Collection[str]) -> str:
    """What keeps a layer from being used, as far as one knows without trying."""
    if name in without:
        return "switched off"
    if name == "bubblewrap" and not shutil.which("bwrap"):
        return "bwrap is not installed"
    if name == "uid" and os.geteuid() != 0:
        return "the grader is not root"
    return ""


def _problem(script: Path, layers: set[str]) -> str:
    outcome = run(script, script.parent, b"", Limits(seconds=30), layers)
    return "" if outcome.output == b"ok" else outcome.text
