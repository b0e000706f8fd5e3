"""Tasks 0.5 to 4.5: layers and networks, by NumPy's formulas, and what they learn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import minitorch
from minitorch import Scalar, datasets, tensor
from minitorch.datasets import Graph

from .strategies import Array


def sigmoid(x: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-x))


def share_right(trainer: Any, data: Graph) -> float:
    out = trainer.run_many(data.X)
    chances = out.to_numpy().reshape(-1) if hasattr(out, "to_numpy") else [p.data for p in out]
    return float(np.mean([(p > 0.5) == (y == 1) for p, y in zip(chances, data.y, strict=True)]))


# --- Task 0.5 ------------------------------------------------------------------------------------


@pytest.mark.task0_5
def test_a_line_is_a_weighted_sum() -> None:
    from minitorch.training.manual_points import Linear, Network

    assert Linear(2.0, 3.0, -1.0)(1.0, 1.0) == 4.0
    assert Linear(2.0, 3.0, -1.0)(0.5, -1.0) == -3.0
    assert Network(-1.0, 0.0, 0.5)((0.5, 0.9)) == 0.5
    np.testing.assert_allclose(Network(2.0, 3.0, -1.0)((1.0, 1.0)), sigmoid(np.array(4.0)))


@pytest.mark.task0_5
@pytest.mark.parametrize("name", ["Simple", "Diag"])
def test_all_points_are_on_their_side(name: str) -> None:
    from minitorch.training import manual_points

    random.seed(3)
    line = manual_points.simple_line() if name == "Simple" else manual_points.diag_line()
    data = datasets[name](200)
    right, _ = manual_points.ManualTrain(*line).score(data)
    assert right == 200, f"{name}: {right} of 200 points are on their side of {line}"


# --- Tasks 1.5, 2.5, 3.5 -------------------------------------------------------------------------


def by_numpy(weights: list[Array], biases: list[Array], points: Array) -> Array:
    hidden = points
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        hidden = np.maximum(hidden @ w + b, 0.0)
    return sigmoid(hidden @ weights[-1] + biases[-1])


@pytest.mark.task1_5
def test_a_layer_of_scalars() -> None:
    from minitorch.training.scalar_points import Linear

    random.seed(1)
    layer = Linear(3, 2)
    layer.bias[1].update(Scalar(5.0))
    weights = np.array([[w.value.data for w in row] for row in layer.weights])
    bias = np.array([b.value.data for b in layer.bias])
    inputs = [0.5, -2.0, 3.0]
    out = [o.data for o in layer([Scalar(x) for x in inputs])]
    np.testing.assert_allclose(out, np.array(inputs) @ weights + bias)


@pytest.mark.task1_5
def test_a_network_of_scalars() -> None:
    from minitorch.training.scalar_points import Network

    random.seed(2)
    network = Network(4)
    layers = [network.layer1, network.layer2, network.layer3]
    weights = [np.array([[w.value.data for w in row] for row in n.weights]) for n in layers]
    biases = [np.array([b.value.data for b in n.bias]) for n in layers]
    for point in [(0.1, 0.9), (0.7, 0.2), (-1.0, 2.0)]:
        out = network([Scalar(x) for x in point])
        expected = by_numpy(weights, biases, np.array([point]))[0, 0]
        np.testing.assert_allclose(out.data, expected)
    first, second = network.hidden([Scalar(0.1), Scalar(0.9)])
    assert min(h.data for h in [*first, *second]) >= 0.0


@pytest.mark.task1_5
def test_every_scalar_of_a_network_gets_a_derivative() -> None:
    from minitorch.training.scalar_points import Network

    random.seed(2)
    network = Network(3)
    network([Scalar(0.1), Scalar(0.9)]).backward()
    without = [name for name, p in network.named_parameters() if p.value.derivative is None]
    assert without == []


@pytest.mark.task1_5
def test_scalars_learn() -> None:
    """Nine of ten points that it was not trained on are right, as the guide asks."""
    from minitorch.training.scalar_points import ScalarTrain

    random.seed(0)
    trainer = ScalarTrain(3)
    trainer.train(datasets["Simple"](30), 0.5, 40, log_fn=lambda *_: None)
    assert share_right(trainer, datasets["Simple"](50)) >= 0.9


@pytest.mark.task2_5
def test_a_layer_of_tensors() -> None:
    from minitorch.training.tensor_points import Linear

    random.seed(1)
    layer = Linear(3, 2)
    layer.bias.update(tensor([5.0, -1.0]))
    points = np.array([[0.5, -2.0, 3.0], [1.0, 0.0, -1.0]])
    out = layer(tensor(points.tolist()))
    expected = points @ layer.weights.value.to_numpy() + np.array([5.0, -1.0])
    np.testing.assert_allclose(out.to_numpy(), expected)


@pytest.mark.task2_5
def test_a_network_of_tensors() -> None:
    from minitorch.training.tensor_points import Network

    random.seed(2)
    network = Network(4)
    layers = [network.layer1, network.layer2, network.layer3]
    weights = [n.weights.value.to_numpy() for n in layers]
    biases = [n.bias.value.to_numpy() for n in layers]
    points = [[0.1, 0.9], [0.7, 0.2], [-1.0, 2.0]]
    out = network(tensor(points))
    np.testing.assert_allclose(out.to_numpy(), by_numpy(weights, biases, np.array(points)))
    first, second = network.hidden(tensor(points))
    assert min(first.to_numpy().min(), second.to_numpy().min()) >= 0.0


@pytest.mark.task2_5
def test_every_tensor_of_a_network_gets_a_gradient() -> None:
    from minitorch.training.tensor_points import Network

    random.seed(2)
    network = Network(3)
    network(tensor([[0.1, 0.9], [0.7, 0.2]])).sum().backward()
    without = [name for name, p in network.named_parameters() if p.value.grad is None]
    assert without == []


@pytest.mark.task2_5
def test_tensors_learn() -> None:
    """Nine of ten points that it was not trained on are right, as the guide asks."""
    from minitorch.training.tensor_points import TensorTrain

    random.seed(0)
    trainer = TensorTrain(3)
    trainer.train(datasets["Simple"](30), 0.5, 25, log_fn=lambda *_: None)
    assert share_right(trainer, datasets["Simple"](50)) >= 0.9


@pytest.mark.task3_5
def test_the_fast_network_is_fast() -> None:
    from minitorch.fast_ops import FastOps
    from minitorch.training.tensor_points import FastTrain

    trainer = FastTrain(4)
    assert issubclass(trainer.model.layer1.weights.value.f.ops, FastOps)
    assert FastTrain(4, minitorch.SimpleBackend, batch=3).batch == 3


@pytest.mark.task3_5
def test_compiled_kernels_learn() -> None:
    """Nine of ten points that it was not trained on are right, as the guide asks."""
    from minitorch.training.tensor_points import FastTrain

    random.seed(0)
    trainer = FastTrain(6)
    trainer.train(datasets["Diag"](50), 0.5, 40, log_fn=lambda *_: None)
    assert share_right(trainer, datasets["Diag"](50)) >= 0.9


# --- Task 4.5 ------------------------------------------------------------------------------------


def correlate(x: Array, weight: Array) -> Array:
    """(b, c, *s) and (o, c, *k) -> (b, o, *s): windows anchored at their first corner, 0 outside."""
    sizes, kernel = x.shape[2:], weight.shape[2:]
    padded = np.pad(x, [(0, 0), (0, 0), *[(0, k - 1) for k in kernel]])
    out = np.zeros((x.shape[0], weight.shape[0], *sizes))
    for place in np.ndindex(*kernel):
        part = padded[(..., *[slice(p, p + s) for p, s in zip(place, sizes, strict=True)])]
        out += np.einsum("bc...,oc->bo...", part, weight[(..., *place)])
    return out


@pytest.mark.task4_5
@pytest.mark.parametrize(
    ("name", "kernel", "sizes"), [("Conv1d", (2,), (5,)), ("Conv2d", (2, 3), (4, 5))]
)
def test_convolutional_layers(name: str, kernel: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    from minitorch.training import layers

    layer = getattr(layers, name)(2, 3, *kernel)
    bias = np.array([1.0, -2.0, 3.0]).reshape(layer.bias.value.shape)
    layer.bias.update(layers.constant(bias, layers.fast_backend()))
    x = np.random.default_rng(0).normal(size=(2, 2, *sizes))
    out = layer(layers.constant(x, layers.fast_backend())).to_numpy()
    expected = correlate(x, layer.weights.value.to_numpy())
    expected += np.array([1.0, -2.0, 3.0]).reshape(3, *[1] * len(sizes))
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.task4_5
def test_a_network_for_images() -> None:
    from minitorch.training.images import ImageTrain, Network

    model = Network(8, 2)
    model.eval()
    images = np.random.default_rng(1).normal(size=(3, 8, 8))
    out = ImageTrain(model).run_many(images).to_numpy()
    hidden = images[:, None]
    for layer in (model.conv1, model.conv2):
        hidden = correlate(hidden, layer.weights.value.to_numpy()) + layer.bias.value.to_numpy()
        hidden = np.maximum(hidden, 0.0)
    pooled = hidden.reshape(3, 8, 4, 2, 4, 2).mean((3, 5)).reshape(3, -1)
    first, second = model.linear1, model.linear2
    hidden = np.maximum(pooled @ first.weights.value.to_numpy() + first.bias.value.to_numpy(), 0.0)
    scores = hidden @ second.weights.value.to_numpy() + second.bias.value.to_numpy()
    expected = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    np.testing.assert_allclose(out, expected, atol=1e-5)
    assert model.mid.shape == (3, 4, 8, 8)
    assert model.out.shape == (3, 8, 8, 8)


@pytest.mark.task4_5
def test_a_network_for_sentences() -> None:
    from minitorch.training.layers import constant
    from minitorch.training.sentences import CNNSentimentKim

    random.seed(4)
    model = CNNSentimentKim(3, 4)
    model.eval()
    rng = np.random.default_rng(2)
    for width in model.filter_sizes:
        layer = getattr(model, f"linear{width}")
        layer.weights.update(constant(rng.normal(size=(3, 1)), model.backend))
    words = rng.normal(size=(2, 7, 4))
    total = np.zeros((2, 1))
    for width in model.filter_sizes:
        convolution, linear = getattr(model, f"conv{width}"), getattr(model, f"linear{width}")
        found = correlate(words.transpose(0, 2, 1), convolution.weights.value.to_numpy())
        best = np.maximum((found + convolution.bias.value.to_numpy()).max(2), 0.0)
        total += best @ linear.weights.value.to_numpy() + linear.bias.value.to_numpy()
    out = model(constant(words, model.backend))
    assert out.shape == (2,)
    np.testing.assert_allclose(out.to_numpy(), sigmoid(total)[:, 0], atol=1e-12)


@pytest.mark.task4_5
def test_dropout_only_while_training() -> None:
    from minitorch.training.images import ImageTrain, Network

    random.seed(5)
    model = Network(8, 2, rate=0.5)
    images = np.random.default_rng(3).normal(size=(2, 8, 8))
    trainer = ImageTrain(model)
    first, second = (trainer.run_many(images).to_numpy() for _ in range(2))
    assert not np.allclose(first, second)
    model.eval()
    first, second = (trainer.run_many(images).to_numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.task4_5
def test_a_large_batch_of_images_is_learned() -> None:
    """Bars that stand or lie: all of them are told apart, as the guide asks."""
    from minitorch.training.images import ImageTrain, Network, one_hot

    random.seed(6)
    kinds = [kind for kind in (0, 1) for _ in range(8)] * 2
    images = np.zeros((32, 8, 8))
    for i, kind in enumerate(kinds):
        images[i, :, i % 8] += kind
        images[i, i % 8, :] += 1 - kind
    trainer = ImageTrain(Network(8, 2, rate=0.0), batch=8)
    data = (images, one_hot(kinds))
    trainer.train(data, data, 0.3, 12, log_fn=lambda *_: None)
    assert trainer.count_correct(data) == 32
