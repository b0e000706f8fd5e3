"""Tasks 2.5 and 3.5: the same network on tensors, and on the fast backends."""

from __future__ import annotations

from collections.abc import Sequence

from ..datasets import Graph, Point
from ..module import Module, Parameter
from ..optim import SGD
from ..tensor import Tensor
from ..tensor_functions import tensor
from ..tensor_ops import SimpleBackend, TensorBackend
from .batches import shuffled_batches
from .session import LogFn, print_epoch
from .weights import weights_and_bias

BATCH = 10


class Linear(Module):
    """x @ weights + bias.

    Args:
        in_size: how many inputs
        out_size: how many outputs
        backend: what the parameters live on
        reads_points: whether the inputs are points of the unit square (see `weights`)
    """

    def __init__(
        self,
        in_size: int,
        out_size: int,
        backend: TensorBackend = SimpleBackend,
        reads_points: bool = False,
    ) -> None:
        super().__init__()
        self.out_size = out_size
        weights, bias = weights_and_bias(in_size, out_size, reads_points)
        self.weights = Parameter(tensor(weights, backend))
        self.bias = Parameter(tensor(bias, backend))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, in_size) -> (batch, out_size)."""
        return x @ self.weights.value + self.bias.value


class Network(Module):
    """2 -> hidden -> hidden -> 1, with ReLU, ReLU and sigmoid: the probability of label 1."""

    def __init__(self, hidden: int, backend: TensorBackend = SimpleBackend) -> None:
        super().__init__()
        self.layer1 = Linear(2, hidden, backend, reads_points=True)
        self.layer2 = Linear(hidden, hidden, backend)
        self.layer3 = Linear(hidden, 1, backend)

    def hidden(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What the units of both hidden layers, `layer1` and `layer2`, give after ReLU."""
        first = self.layer1(x).relu()  # (batch, hidden)
        second = self.layer2(first).relu()  # (batch, hidden)
        return first, second

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 2) -> (batch, 1): the sigmoid of `layer3`'s output."""
        _, second = self.hidden(x)
        return self.layer3(second).sigmoid()


class TensorTrain:
    """Trains a `Network` of tensors.

    Args:
        hidden_layers: how many units each of the two hidden layers has
        backend: what computes; plain Python unless given
        batch: how many points each step looks at

    >>> from minitorch import datasets
    >>> trainer = TensorTrain(3)
    >>> trainer.train(datasets["Simple"](4), 0.5, max_epochs=2, log_fn=lambda *_: None)
    >>> trainer.run_many([(0.1, 0.9), (0.9, 0.1)]).shape
    (2, 1)
    """

    def __init__(
        self, hidden_layers: int, backend: TensorBackend = SimpleBackend, batch: int = BATCH
    ) -> None:
        self.hidden_layers = hidden_layers
        self.batch = batch
        self.backend = backend
        self.model = Network(hidden_layers, backend)

    def run_one(self, x: Point) -> Tensor:
        """The probability of label 1 for a point: shape (1, 1)."""
        return self.run_many([x])

    def run_many(self, X: Sequence[Point]) -> Tensor:
        """The probability of label 1 for each point: shape (points, 1)."""
        return self.model(tensor(list(X), self.backend, requires_grad=False))

    def train(
        self,
        data: Graph,
        learning_rate: float,
        max_epochs: int = 500,
        log_fn: LogFn = print_epoch,
        start: int = 1,
    ) -> None:
        """Go through the points in batches, in a new order each epoch; step after each batch.

        The steps get smaller in a straight line from `learning_rate` to almost 0: with equal
        steps, points near the border keep changing sides to the end.

        Args:
            data: points and labels
            learning_rate: how far to step in the first epoch
            max_epochs: the last epoch
            log_fn: called after each epoch with its number, loss, correct points, all losses
            start: the first epoch; above 1 when a run is resumed
        """
        losses: list[float] = []
        for epoch in range(start, max_epochs + 1):
            rate = learning_rate * (1.0 - (epoch - 1) / max_epochs)
            optim = SGD(self.model.parameters(), rate)
            total_loss, correct = 0.0, 0
            for batch in shuffled_batches(data, self.batch):
                y = tensor(batch.y, self.backend, requires_grad=False)
                optim.zero_grad()
                out = self.run_many(batch.X).view(batch.N)
                prob = out * y + (1.0 - out) * (1.0 - y)  # of the right label
                loss = (-prob.log()).sum()
                (loss / batch.N).backward()
                optim.step()
                total_loss += loss.item()
                correct += int((prob.to_numpy() > 0.5).sum())
            losses.append(total_loss)
            log_fn(epoch, total_loss, correct, losses)


class FastTrain(TensorTrain):
    """`TensorTrain` on a fast backend: `TensorBackend(FastOps)` or `TensorBackend(CudaOps)`."""

    def __init__(
        self, hidden_layers: int, backend: TensorBackend | None = None, batch: int = BATCH
    ) -> None:
        if backend is None:
            from ..fast_ops import FastOps

            backend = TensorBackend(FastOps)
        super().__init__(hidden_layers, backend, batch)
