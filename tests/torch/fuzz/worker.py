"""The process that makes the calls: `python -m tests.torch.fuzz.worker SEED FIRST END NAME SHOWN GRID`."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import resource
import sys
import warnings
from collections import Counter
from typing import Any

MEMORY = 6 << 30
"""Bytes of addresses that a worker may use."""


def main(seed: int, first: int, end: int, only: str | None, shown: str | None, grid: bool) -> None:
    """Make the calls with numbers from `first` to `end`, and report what differs.

    Args:
        seed: of the calls
        first: number of the first call
        end: one more than the last
        only: pattern of the functions to call
        shown: pattern of the reasons whose differences are reported, too
        grid: whether calls are made by a grid, not by chance
    """
    pipe = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # C code prints, too
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")

    def tell(message: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(message).encode() + b"\n")

    import torch as real

    from .differences import reason_for
    from .drawing import draw_call
    from .grid import grid_call
    from .judging import Finding, judge
    from .memory import GuardedMemory

    real.set_num_threads(1)
    memory = GuardedMemory()
    tally: Counter[str] = Counter()
    with contextlib.redirect_stdout(io.StringIO()):
        for index in range(first, end):
            call = _drawn(grid_call if grid else draw_call, seed, index, only)
            if call is None:
                continue
            code = call.code()  # before the call writes into its arguments
            tell({"index": index, "name": call.name, "phase": "drawing"})
            try:
                tally[judge(call, memory, lambda p: tell({"phase": p}))] += 1
            except MemoryError:  # both answer with a view of more elements than can be compared
                tally["explained: too large to compare"] += 1
            except Finding as e:
                reason = reason_for(call, e)
                if reason is not None:
                    tally[f"explained: {reason}"] += 1
                    if not shown or not re.search(shown, reason):
                        continue
                tell(
                    {
                        "kind": e.kind,
                        "reason": reason,
                        "index": index,
                        "name": call.name,
                        "text": e.text,
                        "code": code,
                    }
                )
            if index % 200 == 199:
                tell({"kind": "counts", "counts": tally, "index": index})
                tally.clear()
    tell({"kind": "done", "counts": tally, "index": end - 1})


def _drawn(draw: Any, *which: Any) -> Any:
    """A call. The one before may have taken all memory, and left what only the collector frees."""
    try:
        return draw(*which)
    except (MemoryError, RuntimeError):
        gc.collect()
        return draw(*which)


if __name__ == "__main__":
    seed, first, end = map(int, sys.argv[1:4])
    main(seed, first, end, sys.argv[4] or None, sys.argv[5] or None, bool(sys.argv[6]))
