"""The network of tasks 1.5 to 3.5 in PyTorch, to compare with.

python project/run_torch.py --DATASET xor
"""

import argparse
import sys
import time
from typing import Any

from which_library import say_which

from minitorch import datasets
from minitorch.datasets import Graph, Point
from minitorch.training.batches import shuffled_batches
from minitorch.training.messages import Watcher, epoch_line
from minitorch.training.points import LARGE, dataset_name
from minitorch.training.session import LogFn, print_epoch, set_seed
from minitorch.training.weights import weights_and_bias

try:
    import torch
except ImportError:
    sys.exit("run_torch.py needs PyTorch, which is not installed: pip install torch")


class Network(torch.nn.Module):
    """2 -> hidden -> hidden -> 1, with ReLU, ReLU and sigmoid, starting where ours starts."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.layer1 = _linear(2, hidden, reads_points=True)
        self.layer2 = _linear(hidden, hidden)
        self.layer3 = _linear(hidden, 1)

    def hidden(self, x: Any) -> tuple[Any, Any]:
        """What the units of both hidden layers give."""
        first = self.layer1(x).relu()  # (batch, hidden)
        second = self.layer2(first).relu()  # (batch, hidden)
        return first, second

    def forward(self, x: Any) -> Any:
        """(batch, 2) -> (batch, 1)."""
        _, second = self.hidden(x)
        return self.layer3(second).sigmoid()


def _linear(in_size: int, out_size: int, reads_points: bool = False) -> torch.nn.Linear:
    layer = torch.nn.Linear(in_size, out_size, dtype=torch.float64)
    weights, bias = weights_and_bias(in_size, out_size, reads_points)
    layer.load_state_dict(
        {
            "weight": torch.tensor(weights, dtype=torch.float64).T.contiguous(),
            "bias": torch.tensor(bias, dtype=torch.float64),
        }
    )
    return layer


class TorchTrain:
    """The loop of `TensorTrain`, in PyTorch."""

    def __init__(self, hidden_layers: int, batch: int = 10) -> None:
        self.model = Network(hidden_layers)
        self.batch = batch

    def run_one(self, x: Point) -> Any:
        """The probability of label 1 for a point: shape (1, 1)."""
        return self.run_many([x])

    def run_many(self, X: list[Point]) -> Any:
        """The probability of label 1 for each point: shape (points, 1)."""
        return self.model(torch.tensor(X, dtype=torch.float64))

    def train(
        self, data: Graph, learning_rate: float, max_epochs: int = 500, log_fn: LogFn = print_epoch
    ) -> None:
        """As `TensorTrain.train`."""
        optim = torch.optim.SGD(self.model.parameters(), learning_rate)
        losses: list[float] = []
        for epoch in range(1, max_epochs + 1):
            optim.param_groups[0]["lr"] = learning_rate * (1.0 - (epoch - 1) / max_epochs)
            total_loss, correct = 0.0, 0
            for batch in shuffled_batches(data, self.batch):
                y = torch.tensor(batch.y, dtype=torch.float64)
                optim.zero_grad()
                out = self.run_many(batch.X).view(batch.N)
                prob = out * y + (1.0 - out) * (1.0 - y)
                loss = -(prob + 1e-6).log().sum()
                (loss / batch.N).backward()
                optim.step()
                total_loss += loss.item()
                correct += int((prob > 0.5).sum())
            losses.append(total_loss)
            log_fn(epoch, total_loss, correct, losses)


def explain_stall(trainer: TorchTrain, data: Graph) -> str:
    """How many units are dead, and what to try."""
    points = torch.tensor(data.X, dtype=torch.float64)
    remedy = "Try another seed, more hidden units, or a lower rate."
    for which, values in zip(("first", "second"), trainer.model.hidden(points), strict=True):
        dead = int((values <= 0).all(0).sum())
        if 2 * dead >= values.shape[1]:
            return (
                f"{dead} of {values.shape[1]} hidden units of the {which} layer give 0 for all "
                f"{data.N} points (dead ReLU). {remedy}"
            )
    return remedy


def main() -> None:
    """Train, and print how it goes."""
    parser = argparse.ArgumentParser(description="Train the same network in PyTorch.")
    parser.add_argument("--DATASET", "--dataset", type=dataset_name, default="Simple")
    parser.add_argument("--HIDDEN", "--hidden", type=int, default=100)
    parser.add_argument("--RATE", "--rate", type=float)
    parser.add_argument("--EPOCHS", "--epochs", type=int)
    parser.add_argument("--PTS", "--pts", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    usual = LARGE[args.DATASET]
    epochs, rate = args.EPOCHS or usual.epochs, args.RATE or usual.rate
    say_which()
    set_seed(args.seed)
    data = datasets[args.DATASET](args.PTS)
    trainer = TorchTrain(args.HIDDEN)
    watcher = Watcher(data.N, rate, lambda: explain_stall(trainer, data))
    began = time.perf_counter()

    def log_fn(epoch: int, total_loss: float, correct: int, losses: list[float]) -> None:
        if epoch in (1, epochs) or epoch % 10 == 0:
            seconds = (time.perf_counter() - began) / epoch
            print(
                epoch_line(f"{epoch}/{epochs}", total_loss, f"{correct}/{data.N}", seconds=seconds)
            )
        for message in watcher.messages(losses, correct):
            print(message)

    trainer.train(data, rate, epochs, log_fn)


if __name__ == "__main__":
    main()
