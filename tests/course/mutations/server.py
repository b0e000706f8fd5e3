"""Runs pytest again and again, each time in a fork of a process that has loaded what it needs.

Loading pytest, Hypothesis, NumPy and Torch takes longer than most tests. Here it is done
once; a fork then loads `minitorch` and the tests from the folder that a request names.
A request is a line of JSON on standard input, the answer a line of JSON on standard output:

    {"folder": ..., "arguments": [...], "written": null}  ->  {"status": 1, "output": ...}

`written` names the last task that is to count as done: what later tasks write is taken away.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from typing import Any

LIMIT = 240  # seconds for one run


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


def run(folder: str, arguments: list[str], written: str | None) -> int:
    """Run pytest on the tests and the library of a folder."""
    import pytest

    os.chdir(folder)
    sys.path.insert(0, folder)
    if written is not None:
        from unwritten import take_away_after

        take_away_after(written)
    return int(pytest.main(arguments))


def main() -> None:
    """Load what every run needs, then answer requests until the input ends."""
    import hypothesis.extra.pytestplugin
    import numba  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import torch

    assert hypothesis.extra.pytestplugin
    torch.set_num_threads(1)  # threads do not survive a fork
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
