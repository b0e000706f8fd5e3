"""The programs of examples/, each to its end in `minitorch.torch`, and what they learned.

    python benchmarks/examples.py [--only NAME ...] [--out DIR]

Every example runs as `minitorch run examples/NAME.py` does, at its defaults. The table has, of the
numbers it logs, the first and the last of the one that says whether it learned, and its aim. Exit
code 1 if one falls short. The aims are for the data of MINITORCH_DATA; without it the examples learn
from less. All of them take about half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).parent.parent / "examples"


class Aim(NamedTuple):
    """What an example is called with, which of its numbers counts, and what it must reach."""

    arguments: str
    what: str
    aim: float
    more: bool = False  # whether larger is better

    def reached(self, value: float) -> bool:
        return value >= self.aim if self.more else value <= self.aim


AIMS = {
    "regression": Aim("", "error", 0.1),
    "time_series": Aim("", "forecast_error", 0.1),
    "reinforce": Aim("", "solved", 195, more=True),
    "actor_critic": Aim("", "solved", 195, more=True),
    "mnist_cnn": Aim("", "accuracy", 99, more=True),
    "siamese": Aim("", "accuracy", 96, more=True),
    "vit": Aim("", "accuracy", 95, more=True),
    "vae": Aim("", "test_loss", 107),
    "super_resolution": Aim("", "test_decibel", 25, more=True),  # bicubic: 20
    "char_rnn": Aim("", "loss", 1.5),
    "word_language_model, LSTM": Aim("--model LSTM", "validation_loss", 4.5),
    "word_language_model, Transformer": Aim("--model Transformer", "validation_loss", 4.5),
    "gpt": Aim("", "validation_loss", 1.9),
    "gan": Aim("", "generator_loss", 5),  # neither of the two wins; its pictures say more
}


def run(name: str, folder: Path) -> tuple[int, list[dict[str, float]], str]:
    """An example's exit code, the numbers it logged, and what it printed."""
    script = EXAMPLES / f"{name.split(',')[0]}.py"
    command = [sys.executable, "-m", "minitorch.torch", str(script), "--out", str(folder)]
    done = subprocess.run(
        [*command, *AIMS[name].arguments.split()], capture_output=True, text=True, check=False
    )
    log = folder / "log.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return done.returncode, [json.loads(line) for line in lines], done.stdout + done.stderr


def main(argv: list[str] | None = None) -> int:
    """Run all that was asked for; exit code 1 if one falls short."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="examples whose name contains one"
    )
    parser.add_argument("--out", type=Path, help="folder for what the examples write")
    args = parser.parse_args(argv)
    chosen = [n for n in AIMS if not args.only or any(part in n for part in args.only)]
    if not chosen:
        parser.error(f"no example is named so; there are {'; '.join(AIMS)}")
    short = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in chosen:
            print(f"{name:<33}", end="", flush=True)
            start = time.perf_counter()
            folder = (args.out or Path(scratch)) / name.replace(", ", "_")
            code, logged, printed = run(name, folder)
            seconds = time.perf_counter() - start
            goal = AIMS[name]
            values = [row[goal.what] for row in logged if goal.what in row]
            learned = code == 0 and bool(values) and goal.reached(values[-1])
            short += not learned
            if code or not values:
                print(f"failed with code {code}:\n{printed[-2000:]}", flush=True)
                continue
            print(
                f"{goal.what.replace('_', ' '):<16}{values[0]:9.4f} to {values[-1]:9.4f}   "
                f"aim {goal.aim:<6}{seconds:6.0f} s{'' if learned else '   short of it'}",
                flush=True,
            )
    print(f"{len(chosen) - short} of {len(chosen)} examples learned what they should")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
