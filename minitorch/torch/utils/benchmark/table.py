"""Measurements side by side: rows by `sub_label`, columns by `description`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .measurement import Measurement, select_unit, unit_to_english


class Compare:
    """Tables of measurements, one for each label."""

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(
                    f"Expected an instance of `Measurement`, got {type(result)} instead."
                )
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """Show no more digits than were measured."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Nothing: tables are plain text."""

    def highlight_warnings(self) -> None:
        """Nothing: measurements say themselves where times differ much."""

    def print(self) -> None:
        """Write the tables to the standard output."""
        print(str(self))  # noqa: T201

    def __str__(self) -> str:
        merged = Measurement.merge(self._results)
        labels = dict.fromkeys(m.label for m in merged)
        return "\n".join(self._table([m for m in merged if m.label == label]) for label in labels)

    def _table(self, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in results))
        columns = list(dict.fromkeys(m.description or "" for m in results))
        rows = list(dict.fromkeys((m.num_threads, m.as_row_name) for m in results))
        cells = {
            (m.num_threads, m.as_row_name, m.description or ""): self._shown(m.median / scale)
            for m in results
        }
        wide = max(len(name) for _, name in rows) + 6
        widths = [max(len(c), *(len(cells.get((*r, c), "")) for r in rows)) for c in columns]
        head = " " * wide + "".join(f"  |  {c:^{w}}" for c, w in zip(columns, widths, strict=True))
        lines = [f"[{f' {results[0].label or results[0].stmt} ':-^{max(len(head) - 2, 4)}}]", head]
        threads: Any = None
        for count, name in rows:
            if count != threads:
                lines.append(f"{count} threads: ".ljust(len(head), "-"))
                threads = count
            values = [
                f"  |  {cells.get((count, name, c), ''):>{w}}" for c, w in zip(columns, widths, strict=True)
            ]  # fmt: skip
            lines.append(f"      {name}".ljust(wide) + "".join(values))
        return "\n".join([*lines, "", f"Times are in {unit_to_english(unit)}s ({unit}).", ""])

    def _shown(self, value: float) -> str:
        return f"{value:.2g}" if self._trim and value < 10 else f"{value:.1f}"
