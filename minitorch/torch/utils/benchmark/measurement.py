"""What a timer measured, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

UNITS = [
    ("ns", 1e-9, "nanosecond"),
    ("us", 1e-6, "microsecond"),
    ("ms", 1e-3, "millisecond"),
    ("s", 1.0, "second"),
]
MAX_VARIATION = 0.10
"""Where half of the times differ by more of the median, that is said."""


def select_unit(t: float) -> tuple[str, float]:
    """A unit in which a time is neither too large nor too small, and how many seconds it is."""
    name, seconds, _ = next((u for u in reversed(UNITS) if t >= u[1]), UNITS[0])
    return name, seconds


def unit_to_english(unit: str) -> str:
    """The name of a unit."""
    return next(name for short, _, name in UNITS if short == unit)


@dataclass(frozen=True)
class TaskSpec:
    """What was measured: the statement, and what the program calls it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """What it is called, in one line."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{self.stmt}"

    def setup_str(self) -> str:
        """What comes before it."""
        return "" if self.setup in ("", "pass") else f"setup: {self.setup}"

    def summarize(self) -> str:
        """What it is called, in lines."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


@dataclass
class Measurement:
    """Times of one statement.

    Attributes:
        number_per_run: how often it ran in each of them
        raw_times: in seconds, of all runs together
        task_spec: what was measured
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    @property
    def times(self) -> list[float]:
        """Seconds of one run each."""
        return [t / self.number_per_run for t in self.raw_times]

    mean = property(lambda self: float(np.mean(self.times)), doc="The mean of the times.")
    median = property(lambda self: float(np.median(self.times)), doc="The median of the times.")

    @property
    def iqr(self) -> float:
        """From which time to which half of them lie."""
        low, high = self._quartiles()
        return high - low

    def _quartiles(self) -> tuple[float, float]:
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float(low), float(high)

    title = property(lambda self: self.task_spec.title, doc="What was measured.")
    stmt = property(lambda self: self.task_spec.stmt, doc="The statement.")
    label = property(lambda self: self.task_spec.label, doc="What the program calls it.")
    sub_label = property(lambda self: self.task_spec.sub_label, doc="Its row of a table.")
    description = property(lambda self: self.task_spec.description, doc="Its column of a table.")
    env = property(lambda self: self.task_spec.env or "Unspecified env", doc="Where it ran.")
    num_threads = property(lambda self: self.task_spec.num_threads, doc="On how many threads.")

    @property
    def as_row_name(self) -> str:
        """Its row in a table."""
        return self.sub_label or self.stmt or "[Unknown]"

    @property
    def has_warnings(self) -> bool:
        """Whether times differ much."""
        return len(self.times) > 1 and self.iqr / self.median > MAX_VARIATION

    def meets_confidence(self, threshold: float = MAX_VARIATION) -> bool:
        """Whether half of the times differ by less than a part of the median."""
        return len(self.times) > 1 and self.iqr / self.median < threshold

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same statements joined."""
        found: dict[tuple[TaskSpec, int], list[float]] = {}
        for each in measurements:
            found.setdefault((each.task_spec, each.number_per_run), []).extend(each.raw_times)
        return [Measurement(number, times, spec) for (spec, number), times in found.items()]

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.times)
        lines = [f"<{type(self).__module__}.Measurement object at {id(self):#x}>"]
        lines.append(self.task_spec.summarize())
        if count > 1:
            low, high = self._quartiles()
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            if count >= 4:
                lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")  # fmt: skip
        else:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        runs = f"{self.number_per_run} runs {'per measurement' if count > 1 else ''}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {count} measurement{'s' if count > 1 else ''}, {runs}, {threads}")
        if self.has_warnings:
            share = self.iqr / self.median * 100
            lines.append(
                f"  WARNING: Interquartile range is {share:.1f}% of the median measurement."
            )
        return "\n".join(lines)
