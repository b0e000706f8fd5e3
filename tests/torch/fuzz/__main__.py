"""`python -m tests.torch.fuzz N`: so many random calls, compared with PyTorch.

Each call follows from the seed and its number alone: `--call 1234` makes one again.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import workers
from .drawing import draw_call
from .grid import CASES, grid_call


def main(argv: list[str] | None = None) -> int:
    """Make calls, print those that differ, and how many of each kind there were."""
    parser = argparse.ArgumentParser(prog="python -m tests.torch.fuzz", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="functions' names, as a pattern")
    parser.add_argument("--workers", type=int, default=1, help="how many processes")
    parser.add_argument("--first", type=int, default=0, help="the number of the first call")
    parser.add_argument("--call", type=int, help="make one call only, and show it")
    parser.add_argument("--show", help="print the known differences of these reasons, a pattern")
    parser.add_argument(
        "--grid", action="store_true", help=f"calls by a grid, {CASES} numbers for each function"
    )
    options = parser.parse_args(argv)
    if options.call is not None:
        options.first, options.count = options.call, 1
    tally: Counter[str] = Counter()
    lock = threading.Lock()

    def listen(first: int, count: int) -> None:
        for report in workers.run(
            options.seed, first, count, options.only, options.show, options.grid
        ):
            with lock:
                _take(report, tally, options)

    share = -(-options.count // options.workers)
    starts = range(options.first, options.first + options.count, share)
    with ThreadPoolExecutor(options.workers) as threads:
        shares = [min(share, options.first + options.count - n) for n in starts]
        for _ in threads.map(listen, starts, shares):  # an error of the fuzzer's own ends it
            pass
    print(f"\n{options.count} calls, seed {options.seed}")
    for kind, count in sorted(
        tally.items(), key=lambda item: (item[0] not in ("raised", "returned"), item[0])
    ):
        print(f"{count:8}  {kind}")
    known = ("raised", "returned", "explained")
    return int(any(not kind.startswith(known) for kind in tally))


def _take(report: dict[str, Any], tally: Counter[str], options: argparse.Namespace) -> None:
    """Count a report, and print it if it is of a difference."""
    tally.update(report.get("counts", {}))
    if report["kind"] in ("counts", "done"):
        return
    if report.get("phase") == "theirs":
        tally[f"explained: PyTorch itself ends in a {report['kind']}"] += 1
        return
    if not report.get("reason"):
        tally[report["kind"]] += 1
    make = grid_call if options.grid else draw_call
    call = make(options.seed, report["index"], options.only)
    code = report.get("code") or ("" if call is None else call.code())
    kind = report["kind"] + (" (known)" if report.get("reason") else "")
    print(f"--- call {report['index']}: {report['name']}: {kind}: {report['text']}")
    print(code, end="\n\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
