"""The programs of examples/, each to its end in `minitorch.torch`, and what they learned.

    python benchmarks/examples.py [--only NAME ...] [--out DIR] [--device cuda] [--compiled STEPS [--double]]

Every example runs as `minitorch run examples/NAME.py` does, at its defaults. The table has, of the
numbers it logs, the first and the last of the one that says whether it learned, and its aim. Exit
code 1 if one falls short. The aims are for the data of MINITORCH_DATA; without it the examples learn
from less. All of them take about half an hour on two cores.

With `--compiled 200`, each makes so many steps as it is and so many with `--compile` instead, and all losses on the way
must be the same to rounding. (The first step after which two runs are further apart than that is named: programs that draw
by what they learned, or whose two networks fight, enlarge every rounding in time. With `--double` they compute in float64, whose
roundings have not grown large after some hundred steps.)
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


def run(
    name: str, folder: Path, more: tuple[str, ...] = ()
) -> tuple[int, list[dict[str, float]], str]:
    """An example's exit code, the numbers it logged, and what it printed."""
    script = EXAMPLES / f"{name.split(',')[0]}.py"
    command = [sys.executable, "-m", "minitorch.torch", str(script), "--out", str(folder)]
    done = subprocess.run(
        [*command, *AIMS[name].arguments.split(), *more],
        capture_output=True,
        text=True,
        check=False,
    )
    log = folder / "log.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return done.returncode, [json.loads(line) for line in lines], done.stdout + done.stderr


ROUNDING, ROUNDING_OF_DOUBLE = 1e-3, 1e-9
"""How far losses may be apart, as a share of the loss, after steps that were rounded in other orders."""


def compare(name: str, folder: Path, steps: int, double: bool, common: tuple[str, ...]) -> bool:
    """Run an example as it is and compiled; say how far losses are apart."""
    losses, seconds = [], []
    in_double = ("--double",) if double else ()
    for more in ((), ("--compile",)):
        start = time.perf_counter()
        given = ("--steps", str(steps), "--log-every", "1", *common, *in_double, *more)
        code, logged, printed = run(name, folder / ("compiled" if more else "eager"), given)
        seconds.append(time.perf_counter() - start)
        losses.append([row["loss"] for row in logged if "loss" in row])
        if code or not losses[-1]:
            print(f"failed with code {code}:\n{printed[-2000:]}", flush=True)
            return False
    apart = [abs(a - b) / max(abs(a), 1e-2) for a, b in zip(*losses, strict=False)]
    most = ROUNDING_OF_DOUBLE if double else ROUNDING
    same = next((i for i, d in enumerate(apart) if d > most), len(apart))
    eager = "stays eager" in printed or "are eager" in printed
    note = f"   the same up to step {same}" if same < len(apart) else ""
    print(
        f"{len(apart):4} losses   at most {max(apart[:same], default=0):.1e} apart   "
        f"{seconds[0]:5.0f} s and {seconds[1]:5.0f} s{'   eager in part' if eager else ''}{note}",
        flush=True,
    )
    return same == len(apart)


def main(argv: list[str] | None = None) -> int:
    """Run all that was asked for; exit code 1 if one falls short."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="examples whose name contains one"
    )
    parser.add_argument("--out", type=Path, help="folder for what the examples write")
    parser.add_argument("--device", default="cpu", help="where to compute: cpu, cuda (cpu)")
    parser.add_argument("--compiled", type=int, metavar="STEPS", help="compare with --compile")
    parser.add_argument("--double", action="store_true", help="compare in float64")
    args = parser.parse_args(argv)
    chosen = [n for n in AIMS if not args.only or any(part in n for part in args.only)]
    if not chosen:
        parser.error(f"no example is named so; there are {'; '.join(AIMS)}")
    short, common = 0, ("--device", args.device)
    with tempfile.TemporaryDirectory() as scratch:
        for name in chosen:
            print(f"{name:<33}", end="", flush=True)
            start = time.perf_counter()
            folder = (args.out or Path(scratch)) / name.replace(", ", "_")
            if args.compiled:
                short += not compare(name, folder, args.compiled, args.double, common)
                continue
            code, logged, printed = run(name, folder, common)
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
    ending = "have the same losses, compiled" if args.compiled else "learned what they should"
    print(f"{len(chosen) - short} of {len(chosen)} examples {ending}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
