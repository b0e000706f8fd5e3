"""Task 4.5, images: a LeNet that learns to read handwritten digits."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..module import Module
from ..nn import avgpool2d, dropout, logsoftmax
from ..optim import SGD
from ..tensor import Tensor
from ..tensor_ops import TensorBackend
from .data_files import Array, load_digits, load_mnist
from .layers import Conv2d as Conv2d
from .layers import Linear as Linear
from .layers import constant, fast_backend
from .messages import epoch_line
from .recipe import Recipe, add_recipe_arguments
from .session import FAILED, OK, Session, run_options, set_seed
from .summary import summarise

BATCH = 16
C = 10  # classes
H, W = 28, 28

Images = tuple[npt.ArrayLike, npt.ArrayLike]
"""Images, n x height x width, and their labels one-hot, n x C."""


class Network(Module):
    """The guide's LeNet; with size 8 and pool 2, the same for scikit-learn's small digits.

    Two convolutions with ReLU, average pooling, a hidden layer with ReLU and dropout, and the
    logarithms of the probabilities of the classes.

    Args:
        size: height and width of the images
        pool: height and width of what becomes one pixel
        rate: of dropout
        backend: what the parameters live on
    """

    def __init__(
        self,
        size: int = H,
        pool: int = 4,
        rate: float = 0.25,
        backend: TensorBackend | None = None,
    ) -> None:
        super().__init__()
        self.backend = backend or fast_backend()
        self.size, self.pool, self.rate = size, pool, rate
        self.flat = 8 * (size // pool) ** 2  # 392 for MNIST
        self.conv1 = Conv2d(1, 4, 3, 3, self.backend)
        self.conv2 = Conv2d(4, 8, 3, 3, self.backend)
        self.linear1 = Linear(self.flat, 64, self.backend)
        self.linear2 = Linear(64, C, self.backend)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 1, size, size) -> (batch, C).

        What the two convolutions give, after ReLU, stays at hand as `self.mid` and `self.out`.
        """
        self.mid: Tensor = self.conv1(x).relu()  # (batch, 4, size, size)
        self.out: Tensor = self.conv2(self.mid).relu()  # (batch, 8, size, size)
        pooled = avgpool2d(self.out, (self.pool, self.pool)).view(x.shape[0], self.flat)
        hidden = self.linear1(pooled).relu()  # (batch, 64)
        kept = dropout(hidden, self.rate, ignore=not self.training)
        return logsoftmax(self.linear2(kept), 1)


class ImageLogFn(Protocol):
    """What `ImageTrain.train` calls after each epoch."""

    def __call__(
        self,
        epoch: int,
        total_loss: float,
        correct: int,
        total: int,
        losses: list[float],
        model: Network,
        /,
    ) -> Any: ...


def default_log_fn(
    epoch: int, total_loss: float, correct: int, total: int, losses: list[float], model: Network
) -> None:
    """One line an epoch; `correct` counts validation images."""
    sys.stdout.write(epoch_line(epoch, total_loss, f"{correct}/{total}") + "\n")


class ImageTrain:
    """Trains a `Network`.

    Args:
        model: a `Network` for MNIST unless given
        batch: how many images each step looks at
        decay: what the learning rate is multiplied by after each epoch

    Attributes:
        train_correct: how many training images the last epoch got right, with dropout
    """

    def __init__(
        self, model: Network | None = None, batch: int = BATCH, decay: float = 1.0
    ) -> None:
        if batch < 1:
            raise ValueError(f"batch must be at least 1, it is {batch}")
        self.model = model or Network()
        self.batch = batch
        self.decay = decay
        self.train_correct = 0

    def run_one(self, x: npt.ArrayLike) -> Tensor:
        """Log-probabilities of the classes of one image: (height, width) -> (1, C)."""
        return self.run_many(np.asarray(x)[None])

    def run_many(self, X: npt.ArrayLike) -> Tensor:
        """Log-probabilities of the classes of images: (n, height, width) -> (n, C)."""
        images = np.asarray(X, dtype=np.float64)
        shape = (len(images), 1, self.model.size, self.model.size)
        return self.model(constant(images.reshape(shape), self.model.backend))

    def count_correct(self, data: Images) -> int:
        """How many images get the highest probability for their own class, without dropout."""
        X, y = np.asarray(data[0]), np.asarray(data[1])
        self.model.eval()
        correct = 0
        for i in range(0, len(X), self.batch):  # as large as in training: the same kernels
            chosen = slice(i, i + self.batch)
            correct += _agreements(self.run_many(X[chosen]), y[chosen])
        self.model.train()
        return correct

    def train(
        self,
        data_train: Images,
        data_val: Images,
        learning_rate: float,
        max_epochs: int = 500,
        log_fn: ImageLogFn = default_log_fn,
        start: int = 1,
        progress: Callable[[int, int], Any] = lambda done, total: None,
    ) -> None:
        """Go through all images in batches, in a new order each epoch; then validate on all.

        Args:
            data_train: images and one-hot labels
            data_val: the same to validate with
            learning_rate: how far to step, in the first epoch
            max_epochs: the last epoch
            log_fn: called after each epoch with its number, the sum of the batches' losses, how many
                of how many validation images are right, all losses, and the model
            start: the first epoch; above 1 when a run is resumed
            progress: called after each batch with how many of how many are done
        """
        X, y = np.asarray(data_train[0], dtype=np.float64), np.asarray(data_train[1])
        batches = -(-len(X) // self.batch)
        losses: list[float] = []
        self.model.train()
        for epoch in range(start, max_epochs + 1):
            optim = SGD(self.model.parameters(), learning_rate * self.decay ** (epoch - 1))
            order = list(range(len(X)))
            random.shuffle(order)
            total_loss, self.train_correct = 0.0, 0
            for i in range(batches):
                chosen = order[i * self.batch : (i + 1) * self.batch]
                optim.zero_grad()
                out = self.run_many(X[chosen])  # (batch, C)
                right = out * constant(y[chosen], self.model.backend)
                loss = right.sum() * (-1.0 / len(chosen))
                loss.backward()
                optim.step()
                total_loss += loss.item()
                self.train_correct += _agreements(out, y[chosen])
                progress(i + 1, batches)
            losses.append(total_loss)
            correct = self.count_correct(data_val)
            log_fn(epoch, total_loss, correct, len(np.asarray(data_val[0])), losses, self.model)


def _agreements(out: Tensor, y: Any) -> int:
    """In how many rows both have their maximum at the same place."""
    return int((out.to_numpy().argmax(1) == np.asarray(y).argmax(1)).sum())


# --- Data ------------------------------------------------------------------------------


def one_hot(labels: npt.ArrayLike) -> Array:
    """Row i has 1 at labels[i] and 0 elsewhere.

    >>> one_hot([1, 0])[:, :3]
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    return np.eye(C)[np.asarray(labels, dtype=np.int64)]


def make_mnist(start: int, stop: int) -> tuple[Array, Array]:
    """Training images `start` to `stop` of MNIST, and their labels one-hot."""
    images, labels = load_mnist("train")
    return images[start:stop], one_hot(labels[start:stop])


def mnist_sets(limit: int | None = None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """MNIST to train and to validate with: 60,000 and 10,000 images, or the first `limit` of each."""
    (X, y), (X_val, y_val) = load_mnist("train"), load_mnist("test")
    return (X[:limit], one_hot(y[:limit])), (X_val[:limit], one_hot(y_val[:limit]))


def digits_sets(limit: int | None = None) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """scikit-learn's digits: four fifths to train and one fifth to validate with.

    The images are grouped by writer, so the split is by a shuffle, which is the same in every run.
    """
    X, labels = load_digits()
    order = np.random.default_rng(0).permutation(len(X))[:limit]
    X, y = X[order], one_hot(labels[order])
    held_out = len(X) // 5
    return (X[held_out:], y[held_out:]), (X[:held_out], y[:held_out])


# --- The command line --------------------------------------------------------------------


RECIPES = {
    "mnist": Recipe(epochs=5, rate=0.2, batch=32, decay=0.7),
    "digits": Recipe(epochs=20, rate=0.15, batch=10, decay=0.9),
}


def add_arguments(parser: argparse.ArgumentParser, dataset: str) -> None:
    """The options of a run on "mnist" or "digits"."""
    add_recipe_arguments(parser, RECIPES[dataset], "images")
    parser.set_defaults(dataset=dataset)


def run(args: argparse.Namespace) -> int:
    """Train as the arguments say, in a session; return the exit code."""
    options = run_options(args)
    options.every = 1
    try:
        sets = mnist_sets if args.dataset == "mnist" else digits_sets
        data_train, data_val = sets(args.PTS)
    except (FileNotFoundError, ImportError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return FAILED
    set_seed(options.seed)  # not earlier: what reads the data may draw when it is imported
    model = Network() if args.dataset == "mnist" else Network(size=8, pool=2)
    trainer = ImageTrain(model, args.BATCH, args.DECAY)
    session = Session(
        args.dataset,
        options,
        epochs=args.EPOCHS,
        points=len(data_train[0]),
        validation_points=len(data_val[0]),
        settings={"rate": args.RATE, "batch": args.BATCH, "decay": args.DECAY},
        rate=args.RATE,
    )

    def train(log: Any, start: int) -> None:
        def log_fn(epoch: int, loss: float, correct: int, total: int, losses: Any, _: Any) -> None:
            log(epoch, loss, trainer.train_correct, losses, correct)

        trainer.train(
            data_train, data_val, args.RATE, args.EPOCHS, log_fn, start, session.within_epoch
        )

    exit_code = session.run(trainer.model, train)
    if exit_code == OK:
        summarise(session)
    return exit_code


def main(argv: list[str] | None = None, dataset: str = "mnist") -> int:
    """Train on "mnist" or "digits" from command line arguments; return the exit code."""
    parser = argparse.ArgumentParser(description=f"Train the guide's LeNet on {dataset}.")
    add_arguments(parser, dataset)
    return run(parser.parse_args(argv))
