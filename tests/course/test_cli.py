"""The command line, and the doctor."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from minitorch import cli, datasets, doctor
from minitorch.training.points import backend_name


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main(["--help"])
    assert done.value.code == 0
    text = capsys.readouterr().out
    assert "train" in text
    assert "doctor" in text


def test_help_of_train_names_the_data_sets(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    text = capsys.readouterr().out
    for name in ("digits", "mnist", "sentiment", *(name.lower() for name in datasets)):
        assert name in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["bake"], "invalid choice: 'bake'"),
        (["train"], "DATASET"),
        (["train", "cats"], "invalid choice: 'cats'"),
        (["train", "xor", "--backend", "abacus"], "no backend 'abacus'; there are scalar"),
        (["train", "xor", "--hidden", "0"], "must be a whole number, at least 1, it is 0"),
        (["train", "xor", "--epochs", "-3"], "must be a whole number, at least 1, it is -3"),
        (["train", "xor", "--rate", "fast"], "must be a number above 0, it is fast"),
        (["train", "xor", "--rate", "-1"], "must be a number above 0, it is -1"),
        (["train", "xor", "--pts", "1.5"], "must be a whole number, at least 1, it is 1.5"),
        (["train", "xor", "--rate", "nan"], "must be a number above 0, it is nan"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as done:
        cli.main(arguments)
    assert done.value.code == 2
    assert message in capsys.readouterr().err


def test_names_of_backends() -> None:
    assert [backend_name(n) for n in ("cpu", "GPU", "simple")] == ["fast", "cuda", "simple"]


def test_train_writes_below_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["train", "diag", "--backend", "simple", "--hidden", "2", "--pts", "6"]
    assert cli.main([*arguments, "--epochs", "2"]) == 0
    folder = tmp_path / "runs" / "diag-simple"
    assert {p.name for p in folder.iterdir()} >= {"log.txt", "checkpoint.npz"}
    assert "Results: runs/diag-simple/log.txt" in capsys.readouterr().out.replace("\\", "/")
    assert cli.main([*arguments, "--epochs", "4", "--resume"]) == 0
    assert "Epoch 4/4" in (folder / "log.txt").read_text()
    assert cli.main([*arguments, "--epochs", "4", "--resume", "--rate", "9"]) == 1
    assert "rate = 0.1, now it is 9.0" in capsys.readouterr().err


def test_results_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    arguments = ["train", "diag", "--backend", "simple", "--epochs", "1", "--pts", "3"]
    assert cli.main([*arguments, "--out", str(file / "runs")]) == 1
    assert "Cannot write the results" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
def test_interrupt_saves(tmp_path: Path) -> None:
    train = [sys.executable, "-m", "minitorch.cli", "train", "simple", "--backend", "scalar"]
    command = [*train, "--epochs", "100000", "--pts", "6", "--out", str(tmp_path)]

    def heed_interrupts() -> None:  # a shell lets what it starts in the background ignore them
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts)
    assert run.stdout is not None
    assert run.stdout.readline().startswith("Epoch 1/100000")
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Stopped by Ctrl-C after epoch" in output
    assert "Go on with --resume" in output
    assert (tmp_path / "checkpoint.npz").is_file()


# --- Doctor ----------------------------------------------------------------------------


def test_doctor_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    text = capsys.readouterr().out
    for word in ("python", "numpy", "numba", "simple", "fast", "cuda", "mnist", "imported from"):
        assert word in text


def test_doctor_fails_where_a_required_part_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(ops: str) -> None:
        if ops == "FastOps":
            raise ImportError("Numba needs NumPy 2.4 or less")

    monkeypatch.setattr(doctor, "_compute", broken)
    assert doctor.main() == 1
    text = capsys.readouterr().out
    assert "FAIL fast" in text
    assert "Numba needs NumPy 2.4 or less" in text
    assert "MiniTorch cannot work here yet: fast" in text


def test_doctor_sees_another_folders_minitorch(tmp_path: Path) -> None:
    for course in ("mine", "other"):
        (tmp_path / course / "minitorch").mkdir(parents=True)
        (tmp_path / course / "minitorch" / "__init__.py").touch()
    (tmp_path / "mine" / "project").mkdir()
    imported = ModuleType("minitorch")
    imported.__file__ = str(tmp_path / "other" / "minitorch" / "__init__.py")
    finding = doctor.check_location(imported, tmp_path / "mine" / "project")
    assert not finding.ok
    assert str(tmp_path / "other") in finding.detail
    assert f"PYTHONPATH={tmp_path / 'mine'}" in finding.advice
    assert doctor.check_location(imported, tmp_path / "other").ok
    assert doctor.check_location(imported, tmp_path).ok


def test_doctor_names_a_data_folder_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITORCH_DATA", str(tmp_path / "nowhere"))
    first, *_ = doctor.check_data()
    assert not first.ok
    assert "nowhere is not a folder" in first.detail
