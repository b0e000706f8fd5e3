"""Task 0.5: a line between points, set by hand."""

from __future__ import annotations

from .. import operators
from ..datasets import Graph, Point
from ..module import Module, Parameter


class Linear(Module):
    """w1 * x1 + w2 * x2 + bias."""

    def __init__(self, w1: float, w2: float, bias: float) -> None:
        super().__init__()
        self.w1 = Parameter(w1)
        self.w2 = Parameter(w2)
        self.bias = Parameter(bias)

    def forward(self, x1: float, x2: float) -> float:
        """How far the point is on the side of label 1: w1 x1 + w2 x2 + bias."""
        return self.w1.value * x1 + self.w2.value * x2 + self.bias.value


class Network(Module):
    """A line: points on its one side have label 1."""

    def __init__(self, w1: float = -1.0, w2: float = 0.0, bias: float = 0.5) -> None:
        super().__init__()
        self.linear = Linear(w1, w2, bias)

    def forward(self, x: Point) -> float:
        """The probability of label 1: the sigmoid of what `self.linear` says of the point."""
        return operators.sigmoid(self.linear(*x))


class ManualTrain:
    """Has nothing to train: it shows what the parameters set by hand achieve."""

    def __init__(self, w1: float = -1.0, w2: float = 0.0, bias: float = 0.5) -> None:
        self.model = Network(w1, w2, bias)

    def run_one(self, x: Point) -> float:
        """The probability of label 1 for a point."""
        return self.model(x)

    def run_many(self, X: list[Point]) -> list[float]:
        """The probability of label 1 for each point."""
        return [self.run_one(x) for x in X]

    def score(self, data: Graph) -> tuple[int, float]:
        """How many points are right, and the loss."""
        right = [p if y else 1.0 - p for p, y in zip(self.run_many(data.X), data.y, strict=True)]
        return sum(p > 0.5 for p in right), -sum(operators.log(p) for p in right)


def simple_line() -> tuple[float, float, float]:
    """w1, w2 and bias with which all points of `Simple` are right: label 1 where x1 < 0.5."""
    return -1.0, 0.0, 0.5


def diag_line() -> tuple[float, float, float]:
    """w1, w2 and bias with which all points of `Diag` are right: label 1 where x1 + x2 < 0.5."""
    return -1.0, -1.0, 0.5
