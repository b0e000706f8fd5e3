"""The numbers of a training run that a user may change on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .session import add_run_arguments

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class Recipe:
    """What trains a model well.

    Attributes:
        epochs: how often to go through the data
        rate: the learning rate of the first epoch
        batch: how many items each step looks at
        decay: what the rate is multiplied by after each epoch
    """

    epochs: int
    rate: float
    batch: int
    decay: float = 1.0


def add_recipe_arguments(parser: argparse.ArgumentParser, recipe: Recipe, items: str) -> None:
    """Options for each number of a recipe, for less data, and for the run as such.

    Args:
        parser: what to add them to
        recipe: the defaults
        items: what the data consists of, in the plural
    """

    def add(name: str, kind: Callable[[str], float], default: float | None, what: str) -> None:
        shown = "" if default is None else " (default: %(default)s)"
        parser.add_argument(
            f"--{name.upper()}",
            f"--{name}",
            type=kind,
            default=default,
            metavar="N",
            help=what + shown,
        )

    add("epochs", _positive(int), recipe.epochs, "how often to go through the data")
    add("rate", _positive(float), recipe.rate, "learning rate at the start")
    add("decay", _positive(float), recipe.decay, "of the rate after each epoch")
    add("batch", _positive(int), recipe.batch, f"{items} in each step")
    add("pts", _positive(int), None, f"only the first N {items}, for a quick look")
    add_run_arguments(parser)


def _positive(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    def parse(text: str) -> Number:
        try:
            number = kind(text)
        except ValueError:
            number = kind("0")
        if not 0 < number < float("inf"):
            raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
        return number

    return parse
