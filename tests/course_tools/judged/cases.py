"""Makes the submissions, and has them graded."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from minitorch.course.examining import Examiner
from minitorch.course.grading import grade
from minitorch.course.sandbox import Limits
from minitorch.course.stubs import LIBRARY
from minitorch.course.submissions import take
from minitorch.course.tasks import BY_NUMBER, Task
from minitorch.course.workspace import create

from .cheats import CHEATS, OTHER_TASKS, Cheat
from .honest import HONEST

ONLY_TESTS_TELL = "is right when a question is asked"
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


def make_cheat(base: Path, name: str, cheat: Cheat) -> Path:
    """A submission that solves what comes before a task, and cheats there."""
    earlier = [n for n in BY_NUMBER if n < cheat.task and n not in cheat.undone]
    other = base / "another student"
    if not other.exists():
        workspace(base, [*earlier, cheat.task], other)
    folder = workspace(base, earlier, base / "submissions" / name)
    path = folder / "minitorch" / cheat.file
    code = cheat.code.replace("LIBRARY", str(LIBRARY)).replace("OTHER", str(other))
    path.write_text(path.read_text() + "\n\n" + code)
    return folder


def make_honest(base: Path, name: str) -> Path:
    """A submission in an odd style."""
    case = HONEST[name]
    folder = workspace(base, case.solved, base / "submissions" / name)
    case.change(folder / "minitorch")
    return folder


def chosen(
    base: Path, words: Sequence[str]
) -> Iterator[tuple[Path, list[Task], Callable[[Task], float]]]:
    """The submissions whose names hold one of the words, or all: tasks, and what these deserve."""
    first = {name: Cheat("1.1", "autodiff.py", code) for name, code in CHEATS.items()}
    for name, cheat in (first | OTHER_TASKS).items():
        if not words or any(word in name for word in words):
            yield make_cheat(base, name, cheat), [BY_NUMBER[cheat.task]], lambda task: 0.0
    for name, case in HONEST.items():
        if not words or any(word in name for word in words):
            numbers = f"{case.earns} {case.loses}".split()
            tasks = [task for task in BY_NUMBER.values() if task.number in numbers]
            earns = case.earns.split()
            yield (
                make_honest(base, name),
                tasks,
                lambda task, earns=earns: float(task.points if task.number in earns else 0),
            )


def graded(base: Path, words: Sequence[str], layers: frozenset[str]) -> Iterator[Graded]:
    """Grade them as a teacher does."""
    for folder, tasks, deserved in chosen(base, words):
        for g in grade([folder], tasks, LIMITS, layers=layers):
            for m in g.marks:
                yield g.name, m.task.number, deserved(m.task), m.points, m.note


def asked(base: Path, words: Sequence[str], layers: frozenset[str]) -> Iterator[Graded]:
    """What they would get for their answers alone."""
    with Examiner(LIMITS, layers) as examiner:
        for folder, tasks, deserved in chosen(base, words):
            for task in tasks if folder.name != ONLY_TESTS_TELL else []:
                taken = take(folder)
                verdict = examiner.examine(taken.files, task, base, taken.digest()).verdict
                points = float(task.points if verdict.complete else 0)
                yield folder.name, task.number, deserved(task), points, verdict.note
