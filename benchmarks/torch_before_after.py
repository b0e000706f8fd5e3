"""Large operations and training steps of two checkouts, turn by turn, each beside PyTorch.

    python benchmarks/torch_before_after.py FOLDER [--rounds 3] [--only NAME ...]

FOLDER is another checkout of this repository, as `git worktree add` makes one. `torch_ops.py` and `torch_steps.py` of
this one measure both, in processes that take turns; for each case, the least ratio to PyTorch's time over the
rounds is compared: PyTorch computes beside both, so what else the machine does cancels out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def measured(script: str, checkout: str, options: list[str]) -> dict[str, float]:
    """The ratios to PyTorch that a benchmark finds in a checkout, by case."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run(
            [sys.executable, str(HERE / script), "--quick", "--json", file.name, *options],
            env=os.environ | {"PYTHONPATH": checkout}, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        found = json.loads(Path(file.name).read_text())
    rows = {row["what"]: row["ratio"] for row in found.get("overhead", []) + found.get("steps", [])}
    for row in found.get("operations", []):
        rows |= {f"{row['what']}, {way}": row[way] for way in ("forward", "backward")}
    return rows


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Two checkouts, turn by turn.")
    parser.add_argument("against", metavar="FOLDER", help="another checkout")
    parser.add_argument("--only", nargs="*", default=[], help="cases whose name contains one")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    chosen = ["--only", *(options.only or [""])]  # a part of every name: start-up is not measured
    places = {"before": options.against, "now": str(HERE.parent)}
    least: dict[str, dict[str, float]] = {}
    for script, more in (("torch_ops.py", []), ("torch_steps.py", ["--cpu-time"])):
        for _ in range(options.rounds):
            for who, place in places.items():
                for case, ratio in measured(script, place, more + chosen).items():
                    row = least.setdefault(case, {})
                    row[who] = min(ratio, row.get(who, ratio))
    print(f"{'time / PyTorch':42}    before       now   now / before")
    for case, row in least.items():
        before, now = row["before"], row["now"]
        print(f"{case:42}{before:10.2f}{now:10.2f}{now / before:15.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
