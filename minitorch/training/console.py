"""What a run says: a live bar on a terminal, plain lines elsewhere, and everything in a log file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS_BETWEEN_LINES = 10.0


class Console:
    """Shows epochs and messages, and writes them to a log file.

    Args:
        log_path: the log file
        epochs: how many epochs the run will have
        live: whether to draw a bar; where `rich` is not installed there is none
        every: without a bar, show each `every`-th epoch (and the first and the last, and
            one at least every ten seconds)
        append: go on writing an older log
    """

    def __init__(
        self, log_path: Path, epochs: int, live: bool, every: int = 10, append: bool = False
    ) -> None:
        self.epochs = epochs
        self.every = every
        self._bar = _make_bar(epochs) if live else None
        self._task: Any = None
        self._last_line = 0.0
        log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log = open(log_path, "a" if append else "w", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Console:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=self.epochs, line="starting")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def close(self) -> None:
        """Finish the log file."""
        self._log.close()

    def say(self, text: str) -> None:
        """Show a message, and log it."""
        self._write_log(text)
        self._show(text)

    def epoch(self, epoch: int, line: str, seconds_left: float) -> None:
        """Show the line of an epoch that is done, and log it."""
        self._write_log(line)
        if self._bar is not None:
            text = f"{line} | {in_words(seconds_left)} left" if epoch < self.epochs else line
            self._bar.update(self._task, completed=epoch, line=text)
            return
        now = time.perf_counter()
        due = now - self._last_line > SECONDS_BETWEEN_LINES
        if epoch in (1, self.epochs) or epoch % self.every == 0 or due:
            self._show(line)
            self._last_line = now

    def within_epoch(self, epochs_done: float) -> None:
        """Move the bar to a fraction of an epoch."""
        if self._bar is not None:
            self._bar.update(self._task, completed=epochs_done)

    def _write_log(self, text: str) -> None:
        self._log.write(text + "\n")
        self._log.flush()

    def _show(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()


def _make_bar(epochs: int) -> Any:
    try:
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    return Progress(BarColumn(bar_width=24), TextColumn("{task.fields[line]}", markup=False))


def in_words(seconds: float) -> str:
    """A duration as people say it.

    >>> in_words(0.4), in_words(75), in_words(8000)
    ('1 s', '1 min 15 s', '2 h 13 min')
    """
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
