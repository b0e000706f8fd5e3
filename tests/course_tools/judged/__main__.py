"""Grade all of them, or those whose names hold a word:

python -m tests.course_tools.judged [WORD ...] [--without LAYER ...]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from . import cases


def main() -> int:
    """Grade them; 0 if every mark is the one deserved."""
    began = time.perf_counter()
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="minitorch-judged-") as folder:
        wrong = count = 0
        for name, number, deserved, given, note in cases.graded(Path(folder), words):
            count += 1
            wrong += deserved != given
            verdict = "ok  " if deserved == given else "FAIL"
            print(
                f"  {verdict} {number:<5}{given:3.0f} of {deserved:3.0f}  {name:<52} {note[:110]}"
            )
            sys.stdout.flush()
    print(f"{count} marks, {wrong} wrong; {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
