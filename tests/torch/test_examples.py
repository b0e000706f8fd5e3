"""The examples, unchanged, in both libraries: the same losses, files that either can read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    "char_rnn": "char_rnn --batch-size 4 --length 8 --width 16 --write 30",
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
GPT = "gpt --layers 2 --heads 2 --width 16 --length 16 --dropout 0.1 --eval-every 100 --write 30"
RUNS = [f"{case} --steps 5 --out {name}" for name, case in CASES.items()]
RUNS += [f"{GPT} --steps 6 --out gpt", f"{GPT} --steps 3 --out half"]

# Runs examples one after the other in one process: its arguments are a library and command lines. A GPU draws the CPU's random numbers.
DRIVER = """
import json, runpy, sys, traceback
library, folder, lines = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path[:0] = [folder, folder + "/.."]
if library != "theirs":
    from minitorch.torch.runner import run_script
    if library == "gpu":
        import pytest
        from tests.torch.drawing import draw_on_the_cpu
        draw_on_the_cpu(pytest.MonkeyPatch())
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


def drive(folder: Path, library: str, lines: list[str], **variables: str) -> str:
    """Run command lines of examples with one library in a folder; what they wrote to stderr."""
    (folder / library).mkdir(exist_ok=True)
    command = [sys.executable, "-c", DRIVER, library, str(EXAMPLES), json.dumps(lines)]
    environment = {**os.environ, "MINITORCH_DATA": "no-data", "OMP_NUM_THREADS": "1", **variables}
    process = subprocess.run(
        command, cwd=folder / library, env=environment, capture_output=True, text=True, timeout=250
    )
    assert process.returncode == 0, process.stderr
    return process.stderr


def resumed(half: Path, copy: str) -> str:
    """A command line that finishes a half-finished training, in a copy of its folder."""
    shutil.copytree(half, half.parents[1] / copy)
    return f"{GPT} --steps 6 --resume --out ../{copy}"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of all examples, below `ours` and `theirs`."""
    folder = tmp_path_factory.mktemp("examples")
    errors = drive(folder, "ours", RUNS)
    errors += drive(folder, "theirs", [*RUNS, resumed(folder / "ours/half", "ours_then_theirs")])
    halves = [("ours/half", "ours_then_ours"), ("theirs/half", "theirs_then_ours")]
    errors += drive(folder, "ours", [resumed(folder / half, copy) for half, copy in halves])
    (folder / "errors.txt").write_text(errors)
    return folder


def test_all_examples_run(results: Path) -> None:
    errors = (results / "errors.txt").read_text()
    assert "FAILED" not in errors, errors


@pytest.mark.cuda
def test_all_examples_run_on_a_gpu(results: Path, tmp_path: Path) -> None:
    steps = 5
    lines = [f"{case} --steps {steps} --device cuda --out {name}" for name, case in CASES.items()]
    lines.append(f"{GPT} --steps {steps} --device cuda --out gpt")
    simulated = {} if ours.cuda.is_available() else {"MINITORCH_CUDA": "simulated"}
    errors = drive(tmp_path, "gpu", lines, **simulated)
    assert "FAILED" not in errors, errors
    for name in [*CASES, "gpt"]:
        mine, right = log(tmp_path / "gpu" / name)[:steps], log(results / "ours" / name)[:steps]
        assert len(mine) == steps
        for line, right_line in zip(mine, right, strict=True):
            assert line == pytest.approx(right_line, rel=1e-4, abs=1e-6), name
        saved = "checkpoint.pt" if name == "gpt" else "model.pt"
        assert b"cuda:0" in (tmp_path / "gpu" / name / saved).read_bytes()


def log(folder: Path) -> list[dict[str, float]]:
    """The numbers that an example printed, in full."""
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", [*CASES, "gpt"])
def test_losses_are_pytorchs(results: Path, name: str) -> None:
    mine, right = log(results / "ours" / name), log(results / "theirs" / name)
    assert len(mine) == len(right) >= 5
    for line, right_line in zip(mine, right, strict=True):
        assert line == pytest.approx(right_line, rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["char_rnn", "gpt"])
def test_texts_are_pytorchs(results: Path, name: str) -> None:
    texts = [(results / library / name / "text.txt").read_text() for library in ("ours", "theirs")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", CASES)
def test_models_are_read_by_both(results: Path, name: str) -> None:
    names = []
    for library in ("ours", "theirs"):
        path = results / library / name / "model.pt"
        mine, right = ours.load(path), theirs.load(path)
        assert list(mine) == list(right)
        assert all(np.array_equal(mine[key].numpy(), right[key].numpy()) for key in right)
        names.append(list(mine))
    assert names[0] == names[1]


@pytest.mark.parametrize("way", ["ours_then_ours", "ours_then_theirs", "theirs_then_ours"])
def test_resumed_training_equals_uninterrupted(results: Path, way: str) -> None:
    whole = log(results / way.split("_")[-1] / "gpt")
    parts = [line for line in log(results / way) if "loss" in line or line["step"] == 6]
    assert len(parts) == len(whole) == 7
    for line, right_line in zip(parts, whole, strict=True):
        exact = way == "ours_then_ours"
        assert line == (right_line if exact else pytest.approx(right_line, rel=2e-6))
