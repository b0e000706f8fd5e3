"""Task 0.5: separate points with a line set by hand.

python project/run_manual.py --w1 1 --w2 0 --bias -0.5
"""

import argparse
import random

from which_library import say_which

import minitorch
from minitorch.datasets import Graph
from minitorch.training.points import dataset_name


class Linear(minitorch.Module):
    """w1 * x1 + w2 * x2 + bias."""

    def __init__(self, w1: float, w2: float, bias: float) -> None:
        super().__init__()
        self.w1 = minitorch.Parameter(w1)
        self.w2 = minitorch.Parameter(w2)
        self.bias = minitorch.Parameter(bias)

    def forward(self, x1: float, x2: float) -> float:
        """How far the point is on the side of label 1."""
        return self.w1.value * x1 + self.w2.value * x2 + self.bias.value


class Network(minitorch.Module):
    """A line: points on its one side have label 1."""

    def __init__(self, w1: float = -1.0, w2: float = 0.0, bias: float = 0.5) -> None:
        super().__init__()
        self.linear = Linear(w1, w2, bias)

    def forward(self, x: tuple[float, float]) -> float:
        """The probability of label 1."""
        return minitorch.operators.sigmoid(self.linear(*x))


class ManualTrain:
    """Has nothing to train: it shows what the parameters set by hand achieve."""

    def __init__(self, w1: float = -1.0, w2: float = 0.0, bias: float = 0.5) -> None:
        self.model = Network(w1, w2, bias)

    def run_one(self, x: tuple[float, float]) -> float:
        """The probability of label 1 for a point."""
        return self.model(x)

    def run_many(self, X: list[tuple[float, float]]) -> list[float]:
        """The probability of label 1 for each point."""
        return [self.run_one(x) for x in X]

    def score(self, data: Graph) -> tuple[int, float]:
        """How many points are right, and the loss."""
        right = [p if y else 1.0 - p for p, y in zip(self.run_many(data.X), data.y, strict=True)]
        return sum(p > 0.5 for p in right), -sum(minitorch.operators.log(p) for p in right)


def main() -> None:
    """Print the score of a line on a data set."""
    parser = argparse.ArgumentParser(description="Separate points with a line set by hand.")
    parser.add_argument("--DATASET", "--dataset", type=dataset_name, default="Simple")
    parser.add_argument("--PTS", "--pts", type=int, default=50)
    parser.add_argument("--w1", type=float, default=-1.0)
    parser.add_argument("--w2", type=float, default=0.0)
    parser.add_argument("--bias", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    say_which()
    random.seed(args.seed)
    data = minitorch.datasets[args.DATASET](args.PTS)
    trainer = ManualTrain(args.w1, args.w2, args.bias)
    correct, loss = trainer.score(data)
    print(f"{args.DATASET}: label 1 where {args.w1:g} x1 + {args.w2:g} x2 + {args.bias:g} > 0")
    print(f"loss {loss:.2f} | correct {correct}/{data.N}")


if __name__ == "__main__":
    main()
