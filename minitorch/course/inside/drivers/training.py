"""Property tests, layers, networks, and what they have learned from points and images."""

from __future__ import annotations

import random
from math import sin
from types import SimpleNamespace
from typing import Any

import numpy as np

from minitorch import operators, properties
from minitorch.datasets import Graph

from .values import values

# --- Task 0.2 ------------------------------------------------------------------------------------


def noticed(name: str, arguments: str, body: str) -> bool:
    """Whether the property tests object to one operator, written otherwise."""
    ops = SimpleNamespace(**{n: f for n, f in vars(operators).items() if callable(f)})
    setattr(ops, name, eval(f"lambda {arguments}: {body}", {"math": operators.math}))
    return any(_objects(test, ops) for test in _PROPERTIES)


def false_alarms() -> list[str]:
    """The property tests that object to operators as they are."""
    return [test for test in _PROPERTIES if _objects(test, operators)]


_PROPERTIES = {
    "arithmetic_properties": 3,
    "comparison_properties": 3,
    "sigmoid_properties": 2,
    "relu_properties": 2,
}
"""How many numbers each property test takes."""


def _objects(test: str, ops: Any) -> bool:
    for numbers in _triples():
        try:
            getattr(properties, test)(ops, *numbers[: _PROPERTIES[test]])
        except NotImplementedError:
            raise
        except Exception:  # AssertionError, or what a wrong operator leads to
            return True
    return False


def _triples() -> list[tuple[float, ...]]:
    """Numbers as a property test gets them: some are 0, some are equal, some near each other."""
    source = random.Random(7 + round(1000 * values(1)[0]))
    triples = [
        (0.0, 0.0, 0.0),
        (1.0, 2.0, 3.0),
        (2.0, 2.0, -1.0),
        (-3.0, 2.0, 1.5),
        (0.5, -0.5, 0.0),
    ]
    for _ in range(60):
        x, y, z = (round(source.uniform(-100.0, 100.0), 3) for _ in range(3))
        near = round(x + source.choice([-1, 1]) * source.choice([0.002, 0.007, 0.02, 0.05]), 3)
        triples += [(x, y, z), (x, x, z), (x, near, z), (round(x / 50, 3), round(y / 50, 3), z)]
    return triples


# --- Task 0.5 ------------------------------------------------------------------------------------


def by_hand(w1: float, w2: float, bias: float, points: list[tuple[float, float]]) -> list[float]:
    """The probabilities that a line gives points."""
    from minitorch.training.manual_points import ManualTrain

    return ManualTrain(w1, w2, bias).run_many(points)


def sides(name: str, points: list[tuple[float, float]]) -> list[bool]:
    """On which side of the line, set by hand for a data set, points are."""
    from minitorch.training import manual_points

    line = getattr(manual_points, f"{name.lower()}_line")()
    return [p > 0.5 for p in manual_points.ManualTrain(*line).run_many(points)]


# --- Tasks 1.5, 2.5, 3.5 ---------------------------------------------------------------------------


def _trainer(kind: str, hidden: int) -> Any:
    from minitorch.training import scalar_points, tensor_points

    classes = {
        "scalar": scalar_points.ScalarTrain,
        "tensor": tensor_points.TensorTrain,
        "fast": tensor_points.FastTrain,
    }
    return classes[kind](hidden)


def _waves(count: int) -> list[float]:
    """So many numbers of both signs, not large."""
    return [0.5 * sin(v) for v in values(count)]


def _fill(module: Any) -> None:
    """Give every parameter of a module numbers of ours."""
    from minitorch import Scalar, Tensor, tensor

    for parameter in module.parameters():
        old = parameter.value
        if isinstance(old, Tensor):
            new = tensor(_waves(old.size), old.backend).view(*old.shape).detach()
            parameter.update(new)
    numbers = [p for p in module.parameters() if isinstance(p.value, Scalar)]
    for parameter, number in zip(numbers, _waves(len(numbers)), strict=True):
        parameter.update(Scalar(number))


def _numbers(out: Any) -> list[float]:
    from minitorch import Tensor

    if isinstance(out, Tensor):
        return [float(x) for x in out.to_numpy().reshape(-1)]
    return [float(x.data) for x in out]


def layer_of(kind: str, in_size: int, out_size: int, *inputs: float) -> list[float]:
    """What a Linear layer makes of a point."""
    from minitorch import Scalar, tensor
    from minitorch.training import scalar_points, tensor_points

    if kind == "scalar":
        layer: Any = scalar_points.Linear(in_size, out_size)
        _fill(layer)
        return _numbers(layer([Scalar(x) for x in inputs]))
    layer = tensor_points.Linear(in_size, out_size)
    _fill(layer)
    rows = [list(inputs), [2.0 * x + 1.0 for x in inputs]]
    return _numbers(layer(tensor(rows)))


def network_of(kind: str, hidden: int, *points: tuple[float, float]) -> list[Any]:
    """The probabilities that a network gives points, and the derivatives of their sum."""
    trainer = _trainer(kind, hidden)
    _fill(trainer.model)
    return _with_derivatives(trainer.model, trainer.run_many(list(points)))


def _with_derivatives(model: Any, out: Any) -> list[Any]:
    """What a model gives, and the derivatives of the sum for each of its parameters."""
    from minitorch import Tensor

    tensors = isinstance(out, Tensor)
    total: Any = out.sum() if tensors else sum(out[1:], start=out[0])
    total.backward()
    parameters = [parameter.value for parameter in model.parameters()]
    grads = [p.grad if tensors else p.derivative for p in parameters]
    found = [_numbers(d) if isinstance(d, Tensor) else [d] for d in grads]
    return [_numbers(out), *found]


def operations_of(hidden: int) -> str:
    """The name of the operations that a network of task 3.5 computes with."""
    trainer = _trainer("fast", hidden)
    return trainer.model.layer1.weights.value.f.ops.__name__


def learned(
    kind: str,
    points: list[tuple[float, float]],
    labels: list[int],
    asked: list[tuple[float, float]],
    hidden: int = 6,
    epochs: int = 40,
) -> list[float]:
    """The probabilities of points after training on others."""
    trainer = _trainer(kind, hidden)
    trainer.train(Graph(len(points), points, labels), 0.5, epochs, log_fn=lambda *_: None)
    return _numbers(trainer.run_many(asked))


# --- Task 4.5 ------------------------------------------------------------------------------------


def convolution_layer(name: str, in_channels: int, out_channels: int, *sizes: int) -> list[float]:
    """What a layer makes of an input of two: sizes of the kernel, then of the input."""
    from minitorch.training import layers

    dims = len(sizes) // 2
    layer = getattr(layers, name)(in_channels, out_channels, *sizes[:dims])
    _fill(layer)
    shape = (2, in_channels, *sizes[dims:])
    numbers = np.reshape(_waves(int(np.prod(shape))), shape)
    return _numbers(layer(layers.constant(numbers, layers.fast_backend())))


def _scored_images(size: int, pool: int, count: int) -> tuple[Any, Any]:
    """A network for images, and what it says of some, without dropout."""
    from minitorch.training.images import ImageTrain, Network

    trainer = ImageTrain(Network(size, pool))
    _fill(trainer.model)
    trainer.model.eval()
    images = np.reshape(_waves(count * size * size), (count, size, size))
    return trainer.model, trainer.run_many(images)


def image_scores(size: int, pool: int, count: int) -> list[float]:
    return _numbers(_scored_images(size, pool, count)[1])


def image_derivatives(size: int, pool: int, count: int) -> list[list[float]]:
    return _with_derivatives(*_scored_images(size, pool, count))


def _scored_sentences(length: int, count: int) -> tuple[Any, Any]:
    """A network for sentences, and what it says of some, without dropout."""
    from minitorch.training.layers import constant
    from minitorch.training.sentences import CNNSentimentKim

    model = CNNSentimentKim(3, 4)
    _fill(model)
    model.eval()
    words = np.reshape(_waves(count * length * 4), (count, length, 4))
    return model, model(constant(words, model.backend))


def sentence_scores(length: int, count: int) -> list[float]:
    return _numbers(_scored_sentences(length, count)[1])


def sentence_derivatives(length: int, count: int) -> list[list[float]]:
    return _with_derivatives(*_scored_sentences(length, count))


def learned_images(
    images: list[list[float]], labels: list[int], asked: list[list[float]], epochs: int = 30
) -> list[float]:
    """How sure a network is, after training on small square images, that others have label 1."""
    from minitorch.training.images import ImageTrain, Network, one_hot

    size = round(len(images[0]) ** 0.5)
    trainer = ImageTrain(Network(size, 2, rate=0.0), batch=8)
    data = (np.reshape(images, (-1, size, size)), one_hot(labels))
    none = (np.zeros((0, size, size)), np.zeros((0, 10)))
    trainer.train(data, none, 0.3, epochs, log_fn=lambda *_: None)
    trainer.model.eval()
    out = trainer.run_many(np.reshape(asked, (-1, size, size))).to_numpy()
    return [float(np.exp(row[1])) for row in out]
