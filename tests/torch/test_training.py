"""`minitorch train cnn`: a run on the upper floor, interrupted and resumed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from minitorch import cli
from minitorch.torch.compiler import config
from minitorch.training.checkpoint import load_checkpoint

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="sklearn is not installed")


def train(folder: Path, *more: str) -> int:
    common = ["--pts", "160", "--batch", "32", "--plain", "--no-picture", "--out", str(folder)]
    return cli.main(["train", "cnn", *common, *more])


def test_a_run_learns_and_writes_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, "--epochs", "6", "--decay", "1") == 0
    shown = capsys.readouterr().out
    assert "Epoch 6/6 | loss" in shown
    assert "| validation" in shown
    history = load_checkpoint(tmp_path / "checkpoint.npz").history
    assert history.losses[-1] < history.losses[0] / 3
    assert history.correct[-1] > 120
    assert "Best validation" in (tmp_path / "log.txt").read_text()


def test_resumed_equals_uninterrupted(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train(whole, "--epochs", "4") == 0
    assert train(parts, "--epochs", "2") == 0
    assert train(parts, "--epochs", "4", "--resume") == 0
    first, second = (load_checkpoint(folder / "checkpoint.npz") for folder in (whole, parts))
    assert first.history.losses == second.history.losses
    for name, array in first.parameters.items():
        np.testing.assert_array_equal(array, second.parameters[name], err_msg=name)


def test_a_compiled_step_learns_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """From one epoch to the next the rate falls, and the step goes on from its tape."""
    with caplog.at_level("INFO"), config.patch(plays_before_programs=8):
        for name in ("eager", "compiled"):
            more = ["--compile"] if name == "compiled" else []
            assert train(tmp_path / name, "--epochs", "4", *more) == 0
    found = [
        load_checkpoint(tmp_path / n / "checkpoint.npz").history for n in ("eager", "compiled")
    ]
    assert found[0].losses == pytest.approx(found[1].losses, rel=1e-4)
    assert "kernels for 'TorchImageTrain.step'" in caplog.text


def test_a_checkpoint_of_another_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(tmp_path, "--epochs", "1") == 0
    assert train(tmp_path, "--epochs", "2", "--resume", "--rate", "0.5") == 1
    assert "rate" in capsys.readouterr().err
