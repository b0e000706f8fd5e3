"""LeNet and its training: shapes, gradients, learning, and the command line."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch.training.data_files import DATA_VARIABLE, DataNotFoundError
from minitorch.training.images import (
    Conv2d,
    ImageTrain,
    Linear,
    Network,
    default_log_fn,
    digits_sets,
    main,
    make_mnist,
    one_hot,
)
from minitorch.training.layers import constant, fast_backend

pytestmark = pytest.mark.task4_4


def small_network() -> Network:
    return Network(size=8, pool=2)


def silent(*_: Any) -> None:
    """A log function that says nothing."""


def test_layers_have_the_shapes_of_the_course() -> None:
    backend = fast_backend()
    linear, conv = Linear(3, 5), Conv2d(2, 4, 3, 3)
    assert linear.weights.value.shape == (3, 5)
    assert conv.weights.value.shape == (4, 2, 3, 3)
    assert linear(constant(np.ones((2, 3)), backend)).shape == (2, 5)
    assert conv(constant(np.ones((2, 2, 6, 7)), backend)).shape == (2, 4, 6, 7)


def test_conv2d_adds_its_bias_per_channel() -> None:
    conv = Conv2d(1, 2, 1, 1)
    conv.weights.update(constant(np.array([2.0, 3.0]).reshape(2, 1, 1, 1), fast_backend()))
    conv.bias.update(constant(np.array([10.0, 20.0]).reshape(2, 1, 1), fast_backend()))
    out = conv(constant(np.ones((1, 1, 2, 2)), fast_backend())).to_numpy()
    np.testing.assert_array_equal(out[0], [np.full((2, 2), 12.0), np.full((2, 2), 23.0)])


def test_first_weights_keep_signals_as_large_as_they_are() -> None:
    x = constant(np.random.default_rng(0).normal(size=(4, 8, 12, 12)), fast_backend())
    out = Conv2d(8, 16, 3, 3)(x).to_numpy()
    assert 0.8 < np.mean(np.maximum(out, 0.0)[:, :, :-2, :-2] ** 2) < 1.3


@pytest.mark.parametrize(("size", "pool", "flat"), [(28, 4, 392), (8, 2, 128)])
def test_network_gives_log_probabilities(size: int, pool: int, flat: int) -> None:
    model = Network(size=size, pool=pool)
    x = constant(np.random.default_rng(0).random((3, 1, size, size)), model.backend)
    out = model(x)
    assert out.shape == (3, 10)
    np.testing.assert_allclose(np.exp(out.to_numpy()).sum(1), 1.0)
    assert model.flat == flat
    assert model.mid.shape == (3, 4, size, size)
    assert model.out.shape == (3, 8, size, size)


def test_dropout_only_while_training() -> None:
    trainer = ImageTrain(small_network())
    X = np.random.default_rng(0).random((4, 8, 8))
    trainer.model.eval()
    first, second = (trainer.run_many(X).to_numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    trainer.model.train()
    assert (trainer.run_many(X).to_numpy() != first).any()


def test_gradients_reach_every_parameter() -> None:
    trainer = ImageTrain(small_network())
    trainer.model.eval()
    X, y = np.random.default_rng(0).random((6, 8, 8)), one_hot(range(6))
    (trainer.run_many(X) * constant(y, trainer.model.backend)).sum().backward()
    for name, parameter in trainer.model.named_parameters():
        assert parameter.value.grad is not None, name
        assert np.abs(parameter.value.grad.to_numpy()).max() > 0, name


def test_network_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    trainer = ImageTrain(small_network())
    trainer.model.eval()
    X, y = np.random.default_rng(0).random((5, 8, 8)), one_hot([3, 1, 4, 1, 5])
    loss = -(trainer.run_many(X) * constant(y, trainer.model.backend)).sum() / 5
    loss.backward()
    named = trainer.model.named_parameters()
    p = {n: torch.tensor(q.value.to_numpy(), requires_grad=True) for n, q in named}
    t = torch.tensor(X[:, None])
    for conv in ("conv1", "conv2"):
        t = F.conv2d(F.pad(t, (0, 2, 0, 2)), p[f"{conv}.weights"]) + p[f"{conv}.bias"]
        t = t.relu()
    t = F.avg_pool2d(t, 2).flatten(1)
    t = (t @ p["linear1.weights"] + p["linear1.bias"]).relu()
    t = t @ p["linear2.weights"] + p["linear2.bias"]
    expected = F.cross_entropy(t, torch.tensor([3, 1, 4, 1, 5]))
    expected.backward()
    assert loss.item() == pytest.approx(expected.item())
    for name, parameter in named:
        np.testing.assert_allclose(
            parameter.value.grad.to_numpy(), p[name].grad.numpy(), atol=1e-10, err_msg=name
        )


def test_loss_falls_on_32_digits() -> None:
    (X, y), _ = digits_sets()
    data = X[:32], y[:32]
    trainer = ImageTrain(Network(size=8, pool=2, rate=0.0), batch=8)
    seen: list[tuple[int, float, int, int]] = []

    def log(epoch: int, loss: float, correct: int, total: int, *_: Any) -> None:
        seen.append((epoch, loss, correct, total))

    trainer.train(data, data, 0.15, 15, log)
    assert [epoch for epoch, *_ in seen] == list(range(1, 16))
    assert seen[-1][1] < 0.6 * seen[0][1]
    assert seen[-1][2] >= 16
    assert seen[-1][3] == 32


def test_lists_do_as_data_and_odd_batches_are_not_dropped() -> None:
    X = [[[0.1 * k] * 8] * 8 for k in range(5)]
    steps = []
    trainer = ImageTrain(small_network(), batch=2)
    y = one_hot(range(5)).tolist()
    trainer.train((X, y), (X, y), 0.01, 1, silent, progress=lambda *done: steps.append(done))
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert trainer.run_one(X[0]).shape == (1, 10)


def test_rate_decays_from_epoch_to_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = []
    step = minitorch.SGD.step

    def noting(self: minitorch.SGD) -> None:
        rates.append(self.lr)
        step(self)

    monkeypatch.setattr(minitorch.SGD, "step", noting)
    (X, y), _ = digits_sets(10)
    trainer = ImageTrain(small_network(), batch=8, decay=0.5)
    trainer.train((X, y), (X, y), 0.1, 3, silent, start=2)
    assert rates == [0.05, 0.025]


def test_digits_are_split_without_overlap_and_always_alike() -> None:
    random.seed(7)
    (X, y), (X_val, y_val) = digits_sets()
    assert (len(X), len(X_val)) == (1438, 359)
    assert y.shape == (1438, 10)
    assert y_val.sum() == 359
    assert len(np.unique(np.concatenate([X, X_val]), axis=0)) == 1797
    np.testing.assert_array_equal(digits_sets()[1][0], X_val)


def test_bad_batch() -> None:
    with pytest.raises(ValueError, match="batch must be at least 1"):
        ImageTrain(small_network(), batch=0)


@pytest.mark.parametrize(
    "options",
    [["--EPOCHS", "0"], ["--RATE", "-1"], ["--BATCH", "ten"], ["--PTS", "0"], ["--DECAY", "nan"]],
)
def test_bad_options_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(options)
    assert f"{options[1]!r} is not a number above 0" in capsys.readouterr().err


def test_default_log(capsys: pytest.CaptureFixture[str]) -> None:
    default_log_fn(3, 1.234, 14, 16, [], small_network())
    assert capsys.readouterr().out == "Epoch 3 | loss 1.23 | correct 14/16\n"


def test_command_line_trains_stops_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(out: str, *more: str) -> int:
        options = ["--PTS", "40", "--plain", "--no-picture", "--out", str(tmp_path / out)]
        return main([*options, *more], dataset="digits")

    assert run("whole", "--EPOCHS", "3") == 0
    assert run("parts", "--EPOCHS", "1") == 0
    assert run("parts", "--EPOCHS", "3", "--resume") == 0
    assert "Best validation" in capsys.readouterr().out
    whole, parts = (np.load(tmp_path / out / "checkpoint.npz") for out in ("whole", "parts"))
    np.testing.assert_array_equal(whole["losses"], parts["losses"])
    log = (tmp_path / "whole" / "log.txt").read_text()
    assert log.startswith("Epoch 1/3 | loss ")
    assert "/32 | validation " in log


def test_resume_without_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--PTS", "20", "--resume", "--out", str(tmp_path / "none")]
    assert main(options, dataset="digits") == 1
    assert "Cannot resume" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_command_line_without_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(split: str) -> Any:
        raise DataNotFoundError("missing data: mnist/...")

    monkeypatch.setattr("minitorch.training.images.load_mnist", missing)
    assert main(["--out", str(tmp_path)]) == 1
    assert "missing data" in capsys.readouterr().err


@pytest.mark.skipif(DATA_VARIABLE not in os.environ, reason=f"{DATA_VARIABLE} is not set")
def test_make_mnist() -> None:
    X, y = make_mnist(10, 15)
    assert X.shape == (5, 28, 28)
    assert y.argmax(1).tolist() == [3, 5, 3, 6, 1]
