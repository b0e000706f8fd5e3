"""Grade all of them, or those whose names hold a word:

python -m tests.course_tools.judged [WORD ...] [--without LAYER ...] [--asked]

`--without` does so with layers of isolation switched off, one in turn (`none`: with every layer,
`all`: with those alone that need nothing of the system). `--asked` leaves the course's tests out: the
questions alone must tell right from wrong, in a tenth of the time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from minitorch.course.isolation import choose
from minitorch.course.sandbox import LAYERS

from . import cases


def main() -> int:
    """Grade them; 0 if every mark is the one deserved."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--without", nargs="+", choices=["none", "all", *LAYERS], default=["none"])
    parser.add_argument("--asked", action="store_true")
    args = parser.parse_args()
    wrong = count = 0
    for layer in args.without:
        began = time.perf_counter()
        print(f"without {layer} of the layers" if layer in ("none", "all") else f"without {layer}")
        off = [] if layer in ("none", "all") else [layer]
        layers = choose("none" if layer == "all" else "auto", off)
        with tempfile.TemporaryDirectory(prefix="minitorch-judged-") as folder:
            Path(folder).chmod(0o755)
            run = cases.asked if args.asked else cases.graded
            for name, number, deserved, given, note in run(Path(folder), args.words, layers):
                count += 1
                wrong += deserved != given
                verdict = "ok  " if deserved == given else "FAIL"
                print(
                    f"  {verdict} {number:<5}{given:3.0f} of {deserved:3.0f}  {name:<52} {note[:110]}"
                )
                sys.stdout.flush()
        print(f"  {time.perf_counter() - began:.0f} s")
    print(f"{count} marks, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
