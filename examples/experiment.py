"""What every example shares: its options, its steps, its log."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, TypeVar

import torch

Batch = TypeVar("Batch")


def options(name: str, about: str | None, steps: int, log_every: int) -> argparse.ArgumentParser:
    """The options that all examples have; each adds its own."""
    parser = argparse.ArgumentParser(
        prog=name,
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=steps, help=f"optimizer steps ({steps})")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random numbers (1)")
    parser.add_argument("--log-every", type=int, default=log_every, help="steps per printed line")
    parser.add_argument("--device", default="cpu", help="where to compute: cpu, cuda (cpu)")
    parser.add_argument("--compile", action="store_true", help="compile the training step or model")
    parser.add_argument("--double", action="store_true", help="compute in float64")
    parser.add_argument("--out", type=Path, default=Path("runs", name), help="folder of results")
    return parser


def start(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, Log]:
    """Read the command line, seed the random numbers, open the log."""
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    if args.double:
        torch.set_default_dtype(torch.float64)
    args.out.mkdir(parents=True, exist_ok=True)
    if args.compile:
        logging.basicConfig(level=logging.INFO, format="%(message)s")  # which kernels are compiled
    return args, Log(args.out, args.log_every, go_on=getattr(args, "resume", False))


def compiled(step: Callable[..., Any], args: argparse.Namespace) -> Callable[..., Any]:
    """A step or a model, compiled if that is asked for."""
    return torch.compile(step) if args.compile else step


def take(batches: Iterable[Batch], steps: int, device: str) -> Iterator[tuple[int, Batch]]:
    """Go through the batches again and again, on a device; number them from 1 to `steps`."""
    epochs = chain.from_iterable(repeat(batches))
    return enumerate(moved(islice(epochs, steps), device), start=1)


def moved(batches: Iterable[Batch], device: str) -> Iterator[Batch]:
    """Batches with their tensors on a device."""
    for batch in batches:
        parts: Any = batch
        yield type(parts)(x.to(device) if isinstance(x, torch.Tensor) else x for x in parts)


class Log:
    """Prints lines such as `step 10 | loss 1.2345` and writes their full digits to a file."""

    def __init__(self, folder: Path, every: int, go_on: bool = False) -> None:
        self.folder, self.every = folder, every
        if not go_on:
            (folder / "log.jsonl").write_text("")

    def progress(self, step: int, **values: Any) -> None:
        """Report one of many steps: every few are shown."""
        if step % self.every == 0:
            self.result(step, **values)

    def result(self, step: int, **values: Any) -> None:
        """Report numbers (or tensors of one number) that are always shown."""
        numbers = {
            name: value.item() if isinstance(value, torch.Tensor) else float(value)
            for name, value in values.items()
        }
        words = [f"{name.replace('_', ' ')} {shown(number)}" for name, number in numbers.items()]
        print(" | ".join([f"step {step}", *words]), flush=True)  # noqa: T201
        with (self.folder / "log.jsonl").open("a") as file:
            file.write(json.dumps({"step": step, **numbers}) + "\n")

    def text(self, text: str) -> None:
        """Show a text and keep it."""
        print(text)  # noqa: T201
        (self.folder / "text.txt").write_text(text)


def shown(number: float) -> str:
    """Four digits after the point, or as many that count if the number is small."""
    return f"{number:.4f}" if number == 0 or abs(number) >= 0.01 else f"{number:.4g}"
