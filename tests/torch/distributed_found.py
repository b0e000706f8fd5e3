"""What the ranks of PyTorch and of `minitorch.torch` got, each started once for all tests."""

from __future__ import annotations

import functools
import os
import pickle
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(**more: str) -> dict[str, str]:
    """The variables of a process that computes on one core."""
    kept = {
        k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"
    }  # lines come in one piece
    return {**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}


def cases_of(library: str, path: str, address: str) -> list[dict[str, Any]]:
    """What each of three ranks got, in a process of its own that `spawn` started."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.torch.distributed_cases", library, address, path]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=200)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return [pickle.loads(Path(f"{path}.{rank}").read_bytes()) for rank in range(3)]


def oracle_cases(folder: str) -> list[dict[str, Any]]:
    """What PyTorch's ranks got. On a busy machine they fail now and then ("Split sizes doesn't match total dim 0 size"), and start again."""

    def attempt() -> list[dict[str, Any]]:
        return cases_of("torch", f"{folder}/t", f"tcp://127.0.0.1:{free_port()}")

    for _ in range(2):
        with suppress(AssertionError):
            return attempt()
    return attempt()


@functools.cache
def results() -> tuple[list[Any], list[Any]]:
    """What PyTorch's ranks got, and ours."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        theirs = pool.submit(oracle_cases, folder)
        ours = pool.submit(cases_of, "minitorch.torch", f"{folder}/m", f"file://{folder}/meet")
        return theirs.result(), ours.result()


def same(theirs: Any, ours: Any, tolerance: float = 0.0) -> bool:
    """Whether two results are equal, floating point numbers to a relative tolerance.

    Where gloo has no collective for a type ("Invalid scalar type"), ours need only have one.
    """
    if isinstance(theirs, str) and theirs.endswith("Invalid scalar type"):
        return not isinstance(ours, str)
    if isinstance(theirs, dict):
        return list(theirs) == list(ours) and all(same(theirs[k], ours[k], tolerance) for k in theirs)  # fmt: skip
    if isinstance(theirs, (list, tuple)):
        pairs = zip(theirs, ours, strict=True)
        return all(same(t, o, tolerance) for t, o in pairs)
    if tolerance and isinstance(theirs, (float, complex)):
        return abs(theirs - ours) <= tolerance * max(1.0, abs(theirs))
    return theirs == ours and type(theirs) is type(ours)
