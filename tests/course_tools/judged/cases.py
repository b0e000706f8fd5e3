"""Makes the submissions, and has them graded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from minitorch.course.grading import grade
from minitorch.course.sandbox import Limits
from minitorch.course.stubs import LIBRARY
from minitorch.course.tasks import BY_NUMBER
from minitorch.course.workspace import create

from .cheats import CHEATS
from .honest import HONEST

LIMITS = Limits(seconds=600)
Graded = tuple[str, str, float, float, str]
"""Name, task, points deserved, points given, note."""


def workspace(base: Path, solved: Sequence[str], folder: Path) -> Path:
    """A workspace in which some tasks are solved, copied from one that was made before."""
    made = base / ("solved " + " ".join(solved))
    if not made.exists():
        fresh, _ = create(made)
        fresh.put_solutions([BY_NUMBER[number] for number in solved])
    shutil.copytree(made, folder)
    return folder


def make_cheat(base: Path, name: str) -> Path:
    """A submission that solves what comes before task 1.1, and cheats there."""
    earlier = [number for number in BY_NUMBER if number < "1.1"]
    other = base / "another student"
    if not other.exists():
        workspace(base, [*earlier, "1.1"], other)
    folder = workspace(base, earlier, base / "submissions" / name)
    path = folder / "minitorch" / "autodiff.py"
    code = CHEATS[name].replace("LIBRARY", str(LIBRARY)).replace("OTHER", str(other))
    path.write_text(path.read_text() + "\n\n" + code)
    return folder


def make_honest(base: Path, name: str) -> Path:
    """A submission in an odd style."""
    case = HONEST[name]
    folder = workspace(base, case.solved, base / "submissions" / name)
    case.change(folder / "minitorch")
    return folder


def graded(base: Path, words: Sequence[str] = (), **options: Any) -> Iterator[Graded]:
    """Grade those whose names hold one of the words, or all."""

    def wanted(name: str) -> bool:
        return not words or any(word in name for word in words)

    cheats = [make_cheat(base, name) for name in CHEATS if wanted(name)]
    for g in grade(cheats, [BY_NUMBER["1.1"]], LIMITS, **options):
        yield from ((g.name, m.task.number, 0.0, m.points, m.note) for m in g.marks)
    for name, case in HONEST.items():
        if wanted(name):
            numbers = [n for n in BY_NUMBER if n in f"{case.earns} {case.loses}".split()]
            tasks = [BY_NUMBER[number] for number in numbers]
            for g in grade([make_honest(base, name)], tasks, LIMITS, **options):
                for m in g.marks:
                    deserved = float(m.task.points if m.task.number in case.earns.split() else 0)
                    yield name, m.task.number, deserved, m.points, m.note
