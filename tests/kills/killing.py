"""Start a command, kill it and all that it started at a random moment, and see what is left."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

REPOSITORY = Path(__file__).parents[2]
MARKER = "MINITORCH_KILLS"
"""A variable by which all processes of a command are found, whatever group they are in."""

LONGEST = 600.0
"""Seconds that a run which is not killed may take."""

GRACE = 120.0
"""Seconds within which a command that is asked to end does so, and children of a killed one are gone."""

AGAIN = 10.0
"""Seconds after which a command that has not ended is interrupted once more. Python loses an interrupt in the callback of a weak
reference; each import ends with one."""


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what it wrote."""

    code: int
    text: str
    seconds: float


class Run:
    """One command in a process group of its own."""

    def __init__(self, command: list[str], folder: Path, variables: dict[str, str]) -> None:
        self.token = secrets.token_hex(8)
        self.begun = time.monotonic()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        usual = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**usual, "PYTHONPATH": str(REPOSITORY), MARKER: self.token, **variables},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def output(self) -> str:
        """What it has written so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode(errors="replace")

    def wait(self) -> Ended:
        """Let it run to its end."""
        try:
            code = self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.end()
            code = -1
        return Ended(code, self.output(), time.monotonic() - self.begun)

    def wait_for_output(self) -> float:
        """Wait for the first line; how long that took."""
        while self.process.poll() is None and "\n" not in self.output():
            time.sleep(0.05)
        return time.monotonic() - self.begun

    def kill(self, moment: float, number: int) -> str:
        """Kill the group so many seconds after the start; what is wrong with what happens then."""
        try:
            self.process.wait(max(moment - (time.monotonic() - self.begun), 0))
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, number)
        try:
            self._wait_interrupted(number)
        except subprocess.TimeoutExpired:
            self.end()
            return f"{signal.Signals(number).name} does not end it within {GRACE:.0f} s"
        left = self.survivors(GRACE)
        self.end()
        return f"processes are left: {left}" if left else ""

    def _wait_interrupted(self, number: int) -> None:
        """Wait for the end of a command that was sent a signal; TimeoutExpired where it goes on."""
        if number == signal.SIGINT:
            try:
                self.process.wait(AGAIN)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, number)
        self.process.wait(GRACE)

    def survivors(self, patience: float) -> list[str]:
        """The command lines of processes that are still there after so many seconds."""
        until = time.monotonic() + patience
        while (found := _marked(self.token)) and time.monotonic() < until:
            time.sleep(0.1)
        return list(found.values())

    def end(self) -> None:
        """End every process of the command."""
        for process in _marked(self.token):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def _marked(token: str) -> dict[int, str]:
    """The processes with a mark in their environment, and their command lines."""
    mark, found = f"{MARKER}={token}".encode(), {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                words = (place / "cmdline").read_bytes().split(b"\0")
                found[int(place.name)] = b" ".join(words).decode(errors="replace")[:150]
        except OSError:
            continue
    return found


def choose_signal(rng: Random) -> int:
    """Mostly the one that cannot be caught."""
    return rng.choice([signal.SIGKILL] * 5 + [signal.SIGTERM, signal.SIGINT])


def python(code: str, *arguments: str) -> list[str]:
    """A command that runs some Python."""
    return [sys.executable, "-P", "-c", code, *arguments]  # -P: not the minitorch of a workspace


def minitorch(*arguments: str) -> list[str]:
    """A `minitorch` command."""
    return python("import sys; from minitorch.cli import main; sys.exit(main())", *arguments)
