"""Tasks 5.4 and 5.5: train a GPT on a text, on either floor, and let it write."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..optim import SGD
from ..transformer import GPT, cross_entropy
from .console import Console
from .layers import fast_backend
from .session import FAILED, INTERRUPTED, OK, set_seed
from .texts import Text, load_text

Batch = list[list[int]]


@dataclass(frozen=True)
class Recipe:
    """Sizes of a model and of its training.

    Attributes:
        steps: how often to learn from a batch
        rate: the highest learning rate
        batch: pieces of text in a batch
        length: characters that the model can see
        width: numbers that stand for one of them
        heads: of each block's attention
        layers: how many blocks
    """

    steps: int
    rate: float
    batch: int
    length: int
    width: int
    heads: int = 4
    layers: int = 2


GROUND = Recipe(steps=2500, rate=0.5, batch=8, length=32, width=32)
TORCH = Recipe(steps=3000, rate=2e-3, batch=16, length=64, width=128, layers=4)
WARM_UP = 100
"""Steps in which the learning rate rises."""


class Trainer(Protocol):
    """A model that learns and writes."""

    def step(self, ids: Batch, targets: Batch, rate: float) -> float:
        """Learn from a batch; the loss before."""
        ...

    def loss(self, ids: Batch, targets: Batch) -> float:
        """The mean loss of a batch, in nats per character."""
        ...

    def write(self, ids: list[int], count: int, temperature: float) -> list[int]:
        """The ids with more behind them."""
        ...


class GroundTrainer:
    """The GPT of `transformer.py` and SGD, on the fast backend."""

    def __init__(self, vocabulary: int, recipe: Recipe) -> None:
        r = recipe
        self.model = GPT(vocabulary, r.length, r.width, r.heads, r.layers, fast_backend())
        self.optimizer = SGD(self.model.parameters(), r.rate)

    def step(self, ids: Batch, targets: Batch, rate: float) -> float:
        """Learn from a batch; the loss before."""
        self.optimizer.lr = rate
        self.optimizer.zero_grad()
        loss = cross_entropy(self.model(ids), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def loss(self, ids: Batch, targets: Batch) -> float:
        """The mean loss of a batch, in nats per character."""
        return cross_entropy(self.model(ids), targets).item()

    def write(self, ids: list[int], count: int, temperature: float) -> list[int]:
        """The ids with more behind them."""
        return self.model.generate(ids, count, temperature)


class TorchTrainer:
    """The GPT of `torch_transformer.py` and AdamW."""

    def __init__(self, vocabulary: int, recipe: Recipe) -> None:
        from .. import torch, torch_transformer

        r = recipe
        self.torch, self.code = torch, torch_transformer
        self.model = torch_transformer.GPT(vocabulary, r.length, r.width, r.heads, r.layers)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=r.rate, betas=(0.9, 0.99), weight_decay=0.1
        )

    def step(self, ids: Batch, targets: Batch, rate: float) -> float:
        """Learn from a batch; the loss before."""
        tensor = self.torch.tensor
        self.optimizer.param_groups[0]["lr"] = rate
        return self.code.train_step(self.model, self.optimizer, tensor(ids), tensor(targets))

    def loss(self, ids: Batch, targets: Batch) -> float:
        """The mean loss of a batch, in nats per character."""
        tensor, functional = self.torch.tensor, self.torch.nn.functional
        with self.torch.no_grad():
            scores = self.model(tensor(ids)).flatten(0, 1)
            return functional.cross_entropy(scores, tensor(targets).flatten()).item()

    def write(self, ids: list[int], count: int, temperature: float) -> list[int]:
        """The ids with more behind them."""
        return self.model.generate(self.torch.tensor(ids), count, temperature).tolist()


FLOORS: dict[str, tuple[type[GroundTrainer] | type[TorchTrainer], Recipe]] = {
    "ground": (GroundTrainer, GROUND),
    "torch": (TorchTrainer, TORCH),
}


def learning_rate(step: int, recipe: Recipe) -> float:
    """The rate of a step, from 1: a straight line up, then half a cosine down to a tenth.

    >>> recipe = Recipe(steps=1100, rate=1.0, batch=1, length=1, width=1)
    >>> [round(learning_rate(step, recipe), 2) for step in (1, 50, 100, 600, 1100)]
    [0.01, 0.5, 1.0, 0.55, 0.1]
    """
    if step < WARM_UP:
        return recipe.rate * step / WARM_UP
    progress = (step - WARM_UP) / max(recipe.steps - WARM_UP, 1)
    return recipe.rate * (0.1 + 0.45 * (1.0 + math.cos(math.pi * min(progress, 1.0))))


def validate(trainer: Trainer, text: Text, recipe: Recipe, batches: int | None = None) -> float:
    """The mean loss on the text that was held out, or on its first batches."""
    total = count = 0.0
    for ids, targets in text.validation_batches(64, recipe.length)[:batches]:
        total += trainer.loss(ids, targets) * len(ids)
        count += len(ids)
    return total / count


def train(
    trainer: Trainer,
    text: Text,
    recipe: Recipe,
    log: Callable[[int, float, float], Any] = lambda step, loss, seconds: None,
) -> None:
    """Learn from random pieces; `log` gets each step's number, its loss and the seconds so far."""
    began = time.perf_counter()
    for step in range(1, recipe.steps + 1):
        ids, targets = text.pieces(recipe.batch, recipe.length)
        loss = trainer.step(ids, targets, learning_rate(step, recipe))
        log(step, loss, time.perf_counter() - began)


# --- The command -----------------------------------------------------------------------------


class Progress:
    """Shows steps, samples and losses while a model learns."""

    def __init__(
        self, console: Console, trainer: Trainer, text: Text, recipe: Recipe, args: Any
    ) -> None:
        self.console, self.trainer, self.text = console, trainer, text
        self.recipe, self.args = recipe, args
        self.losses: list[float] = []

    def log(self, step: int, loss: float, seconds: float) -> None:
        """After each step."""
        self.losses.append(loss)
        steps = self.recipe.steps
        if step % self.args.every == 0 or step == steps:
            recent = statistics.fmean(self.losses[-self.args.every :])
            line = f"step {step}/{steps} | loss {recent:.3f} | {1000 * seconds / step:.0f} ms/step"
            self.console.epoch(step, line, seconds / step * (steps - step))
        else:
            self.console.within_epoch(step)
        if step % self.args.sample_every == 0 and step < steps:
            held_out = validate(self.trainer, self.text, self.recipe, batches=4)
            self.console.say(f"validation loss {held_out:.3f}; it writes:\n{self.sample(120)}")

    def sample(self, count: int) -> str:
        """What the model writes, beginning with a new line."""
        ids = self.text.encode("\n")
        written = self.trainer.write(ids, count, self.args.temperature)
        return self.text.decode(written[1:])


def run(args: argparse.Namespace) -> int:
    """Train, validate, write; 130 after Ctrl-C, with what was learned so far."""
    make, usual = FLOORS[args.floor]
    chosen = {name: getattr(args, name) for name in Recipe.__dataclass_fields__}
    recipe = Recipe(**{n: getattr(usual, n) if v is None else v for n, v in chosen.items()})
    if recipe.width % recipe.heads:
        sys.stderr.write(f"--width {recipe.width} is not a multiple of --heads {recipe.heads}\n")
        return FAILED
    set_seed(args.seed)
    if args.floor == "torch":
        from .. import torch

        torch.manual_seed(args.seed)
    text = load_text()
    if args.compare:
        compare(text)
        return OK
    trainer = make(len(text.characters), recipe)
    live = sys.stdout.isatty() and not args.plain
    console = Console(args.out / f"{args.floor}.txt", recipe.steps, live, every=1)
    progress = Progress(console, trainer, text, recipe, args)
    guess = math.log(len(text.characters))
    console.say(
        f"{text.name}: {len(text.train):,} characters to learn from, {len(text.validation):,} held "
        f"out, {len(text.characters)} different ones.\nLoss is in nats per character; guessing "
        f"evenly gives log({len(text.characters)}) = {guess:.3f}."
    )
    code = OK
    try:
        with console:
            train(trainer, text, recipe, progress.log)
    except KeyboardInterrupt:
        code = INTERRUPTED
        console.say("Stopped by Ctrl-C; this is what was learned so far.")
    console.say(f"validation loss, all of it: {validate(trainer, text, recipe):.3f}")
    console.say(progress.sample(args.write))
    console.close()
    return code


def compare(text: Text) -> None:
    """One model on both floors with the same weights: the scores, and the time of a step."""
    from .. import torch, torch_transformer

    ground = GroundTrainer(len(text.characters), GROUND)
    upper = TorchTrainer(len(text.characters), GROUND)
    torch_transformer.carry_over(ground.model, upper.model)
    ids, targets = text.pieces(GROUND.batch, GROUND.length)
    scores = ground.model(ids).to_numpy()
    difference = abs(upper.model.forward(torch.as_tensor(ids)).detach().numpy() - scores).max()
    sys.stdout.write(f"largest difference of {scores.size} scores: {difference:.1e}\n")
    times: dict[str, list[float]] = {"ground": [], "torch": []}
    for _ in range(23):
        for name, trainer in (("ground", ground), ("torch", upper)):
            began = time.perf_counter()
            trainer.step(ids, targets, 1e-4)
            times[name].append(time.perf_counter() - began)
    for name, seconds in times.items():
        median = 1000 * statistics.median(seconds[3:])
        sys.stdout.write(f"{name:6} {median:8.2f} ms a step\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `project/run_gpt.py`."""
    add = parser.add_argument
    add("--floor", choices=list(FLOORS), default="torch", help="whose tensors (default: torch)")
    for name, what in {
        "steps": "how often to learn from a batch",
        "rate": "highest learning rate",
        "batch": "pieces of text in a batch",
        "length": "characters that the model can see",
        "width": "numbers that stand for one of them",
        "heads": "heads of each block",
        "layers": "blocks",
    }.items():
        values = " and ".join(f"{getattr(r, name)} ({floor})" for floor, (_, r) in FLOORS.items())
        kind = float if name == "rate" else int
        add(f"--{name}", type=kind, metavar="N", help=f"{what} (default: {values})")
    add("--temperature", type=float, default=0.8, metavar="N", help="of writing (default: 0.8)")
    add("--write", type=int, default=500, metavar="N", help="characters at the end (default: 500)")
    add("--every", type=int, default=100, metavar="N", help="steps between lines (default: 100)")
    add("--sample-every", type=int, default=500, metavar="N", help="between samples (default: 500)")
    add("--seed", type=int, default=0, metavar="N", help="of all random numbers (default: 0)")
    add("--out", type=Path, default=Path("runs/gpt"), metavar="DIR", help="folder for the log")
    add("--plain", action="store_true", help="lines instead of a live bar, even on a terminal")
    add("--compare", action="store_true", help="do not train: the same model on both floors")


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description="Train a small GPT on Shakespeare, character by character, and let it write."
    )
    add_arguments(parser)
    args = parser.parse_args(argv)
    for name in ("steps", "batch", "length", "width", "heads", "layers", "every", "sample_every"):
        if getattr(args, name) is not None and getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if not args.temperature > 0:
        parser.error("--temperature must be above 0")
    return run(args)
