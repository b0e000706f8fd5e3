"""Processes that read damaged files, with limits on memory and time, and what they find."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

MOST_MEMORY = 64 << 20
"""How much more memory than before a case may take, whatever the file asks for."""

MOST_ADDRESSES = 512 << 20
"""The same for addresses, used or not."""

MOST_SECONDS = 20.0
"""Of processor time, for one file."""

TIMEOUT = 600.0
"""Seconds without an answer, on however busy a machine."""

LONGEST_MESSAGE = 2000


@dataclass
class Report:
    """What came of some cases."""

    refused: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    most_memory: int = 0

    def take(self, answer: dict[str, Any]) -> None:
        """Count one case."""
        (self.accepted if answer["accepted"] else self.refused)[answer["kind"]] += 1
        self.most_memory = max(self.most_memory, answer["memory"])
        if answer["finding"]:
            self.findings.append(answer["finding"])


# --- In a worker -----------------------------------------------------------------------------


class Reader:
    """Makes and reads the files of cases, each known by its seed and number."""

    def __init__(self, folder: Path) -> None:
        from .kinds import make_kinds

        self.folder = folder
        with tempfile.TemporaryDirectory(dir=folder) as samples:
            self.kinds = make_kinds(Path(samples))
        self._names = sorted(self.kinds)

    def make(self, seed: int, number: int) -> tuple[str, bytes, str]:
        """Kind, content and story of a damaged file."""
        from .mutations import GENERIC

        rng = Random(f"{seed} {number}")
        name = self._names[number % len(self._names)]
        kind = self.kinds[name]
        content, story = rng.choice(kind.samples), []
        for place in range(rng.choice([1, 1, 1, 2])):
            mutation = rng.choice(kind.mutations if rng.random() < 0.7 else GENERIC)
            # What knows the format may fail on what is damaged already, but not on a good file.
            with contextlib.suppress(*([Exception] if place else [])):
                content = mutation(content, rng)
                story.append(mutation.__name__)
        return name, content, " and ".join(story)

    def read(self, name: str, content: bytes) -> tuple[bool, str]:
        """Whether the file was accepted, and what is wrong with how it was treated."""
        kind = self.kinds[name]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder) / kind.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            try:
                kind.read(path)
            except kind.errors as error:
                return False, _complain(error, kind.errors, path if kind.names_file else None)
            except BaseException as error:
                return False, f"leaks {_where(error)}"
        return True, ""


def _complain(error: Exception, allowed: tuple[type[Exception], ...], path: Path | None) -> str:
    """What is wrong with an error of a documented class; nothing if it is clear."""
    text = str(error)
    if type(error) not in allowed:
        return f"leaks {_where(error)}"
    if not 5 < len(text) < LONGEST_MESSAGE:
        return f"says {len(text)} characters: {text[:200]!r}"
    if path is not None and path.name not in text:
        return f"does not name the file: {text!r}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"cannot be printed: {text!r}"
    return ""


def _where(error: BaseException) -> str:
    """An error and the last lines of ours that it came through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "minitorch" in f.filename]
    lines = [f"{Path(f.filename).name}:{f.lineno}" for f in frames[-2:]]
    return f"{type(error).__name__}: {str(error)[:200]!r} ({' '.join(lines)})"


def _memory(name: str) -> int:
    """A number of bytes in /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise LookupError(name)


def work(seed: int, numbers: range) -> None:
    """Read the files of some cases, and print a line of JSON before and after each."""
    with tempfile.TemporaryDirectory(prefix="damaged-") as folder:
        reader = Reader(Path(folder))
        for name, kind in reader.kinds.items():  # what is loaded on first use is loaded now
            accepted, complaint = reader.read(name, kind.samples[0])
            if not accepted:
                raise AssertionError(f"a good file ({name}) is refused: {complaint}")
        limit = _memory("VmSize") + MOST_ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for number in numbers:
            name, content, story = reader.make(seed, number)
            _say({"begun": number, "kind": name, "story": story})
            Path("/proc/self/clear_refs").write_text("5")  # forget the highest use of memory
            before = _memory("VmRSS")
            signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)  # ends the process
            accepted, complaint = reader.read(name, content)
            signal.setitimer(signal.ITIMER_PROF, 0)
            taken = _memory("VmHWM") - before
            if not complaint and taken > MOST_MEMORY:
                complaint = f"takes {taken >> 20} MB"
            about = (
                f"case {number} of seed {seed}, {name}, {story} ({len(content)} bytes): {complaint}"
            )
            _say({
                "kind": name, "accepted": accepted, "memory": taken, "finding": complaint and about,
            })  # fmt: skip


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


# --- From outside ------------------------------------------------------------------------------


def run(seed: int, count: int, workers: int = 2) -> Report:
    """Read damaged files in several processes; one that dies or hangs is a finding, and is replaced.

    Ctrl-C ends it with what was found so far.
    """
    report = Report()
    waiting = [range(i, count, workers) for i in range(workers)]
    running = [_Worker(seed, numbers) for numbers in waiting if len(numbers)]
    try:
        while running:
            select.select([each.answers for each in running], [], [], 1.0)
            for worker in list(running):
                over = worker.is_over()
                for answer in worker.read():
                    report.take(answer)
                if over:
                    running.remove(worker)
                    if fate := worker.fate():
                        if not worker.begun:
                            raise RuntimeError(fate)
                        report.findings.append(fate)
                        if len(worker.left):
                            running.append(_Worker(seed, worker.left))
    except KeyboardInterrupt:
        sys.stderr.write("Stopped by Ctrl-C.\n")
    finally:
        for worker in running:
            worker.stop()
    return report


class _Worker:
    """One process, and how far it is."""

    def __init__(self, seed: int, numbers: range) -> None:
        self.seed, self.left = seed, numbers
        self.begun = False
        self._at = "before the first case"
        self._heard = time.monotonic()
        self._text = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        about = [str(n) for n in (seed, numbers.start, numbers.stop, numbers.step)]
        self.process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.damaged_files", "--work", *about],
            stdout=subprocess.PIPE, stderr=self._errors, cwd=Path(__file__).parents[2],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.answers = self.process.stdout.fileno()

    def read(self) -> Iterator[dict[str, Any]]:
        """The cases that are done since the last look."""
        while select.select([self.answers], [], [], 0)[0]:
            if not (more := os.read(self.answers, 1 << 16)):
                break
            self._text += more
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            answer = json.loads(line)
            self._heard = time.monotonic()
            if "begun" in answer:
                number, self.begun = answer["begun"], True
                self.left = range(number + self.left.step, self.left.stop, self.left.step)
                self._at = f"case {number} of seed {self.seed}, {answer['kind']}, {answer['story']}"
            else:
                yield answer

    def is_over(self) -> bool:
        """Whether the process has ended, or does not answer: then it is ended."""
        if time.monotonic() - self._heard > TIMEOUT:
            self.stop()
        return self.process.poll() is not None

    def fate(self) -> str:
        """What is wrong with how the process ended; "" if nothing is."""
        if time.monotonic() - self._heard > TIMEOUT:
            return f"{self._at}: no answer within {TIMEOUT:.0f} s"
        if self.process.returncode == 0:
            return ""
        self._errors.seek(0)
        last = self._errors.read()[-1500:].decode(errors="replace")
        return f"{self._at}: the process ended with {self.process.returncode}\n{last}"

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
