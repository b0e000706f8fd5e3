"""Programs in the style of the course's own scripts run as they stand."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import minitorch

BACKEND = minitorch.TensorBackend(minitorch.FastOps)


def random_parameter(*shape: int) -> minitorch.Parameter:
    return minitorch.Parameter(0.1 * (minitorch.rand(shape, backend=BACKEND) - 0.5))


class Linear(minitorch.Module):
    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.weights = random_parameter(in_size, out_size)
        self.bias = minitorch.Parameter(minitorch.zeros((out_size,), backend=BACKEND) + 0.1)
        self.out_size = out_size

    def forward(self, x: Any) -> Any:
        batch, in_size = x.shape
        weights = self.weights.value.view(in_size, self.out_size)
        return (x.view(batch, in_size) @ weights).view(batch, self.out_size) + self.bias.value


# --- Two backends on the CPU -----------------------------------------------------------


@pytest.mark.task3_1
def test_points_on_the_fast_backend_scored_with_simple_labels() -> None:
    """run_fast_tensor.py: the labels of its score are made without naming a backend."""
    random.seed(1)
    data = minitorch.datasets["Simple"](20)
    layer1, layer2 = Linear(2, 6), Linear(6, 1)
    optim = minitorch.SGD([*layer1.parameters(), *layer2.parameters()], 0.5)
    losses, correct = [], 0
    for _ in range(60):
        pairs = list(zip(data.X, data.y, strict=True))
        random.shuffle(pairs)
        shuffled, labels = zip(*pairs, strict=True)
        total = 0.0
        for i in range(0, len(shuffled), 10):
            optim.zero_grad()
            X = minitorch.tensor(shuffled[i : i + 10], backend=BACKEND)
            y = minitorch.tensor(labels[i : i + 10], backend=BACKEND)
            out = layer2.forward(layer1.forward(X).relu()).sigmoid().view(y.shape[0])
            prob = (out * y) + (out - 1.0) * (y - 1.0)
            loss = -prob.log()
            (loss / y.shape[0]).sum().view(1).backward()
            total += loss.sum().view(1)[0]
            optim.step()
        losses.append(total)
        out = layer2.forward(layer1.forward(minitorch.tensor(data.X, backend=BACKEND)).relu())
        y2 = minitorch.tensor(data.y)
        correct = int(((out.sigmoid().view(data.N).detach() > 0.5) == y2).sum()[0])
    assert losses[-1] < losses[0]
    assert correct >= 18


SIMPLE = [[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]]


@pytest.mark.task3_1
@pytest.mark.parametrize("left", ["SimpleOps", "FastOps"])
def test_the_left_tensors_backend_computes(left: str) -> None:
    right = "FastOps" if left == "SimpleOps" else "SimpleOps"
    backends = [minitorch.TensorBackend(getattr(minitorch, ops)) for ops in (left, right)]
    a, b = (minitorch.tensor(SIMPLE, backend=backend) for backend in backends)
    one = minitorch.tensor([2.0, 3.0, 4.0], backend=backends[1])
    for result in (a + b, a * one, a - b, a / one, a < b, a == b, a @ b.permute(1, 0)):
        assert result.backend is a.backend
    (a * one).sum().backward()
    assert a.grad is not None
    assert one.grad is not None
    assert (a.grad.backend.ops, one.grad.backend.ops) == (a.backend.ops, one.backend.ops)
    np.testing.assert_array_equal(one.grad.to_numpy(), np.sum(SIMPLE, 0))
    np.testing.assert_array_equal(a.grad.to_numpy(), [[2.0, 3.0, 4.0]] * 2)
    total = (a + b).sum(1)
    total.backward(minitorch.tensor([[1.0], [2.0]], backend=backends[1]))
    assert b.grad is not None
    np.testing.assert_array_equal(b.grad.to_numpy(), [[1.0] * 3, [2.0] * 3])


# --- Module.mode -----------------------------------------------------------------------


@pytest.mark.task0_4
def test_mode_is_train_or_eval() -> None:
    class Child(minitorch.Module):
        pass

    class Root(minitorch.Module):
        def __init__(self) -> None:
            super().__init__()
            self.child = Child()

    root = Root()
    assert (root.mode, root.child.mode) == ("train", "train")
    root.eval()
    assert (root.mode, root.child.mode) == ("eval", "eval")
    root.train()
    assert root.child.mode == "train"
    root.mode = "mine"  # an attribute like any other
    assert root.mode == "mine"


@pytest.mark.task4_4
def test_a_network_of_images_that_asks_for_its_mode() -> None:
    """run_mnist_multiclass.py: dropout is off where `mode` says eval; classes read one by one."""

    class Network(minitorch.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mid = None
            self.weights = random_parameter(2, 1, 3, 3)
            self.bias = random_parameter(2, 1, 1)
            self.linear = Linear(2 * 2 * 2, 3)

        def forward(self, x: Any) -> Any:
            x = (minitorch.conv2d(x, self.weights.value) + self.bias.value).relu()
            self.mid = x
            x = minitorch.avgpool2d(x, (4, 4)).view(4, 8)
            x = minitorch.dropout(x, 0.25, self.mode == "eval")
            return minitorch.logsoftmax(self.linear(x), dim=1)

    model = Network()
    optim = minitorch.SGD(model.parameters(), 0.1)
    x = minitorch.tensor(np.eye(8).reshape(1, 8, 8).repeat(4, 0).tolist(), backend=BACKEND)
    y = minitorch.tensor([[0.0, 1.0, 0.0]] * 4, backend=BACKEND)
    x.requires_grad_(True)
    y.requires_grad_(True)
    out = model.forward(x.view(4, 1, 8, 8)).view(4, 3)
    loss = -((out * y).sum(1) / y.shape[0]).sum()
    assert loss.backend == BACKEND
    loss.view(1).backward()
    assert 0.0 < 0.0 + loss[0] < 3.0
    optim.step()
    model.eval()
    first = model.forward(x.view(4, 1, 8, 8))
    second = model.forward(x.view(4, 1, 8, 8))
    assert all(first[i, j] == second[i, j] for i in range(4) for j in range(3))
    assert y[0, max(range(3), key=lambda j: first[0, j])] == 1.0
    assert model.mid is not None


@pytest.mark.task4_4
def test_a_network_of_sentences_that_asks_for_its_mode() -> None:
    """run_sentiment.py: channels by permute, the maximum over time, labels read one by one."""

    class Network(minitorch.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = random_parameter(6, 4, 3)
            self.bias = random_parameter(1, 6, 1)
            self.linear = Linear(6, 1)
            self.dropout = 0.25

        def forward(self, embeddings: Any) -> Any:
            x = embeddings.permute(0, 2, 1)
            x = (minitorch.conv1d(x, self.weights.value) + self.bias.value).relu()
            x = minitorch.max(x, 2)
            x = self.linear(x.view(x.shape[0], 6))
            x = minitorch.dropout(x, self.dropout, self.mode == "eval")
            return x.sigmoid().view(x.shape[0])

    model = Network()
    sentence: list[list[Any]] = [[0] * 4] * 5
    sentence[1] = [0.5, -0.25, 1.0, 2.0]
    x = minitorch.tensor([sentence, sentence[::-1]], backend=BACKEND)
    y = minitorch.tensor([1, 0], backend=BACKEND)
    out = model.forward(x)
    prob = (out * y) + (out - 1.0) * (y - 1.0)
    loss = -(prob.log() / y.shape[0]).sum()
    loss.view(1).backward()
    assert all(p.value.grad is not None for p in model.parameters())
    pairs = [(y[j], 1.0 if p > 0.5 else 0) for j, p in enumerate(out.to_numpy())]
    assert [label for label, _ in pairs] == [1.0, 0.0]
