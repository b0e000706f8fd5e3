"""Running a statement often enough to say how long it takes."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable
from timeit import default_timer
from typing import Any

from ... import __name__ as package
from ...backends.interface import accelerator
from ...cuda import synchronize
from ...environment import get_num_threads, set_num_threads
from .measurement import Measurement, TaskSpec


def timer() -> float:
    """The time, after waiting for the GPU."""
    if accelerator() is not None:
        synchronize()
    return default_timer()


class Timer:
    """Measures a statement of Python.

    Args:
        stmt: the statement
        setup: a statement that runs once before
        global_setup: unused: for C++
        timer: gives the time
        globals: names that statements use
        label: what is measured, over tables
        sub_label: which row of tables it is
        description: which column
        env: where it runs
        num_threads: on how many threads
        language: must be Python's
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,  # noqa: A002
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py", "language.python", "0"):
            raise ValueError("torch.utils.benchmark: only statements of Python are measured")
        names = dict(globals or {})
        if "torch" not in names:
            from importlib import import_module

            names["torch"] = import_module(package)
        stmt, setup = textwrap.dedent(stmt), textwrap.dedent(setup)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)  # fmt: skip
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)

    def _time(self, number: int) -> float:
        before = get_num_threads()
        set_num_threads(self._task_spec.num_threads)
        try:
            return max(self._timer.timeit(number), 1e-9)
        finally:
            set_num_threads(before)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run it so many times, after a few that do not count."""
        self._time(max(number // 100, 2))
        return Measurement(number, [self._time(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not there, as in Torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Not there, as in Torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """How many runs take long enough for the clock not to matter."""
        number = 1
        while True:
            taken = self._time(number)
            if taken >= min_run_time / 1000 and taken > 1e-4:
                return number
            number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Run it in blocks for at least so many seconds."""
        number = self._block_size(min_run_time)
        return self._measured(number, min_run_time, callback, lambda _: True)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:  # fmt: skip
        """Run it in blocks until times differ little, or for the longest time."""
        number = self._block_size(min_run_time)
        done = lambda made: made.meets_confidence(threshold)  # noqa: E731
        return self._measured(number, min_run_time, callback, done, max_run_time)

    def _measured(
        self, number: int, least: float, callback: Any, done: Callable[[Measurement], bool], most: float = float("inf")
    ) -> Measurement:  # fmt: skip
        made = Measurement(number, [], self._task_spec)
        total = 0.0
        while total < least or (not done(made) and total < most):
            taken = self._time(number)
            made.raw_times.append(taken)
            total += taken
            if callback is not None:
                callback(number, taken)
        return made
