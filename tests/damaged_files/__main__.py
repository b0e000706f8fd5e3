"""The command: see the package's docstring."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from . import workers


def main() -> int:
    """Run the cases that the command line asks for; 1 if one was not treated as it should be."""
    parser = argparse.ArgumentParser("python -m tests.damaged_files")
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--case", type=int, help="read one file, and show its error")
    parser.add_argument("--work", type=int, nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if sys.platform != "linux":
        parser.error("limits on memory are measured on Linux only")
    if args.work:
        workers.work(args.work[0], range(*args.work[1:]))
        return 0
    if args.case is not None:
        return _show(args.seed, args.case)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it
    begun = time.monotonic()
    report = workers.run(args.seed, args.count, args.workers)
    sys.stdout.write(_table(report))
    sys.stdout.write(
        f"{report.refused.total()} refused with a clear error, {report.accepted.total()} still good, "
        f"{len(report.findings)} findings; a file took {report.most_memory >> 20} MB at most; "
        f"seed {args.seed}, {time.monotonic() - begun:.0f} s\n"
    )
    return 1 if report.findings else 0


def _table(report: workers.Report) -> str:
    lines = [f"{'kind':32} refused still good"]
    for kind in sorted(report.refused | report.accepted):
        lines.append(f"{kind:32} {report.refused[kind]:7} {report.accepted[kind]:10}")
    return "\n".join([*report.findings, *lines, ""])


def _show(seed: int, number: int) -> int:
    """Read one file without limits."""
    with tempfile.TemporaryDirectory() as folder:
        reader = workers.Reader(Path(folder))
        name, content, story = reader.make(seed, number)
        sys.stdout.write(f"{name}, {story}, {len(content)} bytes: {content[:200]!r}\n")
        kind = reader.kinds[name]
        path = Path(folder) / "case" / kind.name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        try:
            kind.read(path)
        except BaseException:
            sys.stdout.write(traceback.format_exc()[-6000:])
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
