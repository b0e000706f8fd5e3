"""The examples, unchanged, in both libraries: the same losses, files that either can read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch as theirs

import minitorch.torch as ours

EXAMPLES = Path(__file__).parents[2] / "examples"

# What makes an example small; the first word is its file, the folder of its results is the key.
LANGUAGE = "word_language_model --width 16 --words 300 --length 8 --batch-size 4 --model"
CASES = {
    "mnist_cnn": "mnist_cnn --batch-size 8",
    "vae": "vae --batch-size 8 --hidden 32",
    "gan": "gan --batch-size 8 --width 4",
    "char_rnn": "char_rnn --batch-size 4 --length 8 --width 16 --write 5",
    "lstm": f"{LANGUAGE} LSTM",
    "transformer": f"{LANGUAGE} Transformer",
    "reinforce": "reinforce --width 16",
    "actor_critic": "actor_critic --games 3 --moves 8 --width 16",
    "super_resolution": "super_resolution --batch-size 4 --width 8",
    "siamese": "siamese --batch-size 8",
    "vit": "vit --batch-size 8 --width 16 --layers 2",
    "regression": "regression --width 8",
    "time_series": "time_series --signals 4 --length 16 --ahead 4 --width 6 --iterations 4",
}
GPT = "gpt --layers 2 --heads 2 --width 16 --length 16 --dropout 0.1 --eval-every 100 --write 5"
# An uninterrupted training, and one whose second half the other library does.
RUNS = [f"{case} --steps 5 --out {name}" for name, case in CASES.items()]
RUNS += [f"{GPT} --steps 6 --out gpt", f"{GPT} --steps 3 --out gpt_half"]
RESUMED = [f"{GPT} --steps 6 --out {place} --resume" for place in ("gpt_half", "../{other}/gpt_half")]

# Runs examples one after the other in one process: its arguments are a library and command lines.
DRIVER = """
import json, runpy, sys, traceback
library, folder, lines = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path.insert(0, folder)
if library == "ours":
    from minitorch.torch.runner import run_script
else:
    def run_script(path, args):
        sys.argv = [path, *args]
        runpy.run_path(path, run_name="__main__")
for line in lines:
    name, *args = line.split()
    try:
        code = run_script(f"{folder}/{name}.py", args + ["--log-every", "1"])
    except Exception:
        traceback.print_exc()
    else:
        if code == 0 or library == "theirs":
            continue
    print("FAILED", line, file=sys.stderr)
"""


def drive(folder: Path, library: str, lines: list[str]) -> str:
    """Run command lines of examples with one library in a folder; what they wrote to stderr."""
    (folder / library).mkdir(exist_ok=True)
    command = [sys.executable, "-c", DRIVER, library, str(EXAMPLES), json.dumps(lines)]
    environment = {**os.environ, "MINITORCH_DATA": str(folder / "no-data")}
    process = subprocess.run(
        command, cwd=folder / library, env=environment, capture_output=True, text=True, timeout=250
    )
    assert process.returncode == 0, process.stderr
    return process.stderr


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of all examples, below `ours` and `theirs`."""
    folder = tmp_path_factory.mktemp("examples")
    errors = [drive(folder, library, RUNS) for library in ("ours", "theirs")]
    assert "FAILED" not in "".join(errors), "\n".join(errors)
    return folder


def log(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def assert_same_log(one: Path, other: Path) -> None:
    assert len(log(one)) == len(log(other)) >= 5
    for mine, right in zip(log(one), log(other), strict=True):
        assert mine == pytest.approx(right, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", [*CASES, "gpt"])
def test_losses_are_pytorchs(results: Path, name: str) -> None:
    assert_same_log(results / "ours" / name, results / "theirs" / name)
