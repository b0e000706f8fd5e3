"""Calls in processes of their own: a crash or a call without end is a finding like any other."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEADLINE = 60.0
"""Seconds of processor time that a call may take; kernels are compiled in that time too."""
PATIENCE = 600.0
"""Seconds by the clock, for a call that waits and for the start."""

Report = dict[str, Any]


def run(
    seed: int, first: int, count: int, only: str | None, shown: str | None, grid: bool
) -> Iterator[Report]:
    """Reports of some calls: one for each that differs, crashes or does not end, and counts."""
    end = first + count
    while first < end:
        for report in _run_worker(seed, first, end, only, shown, grid):
            yield report
            if report["kind"] in ("crash", "hang"):
                first = report["index"] + 1
                break
        else:
            return


def _run_worker(
    seed: int, first: int, end: int, only: str | None, shown: str | None, grid: bool
) -> Iterator[Report]:
    """Start a process, and listen to it until it ends, dies or falls silent."""
    command = [sys.executable, "-m", "tests.torch.fuzz.worker", str(seed), str(first), str(end)]
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command += [only or "", shown or "", "grid" if grid else ""]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    now: Report = {"index": first, "name": "", "phase": "before the first call"}
    try:
        for line in _lines(process):
            if line is None:
                yield {**now, "kind": "hang", "text": f"no answer in {DEADLINE:.0f} s of computing"}
                return
            message = json.loads(line)
            if "kind" not in message:
                now |= message
                continue
            yield message
            if message["kind"] == "done":
                return
        status = process.wait()
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        yield {**now, "kind": "crash", "text": f"died of {how}"}
    finally:
        process.kill()
        process.wait()


def _lines(process: Any) -> Iterator[str | None]:
    """Lines that a process writes; None when it has been silent for too long."""
    pipe, waiting = process.stdout.fileno(), b""
    last, used = time.monotonic(), math.inf
    while True:
        ready, _, _ = select.select([pipe], [], [], 1.0)
        if ready:
            data = os.read(pipe, 1 << 16)
            if not data:
                return
            last, used = time.monotonic(), _processor_time(process.pid)
            *lines, waiting = (waiting + data).split(b"\n")
            for line in lines:
                yield line.decode()
        elif time.monotonic() - last > PATIENCE or _processor_time(process.pid) - used > DEADLINE:
            yield None
            return


def _processor_time(pid: int) -> float:
    """Seconds that a process has computed: on a busy machine, a fraction of what has passed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
