"""One run on a 2-D data set: which settings learn each, on which backend, and why one may stall.

The classes of tasks 1.5, 2.5 and 3.5 are in `scalar_points` and `tensor_points`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..datasets import Graph, Point, datasets
from ..scalar import Scalar
from ..tensor_functions import tensor
from ..tensor_ops import SimpleBackend, TensorBackend
from .scalar_points import ScalarTrain as ScalarTrain
from .session import FAILED, RunOptions, Session, add_run_arguments, run_options, set_seed
from .tensor_points import FastTrain as FastTrain
from .tensor_points import TensorTrain as TensorTrain

Trainer = ScalarTrain | TensorTrain

BACKENDS = {
    "scalar": "one Scalar a number (lesson 1)",
    "simple": "tensors in plain Python (lesson 2)",
    "fast": "tensors compiled by Numba (lesson 3)",
    "cuda": "tensors on a GPU (lesson 3)",
}
_SLOW = ("scalar", "simple")
_OTHER_NAMES = {"tensor": "simple", "cpu": "fast", "gpu": "cuda"}


# --- Settings --------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """How a network learns a data set."""

    hidden: int
    rate: float
    epochs: int
    batch: int


# Each reaches 100 % of 50 points (Spiral: 96 % or more) with each of the seeds 0 to 4.
SMALL = {
    "Simple": Settings(hidden=8, rate=0.1, epochs=300, batch=2),
    "Diag": Settings(hidden=8, rate=0.1, epochs=200, batch=2),
    "Split": Settings(hidden=8, rate=0.1, epochs=300, batch=2),
    "Xor": Settings(hidden=12, rate=0.1, epochs=400, batch=2),
    "Circle": Settings(hidden=10, rate=0.1, epochs=300, batch=2),
    "Spiral": Settings(hidden=40, rate=0.03, epochs=500, batch=2),
}
"""For the scalar and the plain-Python model, whose time grows with the square of `hidden`."""

LARGE = {
    "Simple": Settings(hidden=100, rate=0.1, epochs=400, batch=10),
    "Diag": Settings(hidden=100, rate=0.1, epochs=400, batch=10),
    "Split": Settings(hidden=100, rate=0.1, epochs=400, batch=10),
    "Xor": Settings(hidden=100, rate=0.1, epochs=400, batch=10),
    "Circle": Settings(hidden=100, rate=0.1, epochs=400, batch=10),
    "Spiral": Settings(hidden=100, rate=0.15, epochs=500, batch=10),
}
"""For the fast backends, in the course's batches of ten."""


def default_settings(dataset: str, backend: str) -> Settings:
    """The settings that learn a data set on a backend."""
    return (SMALL if backend in _SLOW else LARGE)[dataset]


def dataset_name(name: str) -> str:
    """A data set's name as `datasets` spells it, whatever the case.

    >>> dataset_name("xor")
    'Xor'
    """
    for known in datasets:
        if known.lower() == name.lower():
            return known
    raise argparse.ArgumentTypeError(f"no data set {name!r}; there are {', '.join(datasets)}")


def backend_name(name: str) -> str:
    """One of `BACKENDS`, also under the course's names cpu and gpu."""
    known = _OTHER_NAMES.get(name.lower(), name.lower())
    if known not in BACKENDS:
        raise argparse.ArgumentTypeError(f"no backend {name!r}; there are {', '.join(BACKENDS)}")
    return known


def make_trainer(backend: str, hidden: int, batch: int = 10) -> Trainer:
    """The training class of a backend, with a new network."""
    if backend == "scalar":
        return ScalarTrain(hidden, batch)
    if backend == "simple":
        return TensorTrain(hidden, SimpleBackend, batch)
    if backend == "fast":
        return FastTrain(hidden, batch=batch)
    from ..cuda_ops import CudaOps

    return FastTrain(hidden, TensorBackend(CudaOps), batch)


# --- Looking at a model ------------------------------------------------------------------


def probabilities(trainer: Trainer, X: Sequence[Point]) -> npt.NDArray[np.float64]:
    """What a model says of each point, as an array."""
    if isinstance(trainer, ScalarTrain):
        return np.array([out.data for out in trainer.run_many(X)])
    return trainer.run_many(X).to_numpy()[:, 0]


def count_correct(trainer: Trainer, data: Graph) -> int:
    """How many points a model puts on the right side of 0.5."""
    return int(((probabilities(trainer, data.X) > 0.5) == np.array(data.y, dtype=bool)).sum())


def hidden_outputs(trainer: Trainer, X: Sequence[Point]) -> list[npt.NDArray[np.float64]]:
    """What the units of each hidden layer give: arrays of (points, units)."""
    if isinstance(trainer, ScalarTrain):
        layers = zip(*[trainer.model.hidden([Scalar(v) for v in x]) for x in X], strict=True)
        return [np.array([[unit.data for unit in units] for units in layer]) for layer in layers]
    points = tensor(list(X), trainer.backend, requires_grad=False)
    return [layer.to_numpy() for layer in trainer.model.hidden(points)]


def explain_stall(trainer: Trainer, data: Graph) -> str:
    """Why training may stand still, and what to try, in words."""
    hidden = trainer.hidden_layers
    larger = f"{max(10, 2 * hidden)} hidden units"
    remedy = f"Try another seed, {larger}, or a lower rate."
    outputs = zip(("first", "second"), hidden_outputs(trainer, data.X), strict=True)
    dead = {which: int((values <= 0).all(axis=0).sum()) for which, values in outputs}
    for which, count in dead.items():
        if count == hidden:
            units = {1: "the hidden unit", 2: "both hidden units"}.get(
                hidden, f"all {hidden} hidden units"
            )
            give = "gives" if hidden == 1 else "give"
            return f"{units} of the {which} layer {give} 0 for all {data.N} points (dead ReLU). {remedy}"
    out = probabilities(trainer, data.X)
    wrong = (out > 0.5) != np.array(data.y, dtype=bool)
    stuck = int((np.minimum(out, 1 - out)[wrong] < 1e-6).sum())
    if stuck:
        return (
            f"for {stuck} wrong points the output is 0 or 1 to six places, where sigmoid is flat. "
            "The rate is too high: try a tenth of it, and start again."
        )
    for which, count in dead.items():
        if 2 * count >= hidden:
            return (
                f"{count} of {hidden} hidden units of the {which} layer give 0 for all {data.N} "
                f"points (dead ReLU). {remedy}"
            )
    return f"no unit is dead. Try a higher rate, {larger}, or another seed."


# --- One run -----------------------------------------------------------------------------


def train_points(
    dataset: str,
    backend: str = "fast",
    options: RunOptions | None = None,
    *,
    hidden: int | None = None,
    rate: float | None = None,
    epochs: int | None = None,
    batch: int | None = None,
    points: int = 50,
) -> int:
    """Train on a 2-D data set and return the exit code; what is None is taken from the tables."""
    options = options or RunOptions()
    dataset, backend = dataset_name(dataset), backend_name(backend)
    given = {"hidden": hidden, "rate": rate, "epochs": epochs, "batch": batch}
    chosen = replace(
        default_settings(dataset, backend), **{k: v for k, v in given.items() if v is not None}
    )
    set_seed(options.seed)
    data = datasets[dataset](points)
    try:
        trainer = make_trainer(backend, chosen.hidden, chosen.batch)
    except NotImplementedError:  # a place that is still to be written: no fault of this machine
        raise
    except (ImportError, RuntimeError) as error:
        sys.stderr.write(f"backend {backend}: {error}\nSee what works here: minitorch doctor\n")
        return FAILED
    session = Session(
        f"{dataset.lower()}-{backend}",
        options,
        epochs=chosen.epochs,
        points=data.N,
        settings={
            "dataset": dataset,
            "backend": backend,
            "hidden": chosen.hidden,
            "rate": chosen.rate,
            "batch": chosen.batch,
        },
        rate=chosen.rate,
    )

    def draw(path: Path) -> None:
        from .picture import draw_points

        title = f"{dataset}, {chosen.hidden} hidden units, {backend}"
        grid = 20 if backend in _SLOW else 60
        draw_points(path, session.history, data, lambda X: probabilities(trainer, X), title, grid)

    def conclude() -> str:
        correct = count_correct(trainer, data)
        return f"{correct} of {data.N} points right ({100 * correct / data.N:.0f} %)"

    return session.run(
        trainer.model,
        lambda log_fn, start: trainer.train(data, chosen.rate, chosen.epochs, log_fn, start),
        draw=draw,
        explain_stall=lambda: explain_stall(trainer, data),
        conclude=conclude,
    )


def add_arguments(
    parser: argparse.ArgumentParser, dataset: str | None = None, backend: str | None = None
) -> None:
    """The options of a run, in the course's capitals and in small letters.

    Args:
        parser: what to add them to
        dataset: the data set, if it is not to be chosen
        backend: the backend, if it is not to be chosen
    """
    add = parser.add_argument
    if dataset is None:
        names = ", ".join(name.lower() for name in datasets)
        help_text = f"one of {names} (default: simple)"
        add("--DATASET", "--dataset", type=dataset_name, default="Simple", help=help_text)
    else:
        parser.set_defaults(DATASET=dataset)
    if backend is None:
        names = "; ".join(f"{name}: {what}" for name, what in BACKENDS.items())
        help_text = f"{names}; cpu and gpu are other names of fast and cuda (default: fast)"
        add("--BACKEND", "--backend", type=backend_name, default="fast", help=help_text)
    else:
        parser.set_defaults(BACKEND=backend)
    by_dataset = "default: what learns the data set"
    add(
        "--HIDDEN", "--hidden", type=_whole_number, metavar="N", help=f"hidden units ({by_dataset})"
    )
    add(
        "--RATE",
        "--rate",
        type=_positive_number,
        metavar="R",
        help=f"learning rate at the start ({by_dataset})",
    )
    add("--EPOCHS", "--epochs", type=_whole_number, metavar="N", help=f"epochs ({by_dataset})")
    add("--BATCH", "--batch", type=_whole_number, metavar="N", help=f"points a step ({by_dataset})")
    add("--PTS", "--pts", type=_whole_number, default=50, metavar="N", help="points (default: 50)")
    add_run_arguments(parser)


def _whole_number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, at least 1, it is {text}")
    return int(text)


def _positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, it is {text}")
    return number


def run(args: argparse.Namespace) -> int:
    """Train as the arguments say; return the exit code."""
    return train_points(
        args.DATASET,
        args.BACKEND,
        run_options(args),
        hidden=args.HIDDEN,
        rate=args.RATE,
        epochs=args.EPOCHS,
        batch=args.BATCH,
        points=args.PTS,
    )


def main(description: str, backend: str | None = None, argv: list[str] | None = None) -> int:
    """Train from command line arguments; return the exit code."""
    parser = argparse.ArgumentParser(description=description)
    add_arguments(parser, backend=backend)
    return run(parser.parse_args(argv))
