"""A training run around a lesson loop: log, progress, checkpoint, resume, interrupt, picture.

A loop knows nothing of this file. It calls `log_fn(epoch, total_loss, correct, losses)` after
each epoch, and a `Session` listens there:

    set_seed(options.seed)                  # before data and model are made
    trainer, data = FastTrain(100), datasets["Xor"](50)
    session = Session("xor", options, epochs=500, points=50, settings={"hidden": 100})
    exit_code = session.run(
        trainer.model,
        lambda log_fn, start: trainer.train(data, 0.5, 500, log_fn, start),
    )

Everything random must come from Python's `random` or `np.random`'s global functions, whose
state is kept with each epoch. Then a run that was interrupted and resumed gives the very
numbers of one that was not.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..module import Module
from .checkpoint import (
    Arrays,
    Checkpoint,
    CheckpointError,
    History,
    load_checkpoint,
    load_parameters,
    parameter_arrays,
    random_state,
    save_checkpoint,
    set_random_state,
)
from .checkpoint import set_seed as set_seed
from .console import Console
from .messages import Watcher, epoch_line

OK, FAILED, INTERRUPTED = 0, 1, 130
SECONDS_BETWEEN_CHECKPOINTS = 10.0


class LogFn(Protocol):
    """What a training loop calls after each epoch."""

    def __call__(
        self, epoch: int, total_loss: float, correct: int, losses: list[float], /
    ) -> Any: ...


class KeepsState(Protocol):
    """Something besides the model, such as an optimizer, whose arrays a checkpoint keeps."""

    def state_arrays(self) -> Arrays:
        """What to keep."""
        ...

    def load_state_arrays(self, arrays: Arrays) -> None:
        """Take back what was kept."""
        ...


class Diverged(RuntimeError):  # noqa: N818
    """The loss is no longer a number."""


@dataclass
class RunOptions:
    """What a user may choose about any run.

    Attributes:
        seed: of all random numbers
        out: the folder for log.txt, checkpoint.npz and picture.png; runs/<name> if None
        checkpoint: another place for the checkpoint
        resume: go on from the checkpoint
        live: draw a progress bar; if None, on a terminal only
        every: without a bar, show each `every`-th epoch
        picture: draw one at the end
    """

    seed: int = 0
    out: Path | None = None
    checkpoint: Path | None = None
    resume: bool = False
    live: bool | None = None
    every: int = 10
    picture: bool = True


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line options of `RunOptions`."""
    group = parser.add_argument_group("the run")
    group.add_argument(
        "--seed", type=int, default=0, help="seed of all random numbers (default: 0)"
    )
    group.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the results (default: runs/<name>)"
    )
    group.add_argument(
        "--checkpoint", type=Path, metavar="FILE", help="default: checkpoint.npz in that folder"
    )
    group.add_argument(
        "--resume", action="store_true", help="continue from the checkpoint of an earlier run"
    )
    group.add_argument(
        "--plain", action="store_true", help="lines instead of a live bar, even on a terminal"
    )
    group.add_argument("--no-picture", action="store_true", help="draw no picture at the end")


def run_options(args: argparse.Namespace) -> RunOptions:
    """The options that `add_run_arguments` parsed."""
    return RunOptions(
        seed=args.seed,
        out=args.out,
        checkpoint=args.checkpoint,
        resume=args.resume,
        live=False if args.plain else None,
        picture=not args.no_picture,
    )


def print_epoch(epoch: int, total_loss: float, correct: int, losses: list[float]) -> None:
    """The `log_fn` of a loop that is run without a session: every tenth epoch, one line."""
    if epoch == 1 or epoch % 10 == 0:
        sys.stdout.write(epoch_line(epoch, total_loss, str(correct)) + "\n")


class Session:
    """One run of one training loop.

    Args:
        name: of the run, and of its folder below runs/
        options: what the user chose
        epochs: how many epochs the whole run has
        points: how many items `correct` counts at most
        validation_points: the same for the validation set, if there is one
        settings: what must be equal when resuming (JSON values: data set, hidden, rate, ...)
        rate: the learning rate, for messages

    After `run`, `history` holds the losses, correct counts and seconds of all epochs.
    """

    def __init__(
        self,
        name: str,
        options: RunOptions,
        *,
        epochs: int,
        points: int,
        validation_points: int = 0,
        settings: dict[str, Any] | None = None,
        rate: float | None = None,
    ) -> None:
        if epochs < 1:
            raise ValueError(f"epochs must be at least 1, it is {epochs}")
        self.name = name
        self.options = options
        self.epochs = epochs
        self.points = points
        self.validation_points = validation_points
        self.rate = rate
        self.settings = {"name": name, "seed": options.seed, "points": points, **(settings or {})}
        self.history = History()
        self.folder = options.out if options.out is not None else Path("runs") / name
        self.checkpoint_path = options.checkpoint or self.folder / "checkpoint.npz"
        self.log_path = self.folder / "log.txt"
        self.picture_path = self.folder / "picture.png"
        self._keeper: KeepsState | None = None
        self._latest: Checkpoint | None = None
        self._watcher = Watcher(points, rate)

    def run(
        self,
        model: Module,
        train: Callable[[LogFn, int], Any],
        *,
        draw: Callable[[Path], None] | None = None,
        explain_stall: Callable[[], str] | None = None,
        conclude: Callable[[], str] | None = None,
        keeper: KeepsState | None = None,
    ) -> int:
        """Train, and return the exit code: 0, 1 after an error, 130 after Ctrl-C.

        Args:
            model: whose parameters are saved and restored
            train: is given the log function and the first epoch to run
            draw: draws the picture at a path; loss and accuracy curves unless given
            explain_stall: says in words why the loss may stand still and what to try
            conclude: gives a last line about the trained model
            keeper: holds further state to save, such as an optimizer's
        """
        self._model, self._keeper = model, keeper
        self._watcher.explain_stall = explain_stall
        start = 1
        if self.options.resume:
            try:
                start = self._load() + 1
            except CheckpointError as error:
                sys.stderr.write(f"Cannot resume: {error}\n")
                return FAILED
        try:
            return self._run(train, start, draw, conclude)
        except OSError as error:
            sys.stderr.write(
                f"Cannot write the results: {error}. Choose another folder: --out DIR\n"
            )
            return FAILED

    def _run(
        self,
        train: Callable[[LogFn, int], Any],
        start: int,
        draw: Callable[[Path], None] | None,
        conclude: Callable[[], str] | None,
    ) -> int:
        live = sys.stdout.isatty() if self.options.live is None else self.options.live
        self._console = Console(
            self.log_path, self.epochs, live, self.options.every, append=self.options.resume
        )
        if start > 1:
            self._console.say(f"Resumed after epoch {start - 1} from {self.checkpoint_path}")
        if start > self.epochs:
            self._console.say(f"All {self.epochs} epochs are done; give more with --epochs.")
        self._clock = self._last_saved = time.perf_counter()
        try:
            exit_code = self._train(train, start)
            if exit_code == OK:
                if conclude is not None:
                    self._console.say(conclude())
                self._finish(draw)
        finally:
            self._console.close()
        return exit_code

    def _train(self, train: Callable[[LogFn, int], Any], start: int) -> int:
        try:
            with self._console:
                train(self.log, start)
        except KeyboardInterrupt:
            self._save()
            done = self.history.epoch
            kept = (
                f"; {self.checkpoint_path} holds epoch {done}. Go on with --resume" if done else ""
            )
            self._console.say(f"\nStopped by Ctrl-C after epoch {done}/{self.epochs}{kept}.")
            return INTERRUPTED
        except Diverged as stop:
            self._save()
            self._console.say(f"Stopped: {stop}")
            return FAILED
        return OK

    def _finish(self, draw: Callable[[Path], None] | None) -> None:
        self._save()
        results = [self.log_path, self.checkpoint_path]
        if self.options.picture and self.history.epoch:
            try:
                (draw or self._draw_curves)(self.picture_path)
                results.append(self.picture_path)
            except ImportError as error:
                self._console.say(
                    f"No picture: {error}. Get it with: pip install 'minitorch[train]'"
                )
        self._console.say("Results: " + ", ".join(str(path) for path in results))

    def _draw_curves(self, path: Path) -> None:
        from .picture import draw_curves

        draw_curves(path, self.history, self.points, self.validation_points, title=self.name)

    # --- Listening to the loop ---------------------------------------------------

    def log(
        self,
        epoch: int,
        total_loss: float,
        correct: int,
        losses: list[float] | None = None,
        validation: int | None = None,
    ) -> None:
        """Record an epoch that is done: the loop's `log_fn`.

        Args:
            epoch: its number, from 1
            total_loss: over all points
            correct: how many points were classified right
            losses: of all epochs so far; part of the course's signature, not used here
            validation: how many validation points were classified right
        """
        now = time.perf_counter()
        if not math.isfinite(total_loss):
            rate = "" if self.rate is None else f" {self.rate:g}"
            raise Diverged(
                f"the loss of epoch {epoch} is {total_loss}: the rate{rate} is too high for this model. "
                + (f"Try --rate {self.rate / 10:g}." if self.rate else "Try a lower one.")
            )
        history = self.history
        history.losses.append(float(total_loss))
        history.correct.append(int(correct))
        if validation is not None:
            history.validation.append(int(validation))
        history.seconds.append(now - self._clock)
        per_epoch = self._seconds_per_epoch()
        self._console.epoch(epoch, self.line(epoch), per_epoch * (self.epochs - epoch))
        self._remember()
        if now - self._last_saved > SECONDS_BETWEEN_CHECKPOINTS:
            self._save()
        for message in self._watcher.messages(history.losses, history.correct[-1]):
            self._console.say(message)
        self._clock = time.perf_counter()

    def within_epoch(self, done: int, total: int) -> None:
        """Move the live bar inside a long epoch: `done` of `total` batches."""
        self._console.within_epoch(self.history.epoch + done / total)

    def line(self, epoch: int) -> str:
        """The one format of a line about an epoch."""
        history, i = self.history, epoch - 1
        validation = None
        if len(history.validation) > i:
            validation = f"{history.validation[i]}/{self.validation_points}"
        return epoch_line(
            f"{epoch}/{self.epochs}",
            history.losses[i],
            f"{history.correct[i]}/{self.points}",
            validation,
            self._seconds_per_epoch(),
        )

    def _seconds_per_epoch(self) -> float:
        """Over the last ten epochs, without the first, which may compile."""
        recent = self.history.seconds[1:][-10:] or self.history.seconds
        return sum(recent) / len(recent)

    # --- Checkpoints -----------------------------------------------------------------

    def _remember(self) -> None:
        """Keep the state after this epoch, which is what an interrupt in the next one saves."""
        self._latest = Checkpoint(
            self.settings,
            self.history.copy(),
            parameter_arrays(self._model),
            random_state(),
            self._keeper.state_arrays() if self._keeper else {},
        )

    def _save(self) -> None:
        if self._latest is None:
            return
        save_checkpoint(self.checkpoint_path, self._latest)
        self._last_saved = time.perf_counter()

    def _load(self) -> int:
        checkpoint = load_checkpoint(self.checkpoint_path)
        for key in sorted(self.settings.keys() | checkpoint.settings.keys()):
            saved, now = checkpoint.settings.get(key), self.settings.get(key)
            if saved != now:
                raise CheckpointError(
                    f"{self.checkpoint_path} was made with {key} = {saved!r}, now it is {now!r}; "
                    f"give the same, or start again without --resume"
                )
        try:
            load_parameters(self._model, checkpoint.parameters)
            if self._keeper is not None:
                self._keeper.load_state_arrays(checkpoint.state)
        except (CheckpointError, KeyError, ValueError) as error:
            raise CheckpointError(f"{self.checkpoint_path}: {error}") from None
        set_random_state(checkpoint.random_state)
        self.history = checkpoint.history
        self._latest = checkpoint
        return checkpoint.history.epoch
