"""The same digits on the upper floor: a convolutional network in float32, trained with AdamW.

What lesson 4 trains with its own tensors, this trains with `minitorch.torch`: `nn.Module`,
`optim`, `DataLoader`. The session around it, with log, checkpoint and picture, is the same.
"""

from __future__ import annotations

import argparse
import logging
import sys
from typing import Any

import numpy as np

from .checkpoint import Arrays
from .data_files import load_digits, load_mnist
from .recipe import Recipe, add_recipe_arguments
from .session import FAILED, OK, Session, run_options, set_seed
from .summary import summarise

RECIPE = Recipe(epochs=8, rate=2e-3, batch=64, decay=0.6)
DATA = ("digits", "mnist")


def network(size: int) -> Any:
    """Two convolutions with pooling, dropout, two linear layers: (batch, 1, size, size) -> (batch, 10)."""
    from ..torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25),
        nn.Linear(32 * (size // 4) ** 2, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def sets(name: str, limit: int | None = None) -> tuple[Any, Any]:
    """Images and labels to train and to validate with, as data sets of tensors."""
    if name == "mnist":
        train, held_out = load_mnist("train"), load_mnist("test")
    else:
        images, labels = load_digits()
        order = np.random.default_rng(0).permutation(len(images))
        parts = np.split(order, [len(order) // 5])
        held_out, train = ((images[part], labels[part]) for part in parts)
    return _tensors(*train, limit), _tensors(*held_out, limit)


def _tensors(images: Any, labels: Any, limit: int | None) -> Any:
    from .. import torch
    from ..torch.utils.data import TensorDataset

    x = torch.from_numpy(np.ascontiguousarray(images[:limit, None], np.float32))
    return TensorDataset(x, torch.from_numpy(np.ascontiguousarray(labels[:limit], np.int64)))


class TorchImageTrain:
    """Trains the network; keeps what a checkpoint needs beside the model.

    Args:
        model: from images to scores of the ten classes
        rate: the learning rate of the first epoch
        batch: how many images each step looks at
        decay: what the rate is multiplied by after each epoch
        device: where to train: cpu, cuda
        compiles: whether a whole step is compiled
    """

    def __init__(
        self, model: Any, rate: float, batch: int, decay: float, device: str = "cpu", compiles: bool = False
    ) -> None:  # fmt: skip
        from ..torch import compile, optim

        self.model = model.to(device)
        self.batch = batch
        self.device = device
        self.optimizer = optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
        self.schedule = optim.lr_scheduler.ExponentialLR(self.optimizer, decay)
        self.learn = compile(self.step) if compiles else self.step

    def step(self, x: Any, y: Any) -> tuple[Any, Any]:
        """Learn from a batch: its loss, and how many of its images had the highest score for their own class."""
        from ..torch.nn.functional import cross_entropy

        self.optimizer.zero_grad()
        scores = self.model(x)  # (batch, 10)
        loss = cross_entropy(scores, y)
        loss.backward()
        self.optimizer.step()
        return loss.detach(), (scores.argmax(1) == y).sum()

    def train(self, data: Any, held_out: Any, session: Session, start: int) -> None:
        """Go through all images in batches, in a new order each epoch; then validate on all."""
        loader = self._batches(data, shuffle=True)
        for epoch in range(start, session.epochs + 1):
            self.model.train()
            total, correct = 0.0, 0
            for done, batch in enumerate(loader, 1):
                x, y = (part.to(self.device) for part in batch)
                loss, right = self.learn(x, y)
                total += loss.item()
                correct += int(right)
                session.within_epoch(done, len(loader))
            self.schedule.step()
            session.log(epoch, total, correct, validation=self.count_correct(held_out))

    def count_correct(self, data: Any) -> int:
        """How many images get the highest score for their own class."""
        from ..torch import inference_mode

        self.model.eval()
        correct = 0
        with inference_mode():
            for batch in self._batches(data):
                x, y = (part.to(self.device) for part in batch)
                correct += int((self.model(x).argmax(1) == y).sum())
        return correct

    def _batches(self, data: Any, shuffle: bool = False) -> Any:
        from ..torch.utils.data import DataLoader

        return DataLoader(data, self.batch, shuffle, pin_memory=self.device != "cpu")

    def state_arrays(self) -> Arrays:
        """What the optimizer, the schedule and the random numbers are at."""
        from ..torch import cuda, get_rng_state

        kept = {"rng": get_rng_state().numpy().copy()}
        if self.device != "cpu":
            kept["rng_cuda"] = cuda.get_rng_state(self.device).numpy().copy()
        schedule = self.schedule.state_dict()
        kept["schedule"] = np.array([schedule["last_epoch"], schedule["_last_lr"][0]])
        for number, values in self.optimizer.state_dict()["state"].items():
            for name, value in values.items():
                kept[f"{number}/{name}"] = value.cpu().numpy().copy()
        return kept

    def _usual_arrays(self) -> Arrays:
        """What `state_arrays` gives after a step, with other numbers."""
        usual = {name: array for name, array in self.state_arrays().items() if "/" not in name}
        for number, parameter in enumerate(self.model.parameters()):
            usual[f"{number}/step"] = np.zeros((), np.float32)
            for name in ("exp_avg", "exp_avg_sq"):
                usual[f"{number}/{name}"] = np.empty(
                    parameter.shape, parameter.detach().cpu().numpy().dtype
                )
        return usual

    def load_state_arrays(self, arrays: Arrays) -> None:
        """Take back what was kept; ValueError if it is not of this optimizer."""
        from ..torch import cuda, from_numpy, set_rng_state

        usual = self._usual_arrays()
        single = {name for name in usual if "/" not in name}
        if arrays.keys() != usual.keys() and arrays.keys() != single:
            raise ValueError("the checkpoint's optimizer is of another model")
        for key, array in arrays.items():
            if (array.shape, array.dtype) != (usual[key].shape, usual[key].dtype):
                raise ValueError(f"the optimizer's {key} has shape {array.shape} of {array.dtype}")
        epoch, rate = arrays["schedule"].tolist()
        if not (0 <= epoch < 2**31 and 0 <= rate < float("inf")):
            raise ValueError(f"the rate {rate} after epoch {epoch} is not a rate")
        try:
            set_rng_state(from_numpy(arrays["rng"]))
            if "rng_cuda" in arrays:
                cuda.set_rng_state(from_numpy(arrays["rng_cuda"]), self.device)
        except RuntimeError as error:
            raise ValueError(f"the state of the random numbers is none: {error}") from None
        self.schedule.load_state_dict({"last_epoch": int(epoch), "_last_lr": [rate]})
        state: dict[int, dict[str, Any]] = {}
        for key in arrays.keys() - single:
            number, _, name = key.partition("/")
            state.setdefault(int(number), {})[name] = from_numpy(arrays[key])
        now = self.optimizer.state_dict()
        now["param_groups"][0]["lr"] = rate
        self.optimizer.load_state_dict({"state": state, "param_groups": now["param_groups"]})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a run."""
    parser.add_argument(
        "--data", choices=DATA, default="digits", help="what to learn (default: %(default)s)"
    )
    parser.add_argument(
        "--device", default="cpu", help="where to train: cpu, cuda (default: %(default)s)"
    )
    parser.add_argument("--compile", action="store_true", help="compile the training step")
    add_recipe_arguments(parser, RECIPE, "images")


def run(args: argparse.Namespace) -> int:
    """Train as the arguments say, in a session; return the exit code."""
    from ..torch import manual_seed
    from ..torch.backends.interface import resolve

    options = run_options(args)
    options.every = 1
    try:
        resolve(args.device)
        data, held_out = sets(args.data, args.PTS)
    except (FileNotFoundError, ImportError, ValueError, RuntimeError) as error:
        sys.stderr.write(f"{error}\n")
        return FAILED
    set_seed(options.seed)  # not earlier: what reads the data may draw when it is imported
    manual_seed(options.seed)
    trainer = TorchImageTrain(
        network(data[0][0].shape[-1]), args.RATE, args.BATCH, args.DECAY, args.device, args.compile
    )
    if args.compile:
        logging.basicConfig(level=logging.INFO, format="%(message)s")  # which kernels are compiled
    session = Session(
        f"cnn-{args.data}",
        options,
        epochs=args.EPOCHS,
        points=len(data),
        validation_points=len(held_out),
        settings={"rate": args.RATE, "batch": args.BATCH, "decay": args.DECAY},
        rate=args.RATE,
    )
    exit_code = session.run(
        trainer.model,
        lambda log_fn, start: trainer.train(data, held_out, session, start),
        keeper=trainer,
    )
    if exit_code == OK:
        summarise(session)
    return exit_code
