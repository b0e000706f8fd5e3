"""Networks that separate points: on scalars, on tensors of any backend, and on Torch.

All start from the same weights for the same seed and are trained by the same loop, so that their
numbers can be compared. With two hidden layers and no test points this is, number for number, the
training of tasks 1.5, 2.5 and 3.5.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

import minitorch
from minitorch.datasets import Graph, Point
from minitorch.training import scalar_points, tensor_points
from minitorch.training.batches import shuffled_batches
from minitorch.training.checkpoint import set_seed
from minitorch.training.weights import weights_and_bias

from .units import Array

BACKENDS = ("torch", "scalar", "tensor", "fast", "cuda")


@dataclass(frozen=True)
class Plan:
    """What to train on, which network, and how.

    Attributes:
        data: the name of a data set
        points: how many points, those for testing included
        noise: how far points are moved at random, as a standard deviation
        test: the share of the points that is kept for testing
        units: of each hidden layer
        rate: the learning rate of the first epoch
        falls: whether the rate falls to 0 in a straight line, as in the course
        batch: points in each step
        activation: of the hidden units: `relu`, `sigmoid` or `tanh`
        optimiser: `sgd`, `momentum` or `adam`
        seed: of all random numbers
        epochs: how often to go through the points
        backend: one of `BACKENDS`
    """

    data: str = "Xor"
    points: int = 50
    noise: float = 0.0
    test: float = 0.0
    units: Sequence[int] = (10, 10)
    rate: float = 0.1
    falls: bool = True
    batch: int = 10
    activation: str = "relu"
    optimiser: str = "sgd"
    seed: int = 0
    epochs: int = 500
    backend: str = "fast"


# --- Points ------------------------------------------------------------------------------------


def make_points(plan: Plan) -> tuple[Graph, Graph]:
    """The points to train on and those to test on."""
    whole = minitorch.datasets[plan.data](plan.points)
    whole = Graph(whole.N, [_moved(x, plan, i) for i, x in enumerate(whole.X)], whole.y)
    count = round(plan.test * plan.points)
    kept = set(random.Random(plan.seed).sample(range(whole.N), count))
    return _part(whole, [i for i in range(whole.N) if i not in kept]), _part(whole, sorted(kept))


def _moved(point: Point, plan: Plan, number: int) -> Point:
    """A point after noise, still in the unit square; without noise, the point itself."""
    if not plan.noise:
        return point
    dice = random.Random(1_000_003 * plan.seed + number)
    x1, x2 = (min(max(x + dice.gauss(0.0, plan.noise), 0.0), 1.0) for x in point)
    return x1, x2


def _part(data: Graph, chosen: Sequence[int]) -> Graph:
    return Graph(len(chosen), [data.X[i] for i in chosen], [data.y[i] for i in chosen])


# --- Models ------------------------------------------------------------------------------------


class Model(Protocol):
    """A network with its parameters, on some backend."""

    def learn(self, batch: Graph) -> tuple[float, int]:
        """Leave the gradients of the mean loss; the total loss and the number of right points."""
        ...

    def judge(self, data: Graph) -> tuple[float, int]:
        """The total loss and the number of right points, without learning."""
        ...

    def give(self, points: Sequence[Point]) -> Array:
        """The probability of label 1 for each point."""
        ...

    def descend(self, rate: float) -> None:
        """One step of the library's SGD."""
        ...

    def read(self) -> list[Array]:
        """Weights (inputs, outputs) and bias of each layer, in turn."""
        ...

    def gradients(self) -> list[Array]:
        """The gradients, in the order of `read`."""
        ...

    def write(self, arrays: Sequence[Array]) -> None:
        """Replace all parameters."""
        ...


def make_model(plan: Plan) -> Model:
    """A new network, its weights drawn from Python's `random`."""
    sizes = [2, *plan.units, 1]
    if plan.backend == "torch":
        return TorchModel(sizes, plan.activation)
    if plan.backend == "scalar":
        return ScalarModel(sizes, plan.activation)
    return TensorModel(sizes, plan.activation, find_backend(plan.backend))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: x.relu(),
    "sigmoid": lambda x: x.sigmoid(),
    "tanh": lambda x: 2.0 * (2.0 * x).sigmoid() - 1.0,  # the course's library has no other
}
"""What a hidden unit makes of its sum, on Scalars and Tensors."""


def find_backend(name: str) -> minitorch.TensorBackend:
    """The backend that computes on tensors."""
    if name == "tensor":
        return minitorch.SimpleBackend
    return minitorch.TensorBackend(minitorch.FastOps if name == "fast" else minitorch.CudaOps)


class Layers(minitorch.Module):
    """Linear layers, one after the other, filed as layer1, layer2 and so on."""

    def __init__(self, layers: Sequence[minitorch.Module]) -> None:
        super().__init__()
        self.all = list(layers)
        for number, layer in enumerate(layers, 1):
            setattr(self, f"layer{number}", layer)


def _linear_layers(make: Callable[..., Any], sizes: Sequence[int], *more: Any) -> Layers:
    pairs = list(pairwise(sizes))
    return Layers([make(n, m, *more, reads_points=i == 0) for i, (n, m) in enumerate(pairs)])


class ScalarModel:
    """Every number a Scalar."""

    def __init__(self, sizes: Sequence[int], activation: str = "relu") -> None:
        self.activate = ACTIVATIONS[activation]
        self.network = _linear_layers(scalar_points.Linear, sizes)
        self.parameters = self.network.parameters()

    def forward(self, point: Point) -> minitorch.Scalar:
        """The probability of label 1."""
        values: list[Any] = [minitorch.Scalar(x, back=None) for x in point]
        *hidden, last = self.network.all
        for layer in hidden:
            values = [self.activate(value) for value in layer(values)]
        return last(values)[0].sigmoid()

    def give(self, points: Sequence[Point]) -> Array:
        """Point by point."""
        return np.array([float(self.forward(point).data) for point in points])

    def loss(self, point: Point, label: int) -> tuple[minitorch.Scalar, minitorch.Scalar]:
        """The probability of the right label, and the loss, of one point."""
        out = self.forward(point)
        prob = out if label == 1 else 1.0 - out
        return prob, -prob.log()

    def learn(self, batch: Graph) -> tuple[float, int]:
        """Point by point: derivatives add up."""
        minitorch.SGD(self.parameters, 0.0).zero_grad()
        return self._pass(batch, True)

    def judge(self, data: Graph) -> tuple[float, int]:
        """Forward only."""
        return self._pass(data, False)

    def _pass(self, data: Graph, learn: bool) -> tuple[float, int]:
        total, correct = 0.0, 0
        for x, y in zip(data.X, data.y, strict=True):
            prob, loss = self.loss(x, y)
            if learn:
                (loss / data.N).backward()
            total += loss.data
            correct += prob.data > 0.5
        return total, correct

    def descend(self, rate: float) -> None:
        """The library's SGD."""
        minitorch.SGD(self.parameters, rate).step()

    def read(self) -> list[Array]:
        """Numbers out of the Scalars."""
        return self._arrays(lambda p: p.value.data)

    def gradients(self) -> list[Array]:
        """Derivatives out of the Scalars."""
        return self._arrays(lambda p: p.value.derivative or 0.0)

    def _arrays(self, number: Callable[[Any], float]) -> list[Array]:
        found = []
        for layer in self.network.all:
            found.append(np.array([[number(p) for p in row] for row in layer.weights]))
            found.append(np.array([number(p) for p in layer.bias]))
        return found

    def write(self, arrays: Sequence[Array]) -> None:
        """Numbers into new Scalars."""
        for layer, weights, bias in zip(self.network.all, arrays[::2], arrays[1::2], strict=True):
            for i, row in enumerate(layer.weights):
                for j, parameter in enumerate(row):
                    parameter.update(minitorch.Scalar(float(weights[i, j])))
            for j, parameter in enumerate(layer.bias):
                parameter.update(minitorch.Scalar(float(bias[j])))


class TensorModel:
    """A matrix and a row of numbers a layer, on a backend."""

    def __init__(
        self, sizes: Sequence[int], activation: str, backend: minitorch.TensorBackend
    ) -> None:
        self.activate, self.backend = ACTIVATIONS[activation], backend
        self.network = _linear_layers(tensor_points.Linear, sizes, backend)
        self.parameters = self.network.parameters()

    def forward(self, X: Sequence[Point]) -> minitorch.Tensor:
        """The probability of label 1: (points,)."""
        values = minitorch.tensor(list(X), self.backend, requires_grad=False)
        *hidden, last = self.network.all
        for layer in hidden:
            values = self.activate(layer(values))
        return last(values).sigmoid().view(len(X))

    def learn(self, batch: Graph) -> tuple[float, int]:
        """All points of the batch at once."""
        minitorch.SGD(self.parameters, 0.0).zero_grad()
        prob, loss = self.loss(batch)
        (loss / batch.N).backward()
        return loss.item(), int((prob.to_numpy() > 0.5).sum())

    def judge(self, data: Graph) -> tuple[float, int]:
        """Forward only."""
        if not data.N:
            return 0.0, 0
        prob, loss = self.loss(data)
        return loss.item(), int((prob.to_numpy() > 0.5).sum())

    def give(self, points: Sequence[Point]) -> Array:
        """All points at once."""
        return self.forward(points).to_numpy()

    def loss(self, data: Graph) -> tuple[minitorch.Tensor, minitorch.Tensor]:
        """The probability of the right label of each point, and the sum of their losses."""
        y = minitorch.tensor(data.y, self.backend, requires_grad=False)
        out = self.forward(data.X)
        prob = out * y + (1.0 - out) * (1.0 - y)  # of the right label
        return prob, (-prob.log()).sum()

    def descend(self, rate: float) -> None:
        """The library's SGD."""
        minitorch.SGD(self.parameters, rate).step()

    def read(self) -> list[Array]:
        """Weights and bias of each layer."""
        return [p.value.to_numpy() for p in self.parameters]

    def gradients(self) -> list[Array]:
        """Gradients of weights and bias of each layer."""
        return [p.value.grad.to_numpy() for p in self.parameters]

    def write(self, arrays: Sequence[Array]) -> None:
        """New tensors on the same backend."""
        for parameter, array in zip(self.parameters, arrays, strict=True):
            flat = np.ascontiguousarray(array, float).reshape(-1)
            parameter.update(minitorch.Tensor.make(flat, array.shape, backend=self.backend))


def find_torch() -> Any:
    """PyTorch where it is installed, else the Torch floor of this library."""
    try:
        import torch
    except ImportError:
        import minitorch.torch as torch  # type: ignore[no-redef]
    return torch


def torch_name() -> str:
    """What the Torch models run on: `PyTorch 2.13.0` or `minitorch.torch`."""
    torch = find_torch()
    version = str(torch.__version__).split("+")[0]
    return f"PyTorch {version}" if torch.__name__ == "torch" else "minitorch.torch"


class TorchModel:
    """The same in Torch, in float64."""

    def __init__(self, sizes: Sequence[int], activation: str = "relu") -> None:
        self.torch = find_torch()
        self.activate = getattr(self.torch, activation)
        self.layers = []
        for number, (n, m) in enumerate(pairwise(sizes)):
            weights, bias = weights_and_bias(n, m, number == 0)
            self.layers.append(self.torch.nn.Linear(n, m, dtype=self.torch.float64))
            self._fill(self.layers[-1], np.array(weights), np.array(bias))
        parameters = [p for layer in self.layers for p in layer.parameters()]
        self.optim = self.torch.optim.SGD(parameters, 1.0)

    def _fill(self, layer: Any, weights: Array, bias: Array) -> None:
        arrays = {"weight": weights.T.copy(), "bias": bias.copy()}
        layer.load_state_dict({name: self.torch.tensor(a) for name, a in arrays.items()})

    def learn(self, batch: Graph) -> tuple[float, int]:
        """All points of the batch at once."""
        self.optim.zero_grad()
        prob, loss = self._loss(batch)
        (loss / batch.N).backward()
        return loss.item(), int((prob > 0.5).sum())

    def judge(self, data: Graph) -> tuple[float, int]:
        """Forward only."""
        if not data.N:
            return 0.0, 0
        prob, loss = self._loss(data)
        return loss.item(), int((prob > 0.5).sum())

    def give(self, points: Sequence[Point]) -> Array:
        """All points at once."""
        return self._forward(points).detach().numpy()

    def _forward(self, points: Sequence[Point]) -> Any:
        values = self.torch.tensor(list(points), dtype=self.torch.float64)
        *hidden, last = self.layers
        for layer in hidden:
            values = self.activate(layer(values))
        return last(values).sigmoid().view(len(points))

    def _loss(self, data: Graph) -> tuple[Any, Any]:
        out = self._forward(data.X)
        y = self.torch.tensor(data.y, dtype=self.torch.float64)
        prob = out * y + (1.0 - out) * (1.0 - y)
        return prob, -(prob + minitorch.EPS).log().sum()

    def descend(self, rate: float) -> None:
        """Torch's SGD."""
        self.optim.param_groups[0]["lr"] = rate
        self.optim.step()

    def read(self) -> list[Array]:
        """Weights (inputs, outputs) and bias of each layer."""
        return self._arrays(lambda p: p.detach())

    def gradients(self) -> list[Array]:
        """Gradients in the same order."""
        return self._arrays(lambda p: p.grad)

    def _arrays(self, tensor: Callable[[Any], Any]) -> list[Array]:
        pairs = [
            (tensor(layer.weight).numpy().T.copy(), tensor(layer.bias).numpy().copy())
            for layer in self.layers
        ]
        return [array for pair in pairs for array in pair]

    def write(self, arrays: Sequence[Array]) -> None:
        """New values in the same parameters."""
        for layer, weights, bias in zip(self.layers, arrays[::2], arrays[1::2], strict=True):
            self._fill(layer, weights, bias)


# --- Optimisers: how a gradient becomes a step ---------------------------------------------------


class Descent:
    """The library's own SGD."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def step(self, rate: float) -> None:
        """Against the gradient."""
        self.model.descend(rate)


class Momentum:
    """A velocity that gradients push: v = 0.9 v + g, p = p - rate v."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.velocity = [np.zeros_like(p) for p in model.read()]

    def step(self, rate: float) -> None:
        """Along the velocity."""
        self.velocity = [
            0.9 * v + g for v, g in zip(self.velocity, self.model.gradients(), strict=True)
        ]
        before = self.model.read()
        self.model.write([p - rate * v for p, v in zip(before, self.velocity, strict=True)])


class Adam:
    """Each parameter at its own pace: the mean gradient over the root of its mean square."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.mean = [np.zeros_like(p) for p in model.read()]
        self.square = [np.zeros_like(p) for p in model.read()]
        self.count = 0

    def step(self, rate: float) -> None:
        """Both means start at 0, which is corrected for."""
        self.count += 1
        gradients = self.model.gradients()
        self.mean = [0.9 * m + 0.1 * g for m, g in zip(self.mean, gradients, strict=True)]
        self.square = [
            0.999 * s + 0.001 * g * g for s, g in zip(self.square, gradients, strict=True)
        ]
        first, second = 1.0 - 0.9**self.count, 1.0 - 0.999**self.count
        changed = [
            p - rate * (m / first) / (np.sqrt(s / second) + 1e-8)
            for p, m, s in zip(self.model.read(), self.mean, self.square, strict=True)
        ]
        self.model.write(changed)


OPTIMISERS = {"sgd": Descent, "momentum": Momentum, "adam": Adam}


# --- The loop ------------------------------------------------------------------------------------


class Training:
    """A network, its points, and the epochs done so far."""

    def __init__(self, plan: Plan) -> None:
        set_seed(plan.seed)
        self.plan = plan
        self.train, self.test = make_points(plan)
        self.model = make_model(plan)
        self.optimiser = OPTIMISERS[plan.optimiser](self.model)
        self.epoch = 0

    def rate(self) -> float:
        """The rate of the epoch that is next."""
        plan = self.plan
        left = max(1.0 - self.epoch / plan.epochs, 0.0) if plan.falls else 1.0
        return plan.rate * left

    def batches(self) -> Iterator[tuple[float, int]]:
        """Learn from each batch of one epoch: loss and right points of each."""
        rate = self.rate()
        for batch in shuffled_batches(self.train, self.plan.batch):
            result = self.model.learn(batch)
            self.optimiser.step(rate)
            yield result
        self.epoch += 1

    def run_epoch(self) -> tuple[float, int]:
        """The loss and the number of right points of one epoch."""
        results = list(self.batches())
        return sum(loss for loss, _ in results), sum(correct for _, correct in results)
