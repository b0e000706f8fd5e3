"""Runs pytest again and again, each time in a fork of a process that has loaded what it needs.

Loading pytest, Hypothesis, NumPy and Numba takes longer than most tests. Here it is done
once; a fork then loads `minitorch` and the tests from the folder that the command line names.
A request is a line of JSON on standard input, the answer a line of JSON on standard output:

    {"arguments": [...], "about": "...", "written": null}  ->  {"status": 1, "output": ...}

Tests whose names share words with `about` run first: they are the likeliest to fail.
`written` names the last task that is to count as done: what later tasks write is taken away.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import sys
import tempfile
import time
import traceback
from typing import Any

LIMIT = 240  # seconds for one run
WARM_UP = ["tests/course/test_operators.py", "tests/course/test_optim.py"]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Fork, run pytest there, and report its exit status and output."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            status = 70
            try:
                status = run(**request)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        deadline = time.monotonic() + LIMIT
        while True:
            done, code = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(child, 9)
            time.sleep(0.01)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return {"status": os.waitstatus_to_exitcode(code), "output": text}


def run(arguments: list[str], about: str = "", written: str | None = None) -> int:
    """Run pytest on the tests and the library of this folder."""
    import pytest

    if written is not None:
        from unwritten import take_away_after

        take_away_after(written)
        os.environ["MINITORCH_TEST_EXAMPLES"] = "2"  # whether they run, not on which numbers
    return int(pytest.main(arguments, plugins=[NearestFirst(about)]))


class NearestFirst:
    """A pytest plugin that puts tests first whose names share words with a text."""

    def __init__(self, about: str) -> None:
        self.about = self.words(about)

    @staticmethod
    def words(text: str) -> set[str]:
        """The words of a text, in small letters."""
        return set(re.findall("[a-z]+", text.lower()))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items.sort(key=lambda item: -len(self.about & self.words(item.name)))


def warm_up() -> None:
    """Run a few tests, so that what they need is loaded, and forget the library and its tests."""
    import numba  # noqa: F401

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        run(["-q", "-p", "no:cacheprovider", *WARM_UP])
    for name in list(sys.modules):
        if name.split(".")[0] in ("minitorch", "tests"):
            del sys.modules[name]
    gc.collect()
    gc.freeze()  # pytest collects garbage at the end: not what was there before


def main() -> None:
    """Load what every run needs, then answer requests until the input ends."""
    os.chdir(sys.argv[1])
    sys.path.insert(0, sys.argv[1])
    warm_up()
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
