"""Running a task's tests on a workspace, and saying what came out."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..files import cache_folder
from .lines import Lines
from .reading import faults
from .tasks import Task
from .workspace import CourseError, Workspace

Interrupt = Callable[[], bool] | None
INSIDE = Path(__file__).parent / "inside" / "run.py"
PROCESSOR = 240
"""Seconds that one task's checks may compute."""
ENDLESS = 20
"""Seconds that one call of a student's function may compute."""
LIMIT = 1200
"""Seconds that they may take: more, since others may use the machine."""
_PROCESSOR_SIGNAL = getattr(signal, "SIGXCPU", 0)


@dataclass
class Test:
    """What became of one test."""

    id: str
    outcome: str
    """passed, skipped, failed, error; or extra: it failed, and the task can do without."""
    about: str = ""
    message: str = ""
    where: str = ""
    unwritten: str | None = None
    printed: str = ""
    drawn: str = ""
    """What it took from the run's seed: examples or numbers; "" if it is the same with any seed."""

    @property
    def name(self) -> str:
        """The test's own name, without its file."""
        return self.id.split("::", 1)[-1]


@dataclass
class Result:
    """What a run of a task's checks gave."""

    task: Task
    tests: list[Test] = field(default_factory=list)
    probes: dict[str, Any] = field(default_factory=dict)
    error: dict[str, str] | None = None
    output: str = ""
    seconds: float = 0.0
    code: str = ""
    """What `Workspace.digest` said before the run: the code that was judged."""
    seen: list[str] = field(default_factory=list)
    """What is wrong with the text of kernels, though the numbers may be right (`reading.py`)."""

    def count(self, *outcomes: str) -> int:
        """How many tests ended in one of these ways."""
        return sum(test.outcome in outcomes for test in self.tests)

    @property
    def failures(self) -> list[Test]:
        """Tests that failed, those of unwritten functions last."""
        bad = [test for test in self.tests if test.outcome in ("failed", "error")]
        return sorted(bad, key=lambda test: test.unwritten is not None)

    @property
    def passed(self) -> bool:
        """Whether everything ran and passed: skipped is not passed."""
        return (
            self.error is None
            and bool(self.tests)
            and not self.failures
            and self.count("passed") > 0
            and self.count("skipped") == 0
            and not self.seen
        )


def arguments(*tasks: Task, seed: int | None = None, first: bool = False) -> list[str]:
    """What pytest is called with."""
    markers = " or ".join(dict.fromkeys(task.marker for task in tasks))
    usual = ["-q", "-m", markers, "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    usual += ["-p", "no:timeout", "-W", "ignore", "--no-header"]
    if seed is not None:
        usual += ["--seed", str(seed)]
    if first:
        usual.append("-x")
    files = dict.fromkeys(file for task in tasks for file in task.tests)
    return [*usual, *[f"tests/course/{file}" for file in files]]


def request(root: Path, task: Task, **options: Any) -> dict[str, Any]:
    """A request for `inside/run.py`."""
    environment = options.pop("environment", {})
    only_import = options.pop("only_import", False)
    only_probes = options.pop("only_probes", False)
    if only_probes or only_import:
        environment = {**environment, "NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"}
    if options.pop("quick", False):
        environment["MINITORCH_TEST_EXAMPLES"] = "5"
    compiled = task.module >= 3  # probes run kernels as plain Python, tests compile them
    seed, first = options.pop("seed", None), options.pop("first", False)
    return {
        "root": str(root),
        "arguments": None
        if only_import or only_probes
        else arguments(task, seed=seed, first=first),
        "task": None if only_import or (compiled and not only_probes) else task.number,
        "environment": environment,
        "nonce": secrets.token_hex(16),
        "limit": LIMIT,
        "processor": PROCESSOR,
        "endless": ENDLESS * task.slow,
        **options,
    }


def require_tools() -> None:
    """CourseError where what runs the checks is not installed."""
    missing = [name for name in ("pytest", "hypothesis") if find_spec(name) is None]
    if missing:
        raise CourseError(
            f"the checks need {' and '.join(missing)}: pip install 'minitorch[course]'"
        )


def environment() -> dict[str, str]:
    """What a run's process finds in its environment: nothing that leads to another minitorch."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST_", "COV_"))}
    kept.pop("PYTHONPATH", None)
    kept |= {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_NUM_THREADS": "1"}
    with contextlib.suppress(RuntimeError):  # no home
        kept.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(cache_folder() / "hypothesis"))
    kept["PYTHONDONTWRITEBYTECODE"] = "1"  # two saves within a second would look the same
    if not has_gpu():
        kept["NUMBA_ENABLE_CUDASIM"] = "1"
    return kept


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU to run kernels on; without one, the simulator does."""
    return Path("/dev/dxg").exists() or any(Path("/dev").glob("nvidia[0-9]*"))


def read_answer(line: str, nonce: str, task: Task) -> Result:
    """The result that a line holds; one that does not begin with the nonce counts for nothing."""
    given, _, text = line.partition(" ")
    if given != nonce:
        error = {"kind": "died", "text": "the process ended before it could report"}
        return Result(task, error=error)
    try:
        return _result(json.loads(text), task)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return Result(task, error={"kind": "died", "text": "what it reported cannot be read"})


def _result(data: dict[str, Any], task: Task) -> Result:
    """A result, made of what was sent: nothing is taken to be what it should be."""
    tests = [
        Test(**{k: str(v) for k, v in test.items() if v is not None}) for test in data["tests"]
    ]
    error = data["error"]
    return Result(
        task,
        tests,
        {str(case): str(answer) for case, answer in data["probes"].items()},
        None if error is None else {"kind": str(error["kind"]), "text": str(error["text"])},
        str(data["output"]),
        float(data.get("seconds", 0.0)),
    )


Ask = Callable[[dict[str, Any]], Result]


def check(root: Path, task: Task, seed: int | None = None, **options: Any) -> Result:
    """Run a task's tests in a new process; see `Server`."""
    with Server(warm=False) as server:
        return server.check(root, task, seed=seed, **options)


def _check(ask: Ask, root: Path, task: Task, **options: Any) -> Result:
    """What a task's tests, and where kernels failed its probes, say; or what is missing."""
    workspace = Workspace(root)
    code = workspace.digest(task)
    if missing := workspace.missing(task):
        return Result(task, error={"kind": "missing", "text": "\n".join(missing)}, code=code)
    result = ask(request(root, task, **options))
    if task.module >= 3 and result.failures:
        result.probes = ask(request(root, task, only_probes=True)).probes
    result.code, result.seen = code, seen_in(workspace, task)
    return result


def seen_in(workspace: Workspace, task: Task) -> list[str]:
    """What is wrong with the text of a task's kernels."""
    if task.module != 3:
        return []
    return [f for p in task.places for f in faults(workspace.text(p.file), p.name)]


def _start(*arguments: str, **settings: str) -> tuple[subprocess.Popen[bytes], Lines]:
    """A process that runs requests, and the lines that it answers."""
    process = subprocess.Popen(
        [sys.executable, str(INSIDE), "-", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment() | settings,
    )
    if process.stdout is None:
        raise RuntimeError("the process has no output")
    return process, Lines(process.stdout)


def _send(process: subprocess.Popen[bytes], asked: dict[str, Any]) -> None:
    """Write a request; a process that has ended meanwhile will not answer it."""
    if process.stdin is None:
        raise RuntimeError("the process has no input")
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()


def _answer(lines: Lines, asked: dict[str, Any], task: Task, interrupted: Interrupt) -> Result:
    """Wait for the answer to a request, until it is late or no longer wanted."""
    deadline = time.monotonic() + asked["limit"]
    while time.monotonic() < deadline:
        try:
            line = lines.next(0.05)
        except EOFError:
            return read_answer("", asked["nonce"], task)
        if line is not None and line.startswith(asked["nonce"].encode()):
            return read_answer(line.decode(), asked["nonce"], task)
        if line is None and interrupted is not None and interrupted():
            return Result(task, error={"kind": "interrupted", "text": "not wanted any more"})
    return Result(task, error={"kind": "time", "text": f"no end after {asked['limit']} s"})


def _run(
    task: Task, asked: dict[str, Any], interrupted: Interrupt = None, **settings: str
) -> Result:
    """Run a request in a process of its own."""
    process, lines = _start(**settings)
    try:
        _send(process, asked)
        result = _answer(lines, asked, task, interrupted)
        if (result.error or {}).get("kind") == "died" and _status(process) == -_PROCESSOR_SIGNAL:
            return Result(task, error={"kind": "time", "text": f"no end after {PROCESSOR} s"})
        return result
    finally:
        process.kill()
        _close(process)


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """How a process ended that answers no more; None if it goes on all the same."""
    try:
        return process.wait(10)
    except subprocess.TimeoutExpired:
        return None


def _close(process: subprocess.Popen[bytes]) -> None:
    """Let a process end."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    process.wait(10)


class Server:
    """A process that has loaded what every run needs, and runs each request in a fork.

    Where a system cannot fork, each request starts a process. With `warm=False` nothing is loaded
    before: for a single run.
    """

    def __init__(self, modules: Sequence[str] = (), *, warm: bool = True, **settings: str) -> None:
        require_tools()
        self.settings, self.process = settings, None
        if hasattr(os, "fork"):
            loaded = modules if warm else ["--cold"]
            self.process, self.lines = _start("--serve", *loaded, **settings)

    def check(
        self, root: Path, task: Task, interrupted: Interrupt = None, **options: Any
    ) -> Result:
        """Run a task's tests as `check` does; see `ask`."""
        return _check(lambda asked: self.ask(asked, task, interrupted), root, task, **options)

    def ask(self, asked: dict[str, Any], task: Task, interrupted: Interrupt = None) -> Result:
        """Send a request and wait for its answer, or until it is no longer wanted.

        What runs when `interrupted` becomes true is ended by the next request.
        """
        if self.process is None:
            return _run(task, asked, interrupted, **self.settings)
        _send(self.process, asked)
        return _answer(self.lines, asked, task, interrupted)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            _close(self.process)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
