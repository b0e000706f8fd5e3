"""Grade them all, with every layer and with each layer switched off in turn:

python -m tests.course_tools.hostile [WORD ...] [--without LAYER ...] [--jobs N] [--sample N]

For each setting there are two classes: attacks that have to be ended, and all others, with three honest
submissions among them. Words choose the attacks by name, `--sample` so many of them, evenly, `--without`
what is switched off: `uid`, `uid+seccomp`, `nothing`. `--ungraded` runs only the attacks' code, in the same sandboxes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from .code import CODE, ENDLESS
from .folders import FOLDERS, NAMES
from .running import KINDS, Finding, attack

VARIANTS = [
    *("nothing", "namespaces", "namespaces+bubblewrap", "landlock", "seccomp"),
    *("cgroup", "uid", "limits", "watch", "guard"),
]


def main() -> int:
    """Grade them; 0 if nothing went wrong."""
    parser = argparse.ArgumentParser("python -m tests.course_tools.hostile")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--without", nargs="+", default=VARIANTS, metavar="LAYER+LAYER")
    parser.add_argument("--ungraded", action="store_true")
    parser.add_argument("--sample", type=int, help="so many attacks, of all kinds")
    parser.add_argument("--jobs", type=int, default=3, help="classes side by side")
    args = parser.parse_args()
    names = [*CODE, *([] if args.ungraded else [*FOLDERS, *NAMES])]
    chosen = [n for n in names if not args.words or any(word in n for word in args.words)]
    if args.sample:
        chosen = [chosen[i * len(chosen) // args.sample] for i in range(args.sample)]
    endless = [name for name in chosen if name in ENDLESS]
    others = [name for name in chosen if name not in ENDLESS]
    classes = [group for group in (endless, others) if group]
    began, wrong = time.monotonic(), 0
    with ProcessPoolExecutor(
        args.jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        running = {
            without: [pool.submit(attack, group, without, not args.ungraded) for group in classes]
            for without in args.without
        }
        print(f"{'switched off':24}attacks{''.join(f'{kind:>9}' for kind in KINDS)}  seconds")
        for without, begun in running.items():
            findings, seconds = [], 0.0
            for each in begun:
                try:
                    found, taken = each.result()
                except BrokenProcessPool:
                    found, taken = [Finding("mark", "one of them", "the grader was killed")], 0.0
                findings += found
                seconds += taken
            wrong += len(findings)
            counts = Counter(finding.kind for finding in findings)
            numbers = "".join(f"{counts[kind]:9}" for kind in KINDS)
            print(f"{without:24}{len(chosen):7}{numbers}{seconds:9.0f}", flush=True)
    print(
        f"{len(chosen) * len(args.without)} attacks, {wrong} findings; "
        f"{time.monotonic() - began:.0f} s, {args.jobs} classes side by side"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
