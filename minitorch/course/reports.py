"""What a grading run leaves: tables, everything as JSON, a journal; safe to open and to show."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .tasks import BY_NUMBER, Task
from .workspace import write_whole

LONGEST = 400
"""Characters of a note that are shown."""
LINES = 20
"""Of what should be looked at, that are shown."""


def clean(text: str, longest: int = LONGEST) -> str:
    """A submission's text in one line, with nothing that a terminal or a reader would act on."""
    shown = []
    for letter in text[: longest + 1]:
        hidden = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
        shown.append(letter.encode("unicode_escape").decode() if hidden else letter)
    line = "".join(shown)
    return line if len(line) <= longest else line[: longest - 3] + "..."


def shorten(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = [f"and {len(lines) - LINES} more"] if len(lines) > LINES else []
    return [*lines[:LINES], *more]


@dataclass
class Mark:
    """What one task of a submission is worth."""

    task: Task
    points: float
    passed: int
    total: int
    note: str

    def __post_init__(self) -> None:
        self.note = clean(self.note)

    @property
    def complete(self) -> bool:
        """Whether all points were given."""
        return self.points == self.task.points


@dataclass
class Grade:
    """All marks of a submission.

    `error` says why it could not be graded; what went wrong in its code is in the notes.
    """

    name: str
    marks: list[Mark] = field(default_factory=list)
    review: list[str] = field(default_factory=list)
    error: str = ""

    def __post_init__(self) -> None:
        self.error = clean(self.error)
        self.review = [clean(line) for line in self.review]

    @property
    def points(self) -> float:
        """The sum."""
        return sum(mark.points for mark in self.marks)


def distinct_names(folders: Sequence[Path]) -> list[str]:
    """A name for each folder: its own, with as much of its path as tells it from the others."""
    parts = [Path(os.path.realpath(folder)).parts for folder in folders]
    names: list[str] = []
    for own in parts:
        length = 1
        while sum(own[-length:] == other[-length:] for other in parts) > 1 and length < len(own):
            length += 1
        name = clean("/".join(own[-length:]), 100)
        again = sum(name == earlier for earlier in names)
        names.append(f"{name} ({again + 1})" if again else name)
    return names


# --- Forms -------------------------------------------------------------------------------------


def as_rows(grades: Iterable[Grade]) -> list[dict[str, Any]]:
    """One row per submission, for a table."""
    rows = []
    for g in grades:
        row: dict[str, Any] = {"name": _cell(g.name), "points": g.points}
        row |= {mark.task.number: mark.points for mark in g.marks}
        row["notes"] = _cell("; ".join(f"{m.task.number}: {m.note}" for m in g.marks if m.note))
        row["review"] = _cell("; ".join(g.review))
        row["error"] = _cell(g.error)
        rows.append(row)
    return rows


def _cell(text: str) -> str:
    """Text that a spreadsheet takes for no formula, nor what it may take for the next cell, after a semicolon."""
    return re.sub(r"(^|;)(?=\s*[=+\-@|%\uff1d\uff0b\uff0d\uff20])", r"\1'", text)


def as_json(grades: Iterable[Grade]) -> list[dict[str, Any]]:
    """Everything that is known about each submission."""
    return [
        {
            "name": g.name,
            "points": g.points,
            "of": sum(mark.task.points for mark in g.marks),
            "error": g.error,
            "review": g.review,
            "tasks": [
                {
                    "task": m.task.number,
                    "title": m.task.title,
                    "points": m.points,
                    "of": m.task.points,
                    "checks": m.total,
                    "passed": m.passed,
                    "note": m.note,
                }
                for m in g.marks
            ],
        }
        for g in grades
    ]


def from_json(entry: dict[str, Any]) -> Grade:
    """A grade as `as_json` wrote it."""
    marks = [
        Mark(BY_NUMBER[m["task"]], m["points"], m["passed"], m["checks"], m["note"])
        for m in entry["tasks"]
    ]
    return Grade(entry["name"], marks, entry["review"], entry["error"])


def as_gradescope(g: Grade) -> dict[str, Any]:
    """The `results.json` that Gradescope reads."""
    return {
        "score": g.points,
        "output": "\n".join([*([g.error] if g.error else []), *g.review]),
        "visibility": "visible",
        "tests": [
            {
                "name": f"Task {m.task.number}: {m.task.title}",
                "score": m.points,
                "max_score": m.task.points,
                "output": m.note or f"{m.passed} of {m.total} checks passed",
                "visibility": "visible",
            }
            for m in g.marks
        ],
    }


def write_table(path: Path, grades: Sequence[Grade]) -> None:
    """Write one row per submission, as CSV."""
    text = io.StringIO(newline="")
    rows = as_rows(grades)
    table = csv.DictWriter(text, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
    write_whole(path, text.getvalue().encode())


def write_json(path: Path, content: Any) -> None:
    """Write a file of JSON."""
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())


# --- The journal -------------------------------------------------------------------------------


class Journal:
    """Grades as they come, a line of JSON each; a run that begins with it goes on where it ended.

    Args:
        path: the file; without one nothing is kept
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Grade] = {}
        if path is not None and path.exists():
            for line in path.read_bytes().splitlines():
                self._recall(line)

    def _recall(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
            self.known[entry["key"]] = from_json(entry)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # the run was ended while it wrote this line

    def keep(self, key: str, grade: Grade) -> None:
        """Add a grade to the file, at once."""
        if self.path is None:
            return
        line = json.dumps({"key": key, **as_json([grade])[0]}).encode() + b"\n"
        with open(self.path, "ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
