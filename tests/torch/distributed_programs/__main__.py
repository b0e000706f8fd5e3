"""`python -m tests.torch.distributed_programs [NAME ...]`: the lines that programs print with both libraries, compared.

Lines come from several ranks, so their order is none. Text must be equal, numbers to the last digit that is printed, or the one beside it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ..distributed_found import ROOT, environment, free_port

FOLDER = Path(__file__).parent
LAUNCHED: dict[str, tuple[str, ...]] = {
    "amp_compile_ddp": (), "comm_hooks": (), "elastic_snapshot": ("--max-restarts", "1"), "evaluation": (),
    "fsdp2_tutorial": (), "fsdp_tutorial": (), "gan_two_models": (), "sharded_checkpoint": (), "tensor_parallel": (),
}  # fmt: skip
"""Programs for torchrun, and its options; the others start their own processes."""
SPAWNING = ("collectives_tutorial", "ddp_spawn", "task_queue", "uneven_join", "zero_recipe")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?|-?\d+")


def command(name: str, ours: bool, folder: str) -> list[str]:
    """How a program is started with a library."""
    path = str(FOLDER / f"{name}.py")
    if name in LAUNCHED:
        module = "minitorch.torch.distributed.run" if ours else "torch.distributed.run"
        options = ["--standalone", "--nproc_per_node", "2", *LAUNCHED[name]]
        target = f"{folder}/snapshot.pt" if name == "elastic_snapshot" else folder
        return [sys.executable, "-m", module, *options, path, target]
    start = ["-m", "minitorch.torch"] if ours else []
    return [sys.executable, *start, path, str(free_port())]


def lines(name: str, ours: bool) -> list[str]:
    """What a program prints, sorted; how it ended is the last line."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command(name, ours, folder), cwd=folder, env=environment(), capture_output=True, text=True, timeout=300
        )  # fmt: skip
    if done.returncode and os.environ.get("SHOW"):
        sys.stderr.write(done.stderr[-6000:])
    apart = re.sub(
        r"(?<!^)(?=rank \d)", "\n", done.stdout, flags=re.M
    )  # PyTorch's ranks write text and end of a line apart
    said = sorted(filter(None, map(str.strip, apart.splitlines())))
    return [*said, f"exit code {done.returncode}"]


def same(theirs: str, ours: str) -> bool:
    """Whether two lines say the same."""
    if NUMBER.sub("#", theirs) != NUMBER.sub("#", ours):
        return False
    return all(map(_close, NUMBER.findall(theirs), NUMBER.findall(ours)))


def _close(theirs: str, ours: str) -> bool:
    if theirs == ours or "." not in theirs:
        return theirs == ours
    digits = min(len(text.split("e")[0].partition(".")[2]) for text in (theirs, ours))
    return abs(float(theirs) - float(ours)) <= 1.5 * 10**-digits


def differences(name: str) -> list[str]:
    """The lines in which the libraries differ."""
    theirs, ours = lines(name, False), lines(name, True)
    if len(theirs) != len(ours):
        return [f"theirs: {line}" for line in theirs] + [f"ours: {line}" for line in ours]
    pairs = zip(theirs, ours, strict=True)
    return [f"theirs: {t}\n  ours: {o}" for t, o in pairs if not same(t, o)]


def main() -> int:
    """Compare programs; the exit code is how many differ."""
    failed = 0
    for name in sys.argv[1:] or sorted((*LAUNCHED, *SPAWNING)):
        found = differences(name)
        failed += bool(found)
        print(f"{name}: {'differs' if found else 'same'}", *found, sep="\n  ", flush=True)
    return failed


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
