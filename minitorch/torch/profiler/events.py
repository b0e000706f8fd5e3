"""Recorded events, their sums by name, and tables of them."""

from __future__ import annotations

import json
import os
import threading
from typing import Any


class FunctionEvent:
    """One event; times are in microseconds."""

    count = 1
    is_async = False
    device_time_total = self_device_time_total = cuda_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0

    def __init__(self, name: str, start: int, shapes: list[Any]) -> None:
        self.name = self.key = name
        self.start_ns = start
        self.input_shapes = shapes
        self.thread = threading.get_ident()
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    def end(self, now: int) -> None:
        """Set the end."""
        self.cpu_time_total = (now - self.start_ns) / 1000
        self.self_cpu_time_total = self.cpu_time_total

    def add_child(self, child: FunctionEvent) -> None:
        """Add an event that happened within it."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    @property
    def cpu_time(self) -> float:
        """The duration."""
        return self.cpu_time_total

    def own_time(self) -> float:
        """The duration without that of its children."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent name={self.name} cpu_time={format_time(self.cpu_time_total)} "
            f"thread={self.thread} input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg:
    """All events of one name; times are in microseconds."""

    device_time_total = self_device_time_total = cuda_time_total = 0.0
    cpu_memory_usage = self_cpu_memory_usage = 0

    def __init__(self, key: str, shapes: list[Any]) -> None:
        self.key = key
        self.input_shapes = shapes
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0

    def add(self, event: FunctionEvent) -> None:
        """Add an event."""
        self.count += 1
        self.self_cpu_time_total += event.own_time()
        if not _within_its_like(event):
            self.cpu_time_total += event.cpu_time_total

    @property
    def cpu_time(self) -> float:
        """The mean duration."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={format_time(self.self_cpu_time_total)} "
            f"cpu_time={format_time(self.cpu_time)} input_shapes={self.input_shapes}>"
        )


def _within_its_like(event: FunctionEvent) -> bool:
    """Whether it is within an event of the same name, whose time includes it."""
    parent = event.cpu_parent
    while parent is not None:
        if parent.key == event.key:
            return True
        parent = parent.cpu_parent
    return False


def format_time(microseconds: float) -> str:
    """A time with a suitable unit."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


class EventList(list[Any]):
    """Events, or sums of them by name."""

    @property
    def self_cpu_time_total(self) -> float:
        """The total time."""
        return sum(
            e.own_time() if isinstance(e, FunctionEvent) else e.self_cpu_time_total for e in self
        )

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, **_: Any
    ) -> EventList:
        """The sums by name, or by name and shapes."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else []
            key = event.key, str(shapes)
            found.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg("Total", [])
        for event in self:
            total.count += event.count
            total.cpu_time_total += event.cpu_time_total
            total.self_cpu_time_total += event.self_cpu_time_total
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        **_: Any,
    ) -> str:
        """The events as a text table, the longest ones first."""
        rows: list[Any] = list(self)
        if sort_by is not None:
            by = sort_by.replace("cuda", "device")
            rows.sort(key=lambda e: getattr(e, by), reverse=True)
        if top_level_events_only:
            rows = [e for e in rows if getattr(e, "cpu_parent", None) is None]
        total = self.self_cpu_time_total
        shaped = any(e.input_shapes for e in rows)
        titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        titles += ["# of Calls", *(["Input Shapes"] if shaped else [])]
        lines = [titles, *(_row(e, total, shaped, max_name_column_width) for e in rows[:row_limit])]
        widths = [max(12, *(len(line[i]) for line in lines)) + 2 for i in range(len(titles))]
        rule = "  ".join("-" * w for w in widths) + "  "
        text = [
            "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in lines
        ]
        top = [header] if header else []
        end = f"Self CPU time total: {format_time(total)}"
        return "\n".join([*top, rule, text[0], rule, *text[1:], rule, end, ""])

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that chrome://tracing shows."""
        entries = [
            {
                "name": e.name, "ph": "X", "ts": e.start_ns / 1000, "dur": e.cpu_time_total,
                "pid": os.getpid(), "tid": e.thread, "cat": "cpu_op",
                "args": {"Input Dims": e.input_shapes},
            }
            for e in self
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": entries}, file)

    def __str__(self) -> str:
        return self.table()


def _row(event: Any, total: float, shaped: bool, width: int) -> list[str]:
    """One line of a table."""
    own = event.own_time() if isinstance(event, FunctionEvent) else event.self_cpu_time_total
    share = 100 / total if total else 0.0
    name = event.key if len(event.key) <= width else f"{event.key[: width - 3]}..."
    cells = [
        name, f"{own * share:.2f}%", format_time(own), f"{event.cpu_time_total * share:.2f}%",
        format_time(event.cpu_time_total), format_time(event.cpu_time), str(event.count),
    ]  # fmt: skip
    return [*cells, str(event.input_shapes)] if shaped else cells
