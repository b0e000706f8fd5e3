"""Grade them all, with every layer and with each layer switched off in turn:

python -m tests.course_tools.hostile [WORD ...] [--without LAYER ...]

Words choose the attacks by name, `--without` what is switched off: `uid`, `uid+seccomp`, `nothing`.
`--ungraded` runs only the attacks' code, in the same sandboxes: in minutes rather than an hour.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from minitorch.course.sandbox import remove_tree

from .code import CODE
from .folders import FOLDERS, NAMES
from .running import Place, attack_all, grade_all

VARIANTS = [
    *("nothing", "namespaces", "namespaces+bubblewrap", "landlock", "seccomp"),
    *("cgroup", "uid", "limits", "watch", "guard"),
]


def main() -> int:
    """Grade them; 0 if nothing went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--without", nargs="+", default=VARIANTS, metavar="LAYER+LAYER")
    parser.add_argument("--ungraded", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    names = [*CODE, *([] if args.ungraded else [*FOLDERS, *NAMES])]
    attack = attack_all if args.ungraded else grade_all
    chosen = [n for n in names if not args.words or any(word in n for word in args.words)]
    wrong = count = 0
    for variant in args.without:
        began = time.monotonic()
        folder = Path(tempfile.mkdtemp(prefix="minitorch-hostile-")).resolve()
        folder.chmod(0o755)
        print(f"without {variant}", flush=True)
        try:
            place = Place(folder)
            with place.guarded():
                for name, problem in attack(place, chosen, variant.split("+")):
                    count += name in names
                    wrong += bool(problem)
                    if problem or args.verbose:
                        print(f"  {'FAIL' if problem else 'ok  '} {name!r} {problem}", flush=True)
        finally:
            remove_tree(folder)
        print(f"  {len(chosen)} attacks; {time.monotonic() - began:.0f} s")
    print(f"{count} attacks, {wrong} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
