"""Ranks killed at random moments of a training: `python -m tests.torch.distributed_kills [KILLS] [SEED]`.

After each kill: all ranks have ended within 30 seconds, the cause is named, no process is left, the last checkpoint
is whole, and the program, started again, ends with the losses and parameters of a run that nobody disturbed.
"""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import minitorch.torch as torch
import minitorch.torch.distributed.checkpoint as dcp

from .distributed_found import ROOT, environment

PROGRAM = ROOT / "tests" / "torch" / "distributed_resume.py"
PHASES = ("forward", "backward", "all_reduce", "saving")
LIMIT = 30.0


def start(folder: Path, ranks: int, *kill: str) -> tuple[int, str]:
    """Run the program to its end: the exit code, and what it said."""
    command = [sys.executable, "-m", "minitorch.torch.distributed.run", "--nproc_per_node", str(ranks), str(PROGRAM), str(folder), *kill]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    return done.returncode, done.stderr


def processes(folder: Path) -> list[str]:
    """Processes that still run the program."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(folder) in line]


def check_checkpoint(folder: Path, expected: list[Any]) -> int:
    """How many steps the last checkpoint has done; AssertionError unless it is whole."""
    if not (folder / "last" / ".metadata").exists():
        return 0
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, 10))
    state: Any = {"model": model.state_dict(), "done": []}
    dcp.load(state, checkpoint_id=folder / "last", no_dist=True)
    steps = len(state["done"])
    assert state["done"] == expected[:steps], "the checkpoint's losses are others"
    memory = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    assert hashlib.sha256(memory).hexdigest() == expected[steps - 1][1], "its parameters are others"
    return steps


def kill_once(draw: random.Random, ranks: int, expected: list[Any], folder: Path) -> str:
    """Kill a rank, check what is left, go on; what happened in one line."""
    rank = draw.randrange(ranks)
    step, name, fraction = draw.randint(1, len(expected) - 1), draw.choice(PHASES), draw.random()
    code, said = start(folder, ranks, str(rank), str(step), name, str(fraction))
    ended = time.time()
    assert code == 137, f"exit code {code}\n{said}"
    seconds = ended - float((folder / "killed").read_text())
    assert seconds < LIMIT, f"{seconds:.0f} s until all had ended\n{said}"
    assert f"rank {rank} failed: its process has ended" in said, said
    assert f"rank {rank} is gone: its process has ended" in said, f"the others named no cause\n{said}"  # fmt: skip
    assert not (left := processes(folder)), left
    steps = check_checkpoint(folder, expected)
    assert step <= steps <= step + 1, f"the checkpoint has {steps} steps, {step} were saved"
    code, said = start(folder, ranks)
    assert code == 0, said
    assert json.loads((folder / "done").read_text()) == expected, "the end differs"
    return f"rank {rank} of {ranks} in {name} of step {step}: all ended after {seconds:.1f} s, checkpoint of step {steps} whole, same end"  # fmt: skip


def main() -> int:
    """Kill, and tell."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    expected: dict[int, list[Any]] = {}
    failed = 0
    with tempfile.TemporaryDirectory() as base:
        for number in range(kills):
            ranks = draw.choice((2, 2, 3))
            if ranks not in expected:
                folder = Path(base) / f"undisturbed{ranks}"
                folder.mkdir()
                code, said = start(folder, ranks)
                assert code == 0, said
                expected[ranks] = json.loads((folder / "done").read_text())
            folder = Path(base) / str(number)
            folder.mkdir()
            try:
                text = kill_once(draw, ranks, expected[ranks], folder)
            except AssertionError as error:
                failed, text = failed + 1, f"FAILED {error}"
            print(f"{number + 1}. {text}", flush=True)
    print(f"{kills} kills, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
