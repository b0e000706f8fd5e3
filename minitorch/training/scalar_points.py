"""Task 1.5: a network of scalars that learns to separate points."""

from __future__ import annotations

from collections.abc import Sequence

from ..datasets import Graph, Point
from ..module import Module, Parameter
from ..optim import SGD
from ..scalar import Scalar
from .batches import shuffled_batches
from .session import LogFn, print_epoch
from .weights import weights_and_bias

BATCH = 10


class Linear(Module):
    """out[j] = bias[j] + the sum over i of inputs[i] * weights[i][j].

    Args:
        in_size: how many inputs
        out_size: how many outputs
        reads_points: whether the inputs are points of the unit square (see `weights`)
    """

    def __init__(self, in_size: int, out_size: int, reads_points: bool = False) -> None:
        super().__init__()
        weights, bias = weights_and_bias(in_size, out_size, reads_points)
        self.weights: list[list[Parameter]] = [
            [self.add_parameter(f"weight_{i}_{j}", Scalar(w)) for j, w in enumerate(row)]
            for i, row in enumerate(weights)
        ]
        self.bias: list[Parameter] = [
            self.add_parameter(f"bias_{j}", Scalar(b)) for j, b in enumerate(bias)
        ]

    def forward(self, inputs: Sequence[Scalar]) -> list[Scalar]:
        """Every output: its bias, plus each input times the weight from it to this output."""
        outputs = [b.value for b in self.bias]
        for x, row in zip(inputs, self.weights, strict=True):
            outputs = [out + x * w.value for out, w in zip(outputs, row, strict=True)]
        return outputs


class Network(Module):
    """2 -> hidden -> hidden -> 1, with ReLU, ReLU and sigmoid: the probability of label 1."""

    def __init__(self, hidden_layers: int) -> None:
        super().__init__()
        self.layer1 = Linear(2, hidden_layers, reads_points=True)
        self.layer2 = Linear(hidden_layers, hidden_layers)
        self.layer3 = Linear(hidden_layers, 1)

    def hidden(self, x: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """What the units of both hidden layers, `layer1` and `layer2`, give after ReLU."""
        first = [h.relu() for h in self.layer1(x)]
        second = [h.relu() for h in self.layer2(first)]
        return first, second

    def forward(self, x: Sequence[Scalar]) -> Scalar:
        """The probability of label 1 for one point: the sigmoid of `layer3`'s output."""
        _, second = self.hidden(x)
        return self.layer3(second)[0].sigmoid()


class ScalarTrain:
    """Trains a `Network` of scalars.

    Args:
        hidden_layers: how many units each of the two hidden layers has
        batch: how many points each step looks at

    >>> from minitorch import datasets
    >>> trainer = ScalarTrain(3)
    >>> trainer.train(datasets["Simple"](4), 0.5, max_epochs=2, log_fn=lambda *_: None)
    >>> 0.0 < trainer.run_one((0.1, 0.9)).data < 1.0
    True
    """

    def __init__(self, hidden_layers: int, batch: int = BATCH) -> None:
        self.hidden_layers = hidden_layers
        self.batch = batch
        self.model = Network(hidden_layers)

    def run_one(self, x: Point) -> Scalar:
        """The probability of label 1 for a point."""
        return self.model(
            (Scalar(x[0], back=None, name="x_1"), Scalar(x[1], back=None, name="x_2"))
        )

    def run_many(self, X: Sequence[Point]) -> list[Scalar]:
        """The probability of label 1 for each point."""
        return [self.run_one(x) for x in X]

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
                optim.zero_grad()
                for x, y in zip(batch.X, batch.y, strict=True):
                    out = self.run_one(x)
                    prob = out if y == 1 else 1.0 - out
                    loss = -prob.log()
                    (loss / batch.N).backward()
                    total_loss += loss.data
                    correct += prob.data > 0.5
                optim.step()
            losses.append(total_loss)
            log_fn(epoch, total_loss, correct, losses)
