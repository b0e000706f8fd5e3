"""The playground's lesson: against the course's own training, NumPy, and PyTorch's optimizers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from minitorch.app.drawings.network import draw_network, draw_surface, standing_alone
from minitorch.app.epochs import epoch_line, log_text
from minitorch.app.inside import playground
from minitorch.app.inside.network_graph import MOST, graph
from minitorch.app.inside.networks import Plan, Training
from minitorch.app.inside.stalls import explain_output, explain_stall, watch
from minitorch.app.inside.units import dead_units, outputs
from minitorch.app.plans import read_units
from minitorch.datasets import Graph, datasets
from minitorch.training.points import make_trainer
from minitorch.training.session import set_seed

SMALL = {"points": 12, "units": [3, 3], "batch": 5, "epochs": 4, "rate": 0.3}


def course_losses(backend: str) -> list[float]:
    """What the classes of tasks 1.5 and 2.5 give."""
    set_seed(3)
    data = datasets["Xor"](12)
    trainer = make_trainer(backend, 3, 5)
    found: list[float] = []
    trainer.train(data, 0.3, 4, lambda epoch, loss, correct, losses: found.append(loss))
    return found


@pytest.mark.parametrize(("backend", "course"), [("scalar", "scalar"), ("tensor", "simple")])
def test_it_is_the_training_of_the_course(backend: str, course: str) -> None:
    training = Training(Plan(backend=backend, seed=3, **SMALL))
    losses = [training.run_epoch()[0] for _ in range(4)]
    assert losses == pytest.approx(course_losses(course), rel=1e-14)  # sums in another order


@pytest.mark.parametrize("optimiser", ["sgd", "momentum", "adam"])
def test_steps_are_those_of_torch(optimiser: str) -> None:
    torch = pytest.importorskip("torch")
    plan = Plan(backend="scalar", optimiser=optimiser, falls=False, seed=1, **SMALL)
    training = Training(plan)
    start = training.model.read()
    parameters = [torch.tensor(array, requires_grad=True) for array in start]
    make = {
        "sgd": lambda: torch.optim.SGD(parameters, 0.3),
        "momentum": lambda: torch.optim.SGD(parameters, 0.3, momentum=0.9),
        "adam": lambda: torch.optim.Adam(parameters, 0.3),
    }
    theirs = make[optimiser]()
    data = training.train
    for _ in range(3):
        loss, _ = training.model.learn(data)
        training.optimiser.step(0.3)
        theirs.zero_grad()
        values = torch.tensor(data.X, dtype=torch.float64)
        for weights, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
            values = (values @ weights + bias).relu()
        out = (values @ parameters[-2] + parameters[-1]).sigmoid()[:, 0]
        y = torch.tensor(data.y, dtype=torch.float64)
        total = -(out * y + (1 - out) * (1 - y) + 1e-6).log().sum()
        (total / data.N).backward()
        theirs.step()
        assert math.isclose(loss, total.item(), rel_tol=1e-12)
    for mine, other in zip(training.model.read(), parameters, strict=True):
        np.testing.assert_allclose(mine, other.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", ["scalar", "tensor"])
@pytest.mark.parametrize("activation", ["sigmoid", "tanh"])
def test_activations_are_those_of_torch(backend: str, activation: str) -> None:
    torch = pytest.importorskip("torch")
    training = Training(Plan(backend=backend, activation=activation, seed=2, **SMALL))
    parameters = [torch.tensor(array, requires_grad=True) for array in training.model.read()]
    values = torch.tensor(training.train.X, dtype=torch.float64)
    for weights, bias in zip(parameters[:-2:2], parameters[1:-2:2], strict=True):
        values = getattr(torch, activation)(values @ weights + bias)
    out = (values @ parameters[-2] + parameters[-1]).sigmoid()[:, 0]
    found = outputs(training.model.read(), training.train.X, activation)
    np.testing.assert_allclose(found[-1][:, 0], out.detach().numpy(), rtol=1e-12)
    y = torch.tensor(training.train.y, dtype=torch.float64)
    (-(out * y + (1 - out) * (1 - y) + 1e-6).log().mean()).backward()
    training.model.learn(training.train)
    for mine, theirs in zip(training.model.gradients(), parameters, strict=True):
        np.testing.assert_allclose(mine, theirs.grad.numpy(), rtol=1e-9, atol=1e-12)
    assert dead_units(training.model.read(), training.train.X, activation) == [set(), set()]


def test_losses_are_of_a_point() -> None:
    """One unit for the line, the table, the curves and the log: the mean over the points."""
    plan = {"backend": "scalar", "test": 0.25, **SMALL}
    steps = playground.train(**plan)
    next(steps)
    part = next(steps)
    training = Training(Plan(**plan))
    total, _ = training.run_epoch()
    assert part["loss"] == pytest.approx(total / 9, rel=1e-12)
    assert part["test_loss"] == pytest.approx(training.model.judge(training.test)[0] / 3, rel=1e-12)


def test_the_graph_of_the_network_that_is_trained() -> None:
    plan = {"backend": "tensor", "points": 8, "units": [3], "seed": 0}
    arrays = [array.tolist() for array in Training(Plan(**plan)).model.read()]
    found = graph(arrays, **plan)
    labels = [node["label"] for node in found["nodes"]]
    assert labels[0] == "Sum"
    assert labels.count("ReLU") == labels.count("Sigmoid") == 1
    parameters = {n["label"]: n["shape"] for n in found["nodes"] if n["kind"] == "parameter"}
    assert parameters == {
        "layer1.weights": [2, 3], "layer1.bias": [3], "layer2.weights": [3, 1], "layer2.bias": [1],
    }  # fmt: skip
    relu = labels.index("ReLU")
    assert {"from", "to", "shape"} == set(found["arrows"][0])
    assert next(a["shape"] for a in found["arrows"] if a["from"] == relu) == [4, 3]
    big = {"backend": "scalar", "points": 8, "units": [20, 20], "seed": 0}
    arrays = [array.tolist() for array in Training(Plan(**big)).model.read()]
    many = graph(arrays, **big)
    assert many["count"] > MOST
    assert "nodes" not in many


def test_points_are_split_moved_and_the_same_for_a_seed() -> None:
    plan = Plan(points=20, test=0.25, noise=0.1, seed=5, backend="scalar", units=[2])
    first, again = Training(plan), Training(plan)
    assert (first.train.N, first.test.N) == (15, 5)
    assert first.train == again.train
    plain = Training(Plan(points=20, seed=5, backend="scalar", units=[2])).train
    assert not set(plain.X) & set(first.train.X)
    assert all(0 <= x <= 1 for point in first.train.X for x in point)
    assert sorted(first.train.y + first.test.y) == sorted(plain.y)


def test_a_run_yields_epochs_hears_edits_and_pauses_at_its_end() -> None:
    steps = playground.train(backend="scalar", test=0.25, **SMALL)
    begun = next(steps)
    assert len(begun["now"]["points"]["train"]["X"]) == 9
    first = next(steps)
    assert (first["epoch"], len(first["now"]["weights"])) == (1, 6)
    answer = steps.send({"edits": [[0, [1, 2], 7.5], [1, [0], -3.0]]})
    assert "epoch" not in answer
    assert answer["now"]["weights"][0][1][2] == 7.5
    assert answer["now"]["weights"][1][0] == -3.0
    parts = [next(steps) for _ in range(4)]
    assert [part.get("epoch") for part in parts] == [2, 3, 4, None]
    assert parts[-1]["pause"]
    assert next(steps)["pause"]


def test_outputs_are_what_the_library_gives() -> None:
    training = Training(Plan(backend="scalar", points=6, units=[4, 3, 2], seed=2))
    wanted = [training.model.forward(x).data for x in training.train.X]  # type: ignore[attr-defined]
    found = outputs(training.model.read(), training.train.X)
    np.testing.assert_allclose(found[-1][:, 0], wanted, rtol=1e-12)
    assert [values.shape for values in found] == [(6, 2), (6, 4), (6, 3), (6, 2), (6, 1)]


def network(*layers: tuple[list[list[float]], list[float]]) -> list[np.ndarray]:
    return [np.array(array, float) for layer in layers for array in layer]


def test_a_stall_is_explained_at_any_depth() -> None:
    data = Graph(2, [(0.1, 0.2), (0.8, 0.9)], [0, 1])
    alive = ([[1.0, 1.0], [1.0, 1.0]], [0.0, 0.0])
    dead = ([[-1.0, -1.0], [-1.0, -1.0]], [-1.0, -1.0])
    last = ([[1.0], [1.0]], [0.0])
    arrays = network(alive, alive, dead, last)
    assert [len(units) for units in dead_units(arrays, data.X)] == [0, 0, 2]
    three, one = Plan(units=[2, 2, 2]), Plan(units=[2])
    assert explain_stall(arrays, three, data) == (
        "both hidden units of the third layer give 0 for all 2 points (dead ReLU). "
        "Try another seed, 10 hidden units, or a lower rate."
    )
    sure = network(alive, ([[-90.0], [-90.0]], [0.0]))
    assert "for 1 wrong point the output is 0 or 1 to six places" in explain_stall(sure, one, data)
    assert "no unit is dead" in explain_stall(network(alive, last), one, data)


def test_a_rate_that_is_too_high_is_named() -> None:
    training = Training(Plan(backend="scalar", points=6, units=[2], rate=50.0))
    assert watch([4.0], 3, training) == ""
    assert "rate 50 is too high for this network. Try 5" in watch([4.0, math.nan], 0, training)
    assert "went up from 4 to 80:" in watch([4.0, *[80.0] * 40], 3, training)
    assert "stands still since epoch 1: " in watch([4.0, *[4.0] * 40], 3, training)
    assert watch([4.0, *[4.0] * 40], 6, training) == ""  # all points right
    training.model.write([np.zeros((2, 2)), -np.ones(2), np.ones((2, 1)), np.ones(1)])
    assert watch([4.0], 3, training).startswith("The network can learn no more: both hidden units")


@pytest.mark.parametrize("backend", ["scalar", "tensor", "torch"])
def test_code_that_gives_something_else_than_its_weights_is_found(backend, monkeypatch) -> None:
    training = Training(Plan(backend=backend, points=6, units=[3]))
    assert explain_output(training) == ""
    right, off = training.model.give(training.train.X), np.array([0, 0, 0.01, 0])
    monkeypatch.setattr(training.model, "give", lambda X: right[: len(X)] + off)
    x1, x2 = training.train.X[2]
    assert explain_output(training).startswith(
        f"For the point ({x1:.3f}, {x2:.3f}) this code gives"
    )


def test_every_backend_is_timed() -> None:
    plan = {**SMALL, "points": 4, "units": [2]}
    rows = list(playground.time_backends(["scalar", "tensor"], **plan))
    assert [row["backend"] for row in rows] == ["scalar", "tensor"]
    assert all(row["seconds"] > 0 and row["batches"] >= row["of"] for row in rows)


@pytest.mark.parametrize(
    ("text", "units"),
    [("10, 10", [10, 10]), ("7", [7]), ("4;3,2 , 1", [4, 3, 2, 1]), ("", None), ("ten", None),
     ("0", None), ("200", [200]), ("201", None), ("1,2,3,4,5", None), ("-3", None), ("2.5", None), ("__import__", None)],
)  # fmt: skip
def test_units_are_read_not_executed(text: str, units: list[int] | None) -> None:
    assert read_units(text) == units


def test_the_log_has_the_one_format() -> None:
    rows = [
        {"epoch": n, "loss": 0.5 + n / 8, "correct": 40 + n, "seconds": 1.0 if n == 1 else 0.5}
        for n in range(1, 4)
    ]
    assert epoch_line(rows, 500, 50) == "Epoch 3/500 | loss 0.8750 | correct 43/50 | 0.500 s/epoch"
    assert log_text(rows, 500, 50).splitlines()[0] == (
        "Epoch 1/500 | loss 0.6250 | correct 41/50 | 1.000 s/epoch"
    )


def test_the_picture_stands_alone() -> None:
    training = Training(Plan(backend="scalar", points=6, test=0.5, units=[12, 3]))
    arrays = training.model.read()
    points = {
        name: {"X": data.X, "y": data.y}
        for name, data in [("train", training.train), ("test", training.test)]
    }
    drawn = draw_network(arrays, training.train.X)
    text = str(drawn)
    assert "and 2 more" in text
    assert 'data-id="w-2-9-2"' in text
    whole = standing_alone([drawn, draw_surface(arrays, points)], "xor")
    assert "var(" not in whole
    assert ElementTree.fromstring(whole).tag.endswith("svg")
