"""Training on points, and the runtime round it: log, checkpoint, resume, interrupt, messages."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import Module, Parameter, Scalar, datasets
from minitorch.datasets import Graph
from minitorch.training import checkpoint, points
from minitorch.training.console import in_words
from minitorch.training.session import FAILED, INTERRUPTED, OK, RunOptions, Session, set_seed

ROOT = Path(__file__).parents[2]


class Walk(Module):
    """One parameter that is drawn towards random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(Scalar(random.random()))


def walk(
    out: Path, epochs: int = 30, stop: int | None = None, resume: bool = False, seed: int = 3
) -> tuple[int, Session, float]:
    """A run whose every epoch depends on random numbers; Ctrl-C inside epoch `stop` + 1."""
    options = RunOptions(seed=seed, out=out, resume=resume, live=False, picture=False)
    set_seed(seed)
    model = Walk()
    session = Session("walk", options, epochs=epochs, points=10, rate=0.1)

    def train(log_fn: Any, start: int) -> None:
        optim = minitorch.SGD(model.parameters(), 0.1)
        for epoch in range(start, epochs + 1):
            optim.zero_grad()
            error = model.w.value - random.random() - float(np.random.random())  # noqa: NPY002
            if stop is not None and epoch == stop + 1:
                raise KeyboardInterrupt
            loss = error * error
            loss.backward()
            optim.step()
            log_fn(epoch, loss.data, 3, [])

    return session.run(model, train), session, model.w.value.data


# --- Log -------------------------------------------------------------------------------


def test_log_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert walk(tmp_path)[0] == OK
    shown = capsys.readouterr().out.splitlines()
    logged = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.split(" | ")[0] for line in shown[:4]] == [
        "Epoch 1/30",
        "Epoch 10/30",
        "Epoch 20/30",
        "Epoch 30/30",
    ]
    assert len(logged) == 31  # every epoch, and where the results are
    fields = logged[0].split(" | ")
    assert fields[0] == "Epoch 1/30"
    assert fields[1].startswith("loss ")
    assert fields[2] == "correct 3/10"
    assert fields[3].endswith(" s/epoch")
    assert str(tmp_path / "checkpoint.npz") in shown[-1]


def test_live_bar_ends_on_the_last_epoch(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    set_seed(0)
    model = Walk()
    options = RunOptions(out=tmp_path, live=True, picture=False)
    session = Session("live", options, epochs=3, points=10)

    def train(log_fn: Any, start: int) -> None:
        for epoch in range(start, 4):
            session.within_epoch(1, 2)
            log_fn(epoch, 1.0, 5, [])

    assert session.run(model, train) == OK
    assert session.history.correct == [5, 5, 5]


def test_validation_is_in_the_line(tmp_path: Path) -> None:
    set_seed(0)
    options = RunOptions(out=tmp_path, live=False, picture=False)
    session = Session("v", options, epochs=1, points=10, validation_points=4)
    session.run(Walk(), lambda log_fn, start: session.log(1, 2.0, 7, [], validation=3))
    assert "correct 7/10 | validation 3/4" in (tmp_path / "log.txt").read_text()


def test_durations_in_words() -> None:
    assert [in_words(s) for s in (0.0, 59, 61, 3600)] == ["1 s", "59 s", "1 min 1 s", "1 h 0 min"]


# --- Checkpoint and resume -------------------------------------------------------------


def test_resumed_run_equals_an_uninterrupted_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, whole, end = walk(tmp_path / "whole")
    code, stopped, _ = walk(tmp_path / "parts", stop=17)
    assert code == INTERRUPTED
    assert stopped.history.epoch == 17
    assert "Stopped by Ctrl-C after epoch 17/30" in capsys.readouterr().out
    code, resumed, resumed_end = walk(tmp_path / "parts", resume=True)
    assert code == OK
    assert resumed.history.losses == whole.history.losses
    assert resumed_end == end
    log = (tmp_path / "parts" / "log.txt").read_text()
    assert "Stopped by Ctrl-C" in log
    assert "Resumed after epoch 17" in log


@pytest.mark.parametrize("backend", ["scalar", "simple"])
def test_points_resume_exactly(tmp_path: Path, backend: str) -> None:
    def run(out: str, epochs: int, resume: bool = False) -> tuple[int, bytes]:
        options = RunOptions(out=tmp_path / out, resume=resume, live=False, picture=False)
        code = points.train_points("xor", backend, options, hidden=3, epochs=epochs, points=6)
        kept = checkpoint.load_checkpoint(tmp_path / out / "checkpoint.npz")
        state = [kept.parameters[name].tobytes() for name in sorted(kept.parameters)]
        return code, b"".join([*state, np.array(kept.history.losses).tobytes()])

    assert run("whole", 4)[0] == OK

    original = Session.log

    def log(self: Session, epoch: int, *rest: Any) -> None:
        original(self, epoch, *rest)
        if epoch == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "log", log)
        assert run("parts", 4)[0] == INTERRUPTED
    assert run("parts", 4, resume=True) == run("whole", 4)


def test_interrupt_before_the_first_epoch_leaves_no_checkpoint(tmp_path: Path) -> None:
    code, session, _ = walk(tmp_path, stop=0)
    assert code == INTERRUPTED
    assert not session.checkpoint_path.exists()


def test_resume_without_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert walk(tmp_path, resume=True)[0] == FAILED
    assert f"no checkpoint at {tmp_path / 'checkpoint.npz'}" in capsys.readouterr().err


def test_resume_of_a_finished_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk(tmp_path, epochs=5)
    code, session, _ = walk(tmp_path, epochs=5, resume=True)
    assert code == OK
    assert session.history.epoch == 5
    assert "All 5 epochs are done" in capsys.readouterr().out


def test_resume_with_another_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walk(tmp_path, epochs=2)
    assert walk(tmp_path, epochs=4, resume=True, seed=4)[0] == FAILED
    assert "seed = 3, now it is 4" in capsys.readouterr().err


@pytest.mark.parametrize("length", [0, 10, 300, 2000, -30])
def test_cut_off_checkpoint(tmp_path: Path, length: int) -> None:
    walk(tmp_path, epochs=2)
    path = tmp_path / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(checkpoint.CheckpointError, match="damaged or cut off"):
        checkpoint.load_checkpoint(path)


def test_checkpoint_of_another_shape_changes_nothing() -> None:
    set_seed(0)
    small, large = points.make_trainer("simple", 2), points.make_trainer("simple", 3)
    before = checkpoint.parameter_arrays(large.model)
    with pytest.raises(checkpoint.CheckpointError, match=r"layer1.weights .*\(2, 2\).*\(2, 3\)"):
        checkpoint.load_parameters(large.model, checkpoint.parameter_arrays(small.model))
    after = checkpoint.parameter_arrays(large.model)
    assert all((before[name] == after[name]).all() for name in before)


def test_checkpoint_of_another_model() -> None:
    arrays = {"v": np.array(1.0)}
    with pytest.raises(checkpoint.CheckpointError, match="lacks w and has besides v"):
        checkpoint.load_parameters(Walk(), arrays)


def test_checkpoint_with_pickle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, about=np.array([{"a": 1}], dtype=object))
    with pytest.raises(checkpoint.CheckpointError):
        checkpoint.load_checkpoint(path)


@pytest.mark.parametrize(
    ("name", "array", "says"),
    [
        ("about", np.array("[" * 100_000), "nested too deeply"),
        ("about", np.array('{"format": 1e999}'), "format inf"),
        ("losses", np.array(["a"]), "not a list of numbers"),
        ("losses", np.zeros(7), "more epochs in one place"),
        ("random/python", np.full(625, 2**32 - 1, np.uint32), "random numbers"),
        ("random/numpy_spare", np.array([1e9, 0, 0]), "random numbers"),
        ("random/numpy_spare", np.array([1, 1e300, 0]), "random numbers"),
        ("random/python_spare", np.array([3, 0.5, 0]), "random numbers"),
        ("random/python_spare", np.array([3, 1, np.nan]), "not finite"),
        ("parameter/w", np.array("x"), "not an array of numbers"),
    ],
)
def test_checkpoints_that_are_none_inside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, array: Any, says: str
) -> None:
    walk(tmp_path, epochs=2)
    path = tmp_path / "checkpoint.npz"
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **(arrays | {name: array}))  # type: ignore[arg-type]
    assert walk(tmp_path, epochs=3, resume=True)[0] == 1
    said = capsys.readouterr().err
    assert str(path) in said
    assert says in said


def test_failed_write_keeps_the_previous_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk(tmp_path, epochs=2)
    path = tmp_path / "checkpoint.npz"
    kept = checkpoint.load_checkpoint(path)
    before = path.read_bytes()

    def half_a_file(file: Any, **arrays: Any) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", half_a_file)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save_checkpoint(path, kept)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint.npz", "log.txt"]


def test_random_state_round_trip() -> None:
    set_seed(5)
    random.gauss(0, 1)  # leaves a spare number behind
    np.random.standard_normal()  # noqa: NPY002
    state = checkpoint.random_state()
    drawn = [random.gauss(0, 1), random.random(), np.random.standard_normal()]  # noqa: NPY002
    checkpoint.set_random_state(state)
    again = [random.gauss(0, 1), random.random(), np.random.standard_normal()]  # noqa: NPY002
    assert drawn == again


# --- Messages --------------------------------------------------------------------------


def run_with_losses(
    tmp_path: Path, losses: list[float], explain: Any = None
) -> tuple[int, str, Session]:
    set_seed(0)
    options = RunOptions(out=tmp_path, live=False, picture=False)
    session = Session("m", options, epochs=len(losses), points=50, rate=2.0)

    def train(log_fn: Any, start: int) -> None:
        for epoch, loss in enumerate(losses, start=1):
            log_fn(epoch, loss, 20, [])

    code = session.run(Walk(), train, explain_stall=explain)
    return code, (tmp_path / "log.txt").read_text(), session


def test_loss_that_is_no_number_stops_the_run(tmp_path: Path) -> None:
    code, log, session = run_with_losses(tmp_path, [3.0, 2.0, float("nan"), 1.0])
    assert code == FAILED
    assert "the loss of epoch 3 is nan: the rate 2 is too high" in log
    assert "--rate 0.2" in log
    assert session.history.epoch == 2
    assert checkpoint.load_checkpoint(session.checkpoint_path).history.epoch == 2


def test_stall_is_said_once(tmp_path: Path) -> None:
    falling = [100.0 - i for i in range(40)]
    _, log, _ = run_with_losses(tmp_path, falling + [34.66] * 100, lambda: "both units are dead.")
    assert log.count("Loss stands still since epoch 40: both units are dead.") == 1


def test_falling_loss_is_no_stall(tmp_path: Path) -> None:
    _, log, _ = run_with_losses(tmp_path, [100.0 * 0.99**i for i in range(200)])
    assert "stands still" not in log


def test_rising_loss_is_said(tmp_path: Path) -> None:
    _, log, _ = run_with_losses(tmp_path, [10.0 + i for i in range(60)])
    assert "the rate 2 is too high" in log


@pytest.mark.parametrize("backend", ["scalar", "simple"])
def test_dead_units_are_explained(backend: str) -> None:
    set_seed(0)
    trainer, data = points.make_trainer(backend, 2), datasets["Simple"](50)
    arrays = checkpoint.parameter_arrays(trainer.model)
    for name in arrays:
        if name.startswith("layer1"):
            arrays[name] = np.full_like(arrays[name], -1.0)
    checkpoint.load_parameters(trainer.model, arrays)
    assert points.explain_stall(trainer, data) == (
        "both hidden units of the first layer give 0 for all 50 points (dead ReLU). "
        "Try another seed, 10 hidden units, or a lower rate."
    )


def test_saturated_output_is_explained() -> None:
    set_seed(0)
    trainer, data = points.make_trainer("simple", 4), datasets["Simple"](20)
    arrays = checkpoint.parameter_arrays(trainer.model)
    arrays["layer3.bias"] = np.array([1000.0])
    for name in ("layer1.bias", "layer2.bias"):
        arrays[name] = np.full_like(arrays[name], 50.0)
    checkpoint.load_parameters(trainer.model, arrays)
    assert "where sigmoid is flat. The rate is too high" in points.explain_stall(trainer, data)


# --- The lesson loops ------------------------------------------------------------------


def losses_of(trainer: Any, data: Graph, epochs: int = 5) -> list[float]:
    seen: list[float] = []
    random.seed(1)
    trainer.train(data, 0.2, epochs, lambda epoch, loss, correct, losses: seen.append(loss))
    return seen


def make(backend: str, hidden: int = 4) -> tuple[Any, Graph]:
    set_seed(0)
    data = datasets["Xor"](12)
    return points.make_trainer(backend, hidden, batch=5), data


@pytest.mark.parametrize("backend", ["simple", "fast"])
def test_all_backends_train_alike(backend: str) -> None:
    expected = losses_of(*make("scalar"))
    assert losses_of(*make(backend)) == pytest.approx(expected, rel=1e-9)


def test_log_fn_gets_what_the_course_says() -> None:
    trainer, data = make("simple")
    calls: list[tuple[int, float, int, list[float]]] = []
    trainer.train(data, 0.1, 3, lambda *args: calls.append((*args[:3], list(args[3]))))
    assert [call[0] for call in calls] == [1, 2, 3]
    assert all(0 <= call[2] <= data.N for call in calls)
    assert calls[-1][3] == [call[1] for call in calls]


@pytest.mark.parametrize("backend", ["scalar", "simple", "fast"])
def test_learns_diag(backend: str) -> None:
    set_seed(0)
    data = datasets["Diag"](10)
    trainer = points.make_trainer(backend, 4, batch=2)
    trainer.train(data, 0.2, 20, lambda *_: None)
    assert points.count_correct(trainer, data) == data.N


@pytest.mark.slow
@pytest.mark.parametrize("name", list(datasets))
def test_fast_model_learns_every_data_set(name: str) -> None:
    """In the epochs that `run_fast_tensor` takes; one that stays right for ten may stop."""
    set_seed(0)
    data, settings = datasets[name](50), points.LARGE[name]
    goal = 48 if name == "Spiral" else 50
    counts: list[int] = []

    def stop_when_learned(epoch: int, loss: float, correct: int, losses: list[float]) -> None:
        counts.append(correct)
        if len(counts) > 10 and min(counts[-10:]) >= goal:
            raise StopIteration

    trainer = points.make_trainer("fast", settings.hidden, settings.batch)
    with contextlib.suppress(StopIteration):
        trainer.train(data, settings.rate, settings.epochs, stop_when_learned)
    assert points.count_correct(trainer, data) >= goal


def test_run_one_and_run_many_agree() -> None:
    for backend in ("scalar", "simple"):
        trainer, data = make(backend)
        one = [points.probabilities(trainer, [x])[0] for x in data.X[:3]]
        assert points.probabilities(trainer, data.X[:3]).tolist() == pytest.approx(one)


def test_data_needs_no_gradient() -> None:
    trainer, data = make("simple")
    out = trainer.run_many(data.X)
    inputs = out.history.inputs[0]
    while inputs.history.inputs:
        inputs = inputs.history.inputs[0]
        if inputs.is_constant():
            break
    assert inputs.shape == (12, 2)


@pytest.mark.parametrize(("name", "known"), [("xor", "Xor"), ("SPIRAL", "Spiral")])
def test_names_of_data_sets_in_any_case(name: str, known: str) -> None:
    assert points.dataset_name(name) == known


def test_settings_for_every_data_set() -> None:
    assert points.SMALL.keys() == points.LARGE.keys() == datasets.keys()


def test_no_epochs_is_an_error() -> None:
    with pytest.raises(ValueError, match="epochs must be at least 1"):
        Session("x", RunOptions(), epochs=0, points=1)


# --- Pictures --------------------------------------------------------------------------


def test_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    options = RunOptions(out=tmp_path, live=False)
    code = points.train_points("simple", "simple", options, hidden=2, epochs=2, points=6)
    assert code == OK
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_missing_matplotlib_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    options = RunOptions(out=tmp_path, live=False)
    code = points.train_points("simple", "simple", options, hidden=2, epochs=1, points=4)
    assert code == OK
    log = (tmp_path / "log.txt").read_text()
    assert "No picture: Matplotlib is not installed" in log
    assert "pip install 'minitorch[train]'" in log


# --- Scripts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "arguments", "expected"),
    [
        ("run_manual.py", [], "correct 50/50"),
        ("show_expression.py", [], "MatMul(x, weights)"),
        ("show_expression.py", ["scalar", "--dot"], "digraph expression {"),
        ("run_scalar.py", ["--DATASET", "diag", "--EPOCHS", "2", "--no-picture"], "Epoch 2/2"),
        ("run_tensor.py", ["--RATE", "0.1", "--EPOCHS", "2", "--no-picture"], "Epoch 2/2"),
        (
            "run_fast_tensor.py",
            ["--BACKEND", "cpu", "--HIDDEN", "10", "--DATASET", "split", "--EPOCHS", "2"],
            "Epoch 2/2",
        ),
        (
            "run_scalar.py",
            ["--HIDDEN", "2", "--seed", "6", "--EPOCHS", "70", "--BATCH", "10", "--no-picture"],
            ": both hidden units of the second layer give 0 for all 50 points (dead ReLU). "
            "Try another seed, 10 hidden units, or a lower rate.\n",
        ),
        ("run_torch.py", ["--HIDDEN", "5", "--EPOCHS", "2"], "Epoch 2/2 | loss "),
    ],
)
def test_scripts(tmp_path: Path, script: str, arguments: list[str], expected: str) -> None:
    command = [sys.executable, str(ROOT / "project" / script), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
