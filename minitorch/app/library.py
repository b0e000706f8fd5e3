"""A library, yours or the reference, in a process of its own: what it answers, what it lacks.

Code that never ends, exits or fills the screen then harms nothing: the process is ended and a new
one started. It is also started anew when a file of the library has been saved.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..course.checking import environment
from ..course.lines import Lines

SERVE = Path(__file__).parent / "inside" / "serve.py"
LIMIT = 30.0
"""Seconds that a lesson may take."""
ENDED = {"problem": {"text": "the process that ran this code has ended"}}


@dataclass(frozen=True)
class Missing:
    """A function that is still to be written."""

    task: str
    file: str
    function: str


@dataclass(frozen=True)
class Problem:
    """What went wrong, and where in the library."""

    text: str
    where: str = ""


Answer = Any | Missing | Problem


def read_answer(message: dict[str, Any]) -> Answer:
    """What a line of the process says."""
    if "missing" in message:
        return Missing(**message["missing"])
    if "problem" in message:
        return Problem(**message["problem"])
    return message.get("value")


class Process:
    """A running `serve.py`: lines go in, lines come out."""

    def __init__(self, root: Path, settings: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVE), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment() | (settings or {}),
        )
        if self.process.stdout is None:
            raise RuntimeError("the process has no output")
        self.answers = Lines(self.process.stdout)
        self.end = weakref.finalize(self, _end, self.process)

    def send(self, message: dict[str, Any]) -> None:
        """Send a line; nothing happens if the process is gone."""
        if self.process.stdin is None:
            return
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return

    def next(self, limit: float) -> dict[str, Any] | None:
        """The next line, or a problem when there will be none; None if it takes too long."""
        try:
            line = self.answers.next(limit)
        except EOFError:
            self.end()
            return ENDED
        return None if line is None else json.loads(line)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    if process.stdin:
        process.stdin.close()
    process.wait()


class Library:
    """A folder with a `minitorch`, and the process that runs it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process: Process | None = None
        self.saved: dict[Path, int] = {}
        self.lock = threading.Lock()

    def ask(self, call: str, limit: float = LIMIT, **args: Any) -> Answer:
        """What a lesson of `inside/` gives: `ask("functions.curve", name="relu")`."""
        with self.lock:
            process = self._fresh_process()
            process.send({"call": call, "args": args})
            message = process.next(limit)
            if message is None:
                self.close()
                return Problem(f"no answer after {limit:.0f} s. Is there a loop that never ends?")
            answer = read_answer(message)
            if not process.end.alive:
                self.process = None
            return answer

    def start(self, call: str, settings: dict[str, str] | None = None, **args: Any) -> Run:
        """Begin a lesson that runs step by step, in another process of its own."""
        saved = saved_files(self.root / "minitorch")
        return Run(Process(self.root, settings), call, args, saved)

    def close(self) -> None:
        """End the process; the next question starts another."""
        if self.process is not None:
            self.process.end()
        self.process = None

    def _fresh_process(self) -> Process:
        saved = saved_files(self.root / "minitorch")
        if self.process is None or saved != self.saved:
            self.close()
            self.process, self.saved = Process(self.root), saved
        return self.process


def saved_files(package: Path) -> dict[Path, int]:
    """When each file of a library was saved last."""
    found = {}
    for path in [*package.glob("*.py"), *package.glob("training/*.py")]:
        with contextlib.suppress(FileNotFoundError):  # being saved this very moment
            found[path] = path.stat().st_mtime_ns
    return found


@dataclass
class Run:
    """A lesson that goes on while pages are drawn.

    Attributes:
        saved: when each file of the library was saved last, as it began
        state: `running`, `paused` or `ended`
        parts: what the lesson has yielded so far, one dictionary a step, without its `now`
        latest: the newest value of each key of the parts, and of the dictionaries `now` in them
        failure: why it ended, if it should not have
        said, heard: how often it was told something, and how often it has answered that
        began: when it was started
    """

    process: Process
    call: str
    args: dict[str, Any]
    saved: dict[Path, int]
    state: str = "running"
    parts: list[dict[str, Any]] = field(default_factory=list)
    latest: dict[str, Any] = field(default_factory=dict)
    failure: Missing | Problem | None = None
    said: int = 0
    heard: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.process.send({"call": self.call, "args": self.args})
        reference = weakref.ref(self)  # a run that nobody looks at any more is given up
        threading.Thread(
            target=_listen, args=(reference, self.process.answers), daemon=True
        ).start()

    def pause(self) -> None:
        """Stop after the present step."""
        self._order("pause", "paused")

    def go(self) -> None:
        """Go on."""
        self._order("go", "running")

    def step(self) -> None:
        """Take one step, and pause."""
        self.pause()
        self._order("step", "paused")

    def say(self, value: Any) -> None:
        """Tell the lesson something: the value of its next `yield`; takes a step."""
        self.said += 1
        self._order("say", self.state, value=value)

    @property
    def seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self.began

    @property
    def moving(self) -> bool:
        """Whether more is to come: it is running, or has not answered yet."""
        return self.state == "running" or (self.state == "paused" and self.heard < self.said)

    def stop(self) -> None:
        """End it."""
        self.state = "ended"
        self.process.end()

    def _order(self, do: str, state: str, **more: Any) -> None:
        if self.state != "ended":
            self.state = state
            self.process.send({"do": do, **more})

    def take(self, message: dict[str, Any]) -> bool:
        """Keep what a line says; False when it was the last."""
        if "part" in message:
            part = message["part"]
            pauses = part.pop("pause", False)
            now = part.pop("now", {})  # what is large, and of interest only while it is new
            self.latest = self.latest | part | now
            self.parts.append(part)
            self.heard = message.get("heard", 0)
            if pauses and self.state == "running":
                self.state = "paused"
            return True
        if self.state != "ended":
            answer = read_answer(message)
            self.failure = answer if isinstance(answer, (Missing, Problem)) else None
            self.state = "ended"
            self.process.end()
        return False


def _listen(reference: weakref.ref[Run], answers: Lines) -> None:
    with contextlib.suppress(EOFError):
        while line := answers.next():
            run = reference()
            if run is None or not run.take(json.loads(line)):
                return
            del run
    run = reference()
    if run is not None:
        run.take(ENDED)
