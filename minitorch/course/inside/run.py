"""Runs a task's tests and probes on the `minitorch` of a workspace, in a process of its own.

This file imports nothing of MiniTorch but the workspace's copy: it is run by its path. A request
is a line of JSON on standard input, the answer a line of JSON on the file descriptor that the
command line names, or with - on standard output, after the request's nonce:

    {"root": ..., "arguments": [...], "task": "0.1", ...}  ->  NONCE {"tests": [...], ...}

With `--serve` each request is answered from a fork, after what every run needs was loaded once; with
`--cold`, too, that is left out.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import select
import signal
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STACK = 1 << 20
"""Bytes for each thread: the CUDA simulator starts 1,024 of them, and memory may be limited."""


# --- One run ---------------------------------------------------------------------------


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run what is asked for; whatever goes wrong is part of the answer."""
    began = time.monotonic()
    root = request["root"]
    _limit_processor_time(request.get("processor"))
    os.chdir(root)
    sys.path.insert(0, root)
    for name, value in request.get("environment", {}).items():
        os.environ[name] = value
    if "numba" in sys.modules and "NUMBA_DISABLE_JIT" in request.get("environment", {}):
        sys.modules["numba"].config.DISABLE_JIT = 1
    result: dict[str, Any] = {"tests": [], "probes": {}, "error": None, "output": ""}
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            result["error"] = _import_error(root)
            if result["error"] is None:
                if request.get("arguments") is not None:
                    result["tests"], result["status"] = _run_tests(
                        request["arguments"], request.get("about", ""), request.get("only")
                    )
                if request.get("task"):
                    result["probes"] = _run_probes(request["task"])
        except BaseException as error:
            result["error"] = {"kind": "runner", "text": _describe(error)}
    result["output"] = output.getvalue()[-20_000:]
    result["seconds"] = round(time.monotonic() - began, 3)
    return result


def _limit_processor_time(seconds: int | None) -> None:
    """End this process once it has computed for so long: a slow machine is no endless loop."""
    if seconds:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))


def _import_error(root: str) -> dict[str, str] | None:
    """What is wrong with importing the workspace's library, if anything."""
    try:
        import minitorch
    except BaseException as error:
        return {"kind": "import", "text": _describe(error)}
    place = Path(str(minitorch.__file__)).resolve()
    if not place.is_relative_to(Path(root).resolve()):
        return {"kind": "elsewhere", "text": str(place.parent)}
    return None


def _describe(error: BaseException) -> str:
    """An error as one or two lines: what, where in the user's files, and why."""
    if isinstance(error, SyntaxError):
        place = f", in {_short(error.filename)} line {error.lineno}" if error.filename else ""
        return f"{type(error).__name__}: {error.msg}{place}"
    text = f"{type(error).__name__}: {error}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "minitorch" in f.filename]
    if frames:
        text += f", in {_short(frames[-1].filename)} line {frames[-1].lineno}"
    return text


def _short(path: str) -> str:
    parts = Path(path).parts
    return "/".join(parts[-2:])


def _run_tests(
    arguments: list[str], about: str = "", only: list[str] | None = None
) -> tuple[list[dict[str, Any]], int]:
    import pytest

    plugin = Collector(about, only)
    status = pytest.main(arguments, plugins=[plugin])
    return list(plugin.tests.values()), int(status)


class Collector:
    """A pytest plugin that keeps what became of each test.

    Tests whose names share words with `about` run first, and those marked `extra` last: these ask for
    more than the task, and one that fails keeps nobody from passing. With `only`, others do not run.
    """

    def __init__(self, about: str = "", only: list[str] | None = None) -> None:
        self.tests: dict[str, dict[str, Any]] = {}
        self.about = _words(about)
        self.only = None if only is None else set(only)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Put first what is likeliest to fail."""
        if self.only is not None:
            items[:] = [item for item in items if item.nodeid in self.only]
        items.sort(key=lambda item: (_is_extra(item), -len(self.about & _words(item.name))))

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Keep the outcome of the worst phase of a test."""
        import pytest

        entry = self.tests.setdefault(
            item.nodeid, {"id": item.nodeid, "outcome": "passed", "about": _about(item)}
        )
        if call.excinfo is None:
            return
        if call.excinfo.errisinstance(pytest.skip.Exception):
            entry |= {"outcome": "skipped", "message": str(call.excinfo.value)}
            return
        entry |= {
            "outcome": "failed" if call.when == "call" else "error",
            "message": _message(call.excinfo.value),
            "where": _user_line(call.excinfo.value),
            "unwritten": _unwritten(call.excinfo.value),
        }
        if _is_extra(item) and entry["unwritten"] is None:
            entry["outcome"] = "extra"

    def pytest_runtest_teardown(self, item: Any) -> None:
        """Keep whether another seed would have made it another test."""
        self.tests[item.nodeid]["drawn"] = _drawn(item)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep what was printed meanwhile."""
        if report.nodeid in self.tests and report.capstdout:
            self.tests[report.nodeid]["printed"] = report.capstdout[-4000:]

    def pytest_collection_finish(self, session: Any) -> None:
        """With --collect-only, the names are all there is."""
        if session.config.option.collectonly:
            self.tests = {i.nodeid: {"id": i.nodeid, "outcome": "collected"} for i in session.items}

    def pytest_collectreport(self, report: Any) -> None:
        """A test file that cannot be loaded is an error of its own."""
        if report.failed:
            text = str(report.longrepr).strip().splitlines()
            last = next((x for x in reversed(text) if x.startswith("E ")), text[-1] if text else "")
            self.tests[report.nodeid] = {
                "id": report.nodeid,
                "outcome": "error",
                "about": "",
                "message": last.removeprefix("E").strip(),
                "where": "",
                "unwritten": None,
            }


def _is_extra(item: Any) -> bool:
    return item.get_closest_marker("extra") is not None


def _drawn(item: Any) -> str:
    """What a test took from the run's seed: examples of Hypothesis, or numbers; "" if nothing.

    One that sets a seed of its own counts too: it may have drawn before.
    """
    import random

    import numpy as np

    if hasattr(getattr(item, "function", None), "hypothesis"):
        return "examples"
    seed = item.config.getoption("--seed", None) or 0
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002
    fresh_kind, fresh_keys, *fresh = np.random.RandomState(seed).get_state()  # noqa: NPY002
    same = random.getstate() == random.Random(seed).getstate() and (kind, rest) == (
        fresh_kind,
        fresh,
    )
    return "" if same and np.array_equal(keys, fresh_keys) else "numbers"


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z]+", text.lower()))


def _about(item: Any) -> str:
    doc = getattr(getattr(item, "function", None), "__doc__", None) or ""
    return doc.strip().split("\n")[0]


def _message(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [""]
    notes = getattr(error, "__notes__", [])
    falsified = [n for n in notes if n.startswith("Falsifying")][:1]
    more = [line for line in lines[1:] if not line.lstrip().startswith("+")][:5]  # not how it came
    text = "\n".join([f"{type(error).__name__}: {lines[0]}", *more, *falsified])
    return text[:1500]


def _user_line(error: BaseException) -> str:
    """The innermost line of the library that the error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f"{os.sep}minitorch{os.sep}" in f.filename]
    return f"{_short(own[-1].filename)} line {own[-1].lineno}, in {own[-1].name}" if own else ""


def _unwritten(error: BaseException) -> str | None:
    """The task whose place to write was reached, if that is what went wrong."""
    queue, seen = [error], set()
    while queue:
        current = queue.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        text = str(current)
        if "Need to implement for Task" in text:
            return text.split("Need to implement for Task", 1)[1].split()[0].strip("'\")")
        queue += [current.__cause__, current.__context__]  # type: ignore[list-item]
        queue += list(getattr(current, "exceptions", ()))
    return None


def _run_probes(task: str) -> dict[str, Any]:
    sys.path.insert(0, str(HERE))
    import probes

    return probes.run(task)


# --- The server --------------------------------------------------------------------------


def _warm_up(modules: list[str]) -> None:
    """Load what every run needs: forks then begin with all of it."""
    import gc
    import random  # noqa: F401

    import hypothesis.strategies as st
    import numpy  # noqa: F401
    import pytest
    from hypothesis import given, settings

    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        usual = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull]
        pytest.main([*usual, "--rootdir", str(HERE), "--ignore-glob=*", str(HERE)])
    settings(database=None, max_examples=3)(given(st.floats(), st.lists(st.integers()))(_draw))()
    gc.collect()
    gc.freeze()


def _draw(x: float, ls: list[int]) -> None:
    """Take what most tests draw."""


class Requests:
    """The lines of JSON that arrive on a file descriptor."""

    def __init__(self, source: int) -> None:
        self.source = source
        self.text = b""

    def waiting(self) -> bool:
        """Whether there is another, or no more will come."""
        return b"\n" in self.text or bool(select.select([self.source], [], [], 0)[0])

    def next(self) -> dict[str, Any] | None:
        """Wait for the next; None after the last."""
        while b"\n" not in self.text:
            more = os.read(self.source, 65536)
            if not more:
                return None
            self.text += more
        line, self.text = self.text.split(b"\n", 1)
        return json.loads(line)


def _serve(out: int) -> None:
    """Answer each request from a fork; a request that arrives meanwhile ends the one before."""
    requests = Requests(sys.stdin.fileno())
    while (request := requests.next()) is not None:
        with tempfile.TemporaryFile() as trace:
            child = os.fork()
            if child == 0:
                _watch(out, request, trace)
                _send(out, request, answer(request), before="\n")
                os._exit(0)
            kind, status = _wait(child, request, requests)
            text = f"the process ended with status {status}"
            if kind == "endless":
                trace.seek(0)
                text = _watchdog().read_trace(
                    trace.read().decode(errors="replace"), request["root"], request["endless"]
                )
        if kind:
            _send(out, request, _failed(kind, text), before="\n")


def _watch(out: int, request: dict[str, Any], trace: Any = None) -> None:
    """End this process where the student's code does not come to an end, and say so."""
    if not request.get("endless"):
        return

    def ended(where: str) -> None:
        late = _failed("endless", where) | {"output": _printed_so_far()}
        _send(out, request, late, before="\n")
        os._exit(0)

    watchdog = _watchdog()
    if trace is not None:
        watchdog.leave_a_trace(trace)
    watchdog.Watchdog(request["root"], request["endless"], ended).start()


def _printed_so_far() -> str:
    """The end of what the test that runs has printed, which pytest keeps in a file."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        kept = sys.stdout.fileno()
        sys.stdout.flush()
        return os.pread(kept, 4000, max(0, os.fstat(kept).st_size - 4000)).decode(errors="replace")
    return ""


def _watchdog() -> Any:
    """The module beside this file; a run behind walls has none, and other limits."""
    if str(HERE) not in sys.path:
        sys.path.append(str(HERE))
    return importlib.import_module("watchdog")


def _failed(kind: str, text: str) -> dict[str, Any]:
    return {"tests": [], "probes": {}, "error": {"kind": kind, "text": text}, "output": ""}


def _wait(child: int, request: dict[str, Any], requests: Requests) -> tuple[str, int]:
    """Wait for a fork's end, or end it; what went wrong, and its status."""
    deadline = time.monotonic() + request.get("limit", 120)
    kind = ""
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            late = {int(signal.SIGXCPU): "time", int(signal.SIGPROF): "endless"}
            return kind or (late.get(ended_by, "died") if status else ""), status
        if not kind and time.monotonic() > deadline:
            kind = "time"
        elif not kind and requests.waiting():
            kind = "interrupted"
        if kind:
            os.kill(child, 9)
        time.sleep(0.005)


def _send(out: int, request: dict[str, Any], result: dict[str, Any], before: str = "") -> None:
    """Write a result; `before` ends what a killed process may have left behind."""
    text = f"{before}{request.get('nonce', '')} {json.dumps(result)}\n".encode()
    while text:
        text = text[os.write(out, text) :]


def _standard_output() -> int:
    """A file descriptor for answers alone: what is printed from now on goes nowhere."""
    out, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return out


def main() -> None:
    """Answer one request, or all of them with --serve."""
    out = _standard_output() if sys.argv[1] == "-" else int(sys.argv[1])
    os.set_inheritable(out, False)
    threading.stack_size(STACK)
    if sys.argv[2:3] == ["--serve"]:
        if sys.argv[3:] != ["--cold"]:
            _warm_up(sys.argv[3:])
        _serve(out)
        return
    request = json.loads(sys.stdin.readline())
    _watch(out, request)
    result = answer(request)
    _send(out, request, result)
    sys.stdout.flush()
    os._exit(0)  # threads and exit handlers of what was run have no say any more


if __name__ == "__main__":
    main()
