"""Grading: each submission apart, from the teacher's copy of the tests.

Of a submission only the files of `minitorch/` are taken; tests, settings and scripts are ours.
Each task runs in a process of its own, in a copy that is thrown away, with limits on time,
memory, files and processes (`sandbox.py`). Results come over a pipe, behind a number that
is drawn for each run; what a submission prints counts for nothing. Python code that is run in
the same process as its tests can still deceive them on purpose: imports that the course does not
need are reported, to be looked at.
"""

from __future__ import annotations

import ast
import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .checking import INSIDE, Result, Server, read_answer, request
from .recognition import recognise, signatures
from .sandbox import Limits, run
from .stubs import LIBRARY
from .tasks import TASKS, Task
from .workspace import (
    CourseError,
    course_files,
    finished_file,
    material,
    project_file,
    test_files,
)

LARGEST = 1_000_000
"""Bytes that a file of a submission may have."""


@dataclass
class Mark:
    """What one task of a submission is worth."""

    task: Task
    points: float
    passed: int
    total: int
    note: str

    @property
    def complete(self) -> bool:
        """Whether all points were given."""
        return self.points == self.task.points


@dataclass
class Grade:
    """All marks of a submission."""

    name: str
    marks: list[Mark] = field(default_factory=list)
    review: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def points(self) -> float:
        """The sum."""
        return sum(mark.points for mark in self.marks)


# --- A copy to run in --------------------------------------------------------------------


def teachers_copy(root: Path, hidden: Path | None = None) -> list[str]:
    """Tests and settings, and a finished library; the names of the hidden test files."""
    for name in course_files():
        _write(root / "minitorch" / name, finished_file(name))
    for name in test_files():
        _write(root / "tests" / name, (material("tests") / name).read_bytes())
    _write(root / "pyproject.toml", project_file().encode())
    extra = sorted(hidden.glob("test_*.py")) if hidden else []
    if hidden and not extra:
        raise CourseError(f"{hidden} has no test_*.py")
    for path in extra:
        shutil.copy(path, root / "tests" / "course" / path.name)
    return [path.name for path in extra]


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def take_submission(submission: Path, root: Path, review: list[str]) -> None:
    """Put a submission's library in place of ours; what is no plain Python file stays outside."""
    package = submission / "minitorch"
    if not package.is_dir():
        raise CourseError("has no folder minitorch")
    shutil.rmtree(root / "minitorch")
    taken = set()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        inside = path.resolve().is_relative_to(submission.resolve())
        if path.is_symlink() or not inside or not path.is_file():
            review.append(f"minitorch/{name} is a link: left out")
        elif path.stat().st_size > LARGEST:
            review.append(f"minitorch/{name} is too large: left out")
        elif not name.startswith(("torch/", "torchvision/", "course/")):
            content = path.read_bytes()
            _write(root / "minitorch" / name, content)
            review += [f"minitorch/{name} {what}" for what in suspicious(name, content)]
            taken.add(name)
    for name in course_files():
        if name not in taken:
            review.append(f"minitorch/{name} is missing")
            if not any(place.file == name for task in TASKS for place in task.places):
                _write(root / "minitorch" / name, (LIBRARY / name).read_bytes())


_UNUSUAL = frozenset(
    "pytest _pytest gc inspect ctypes subprocess socket multiprocessing importlib builtins "
    "sys os shutil signal pathlib threading torch hypothesis tests atexit unittest".split()
)


def suspicious(name: str, content: bytes) -> list[str]:
    """What a file of a submission imports or calls that the library's own does not."""
    ours = LIBRARY / name
    usual = _imports(ours.read_bytes()) if ours.is_file() else set()
    return [f"uses {what}" for what in sorted((_imports(content) - usual) & _UNUSUAL)]


def _imports(content: bytes) -> set[str]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Name) and node.id in ("__import__", "eval", "exec"):
            found.add("importlib")
    return found


# --- Running ---------------------------------------------------------------------------------


def expected_tests(root: Path, tasks: Iterable[Task], hidden: Sequence[str]) -> dict[str, set[str]]:
    """The names of each task's tests, from our own library."""
    found = {}
    with Server() as server:
        for task in tasks:
            asked = request(root, task)
            asked["arguments"] += [*_hidden(hidden), "--collect-only"]
            result = server.ask(asked | {"task": None}, task)
            found[task.number] = {test.id for test in result.tests}
    return found


def _hidden(names: Sequence[str]) -> list[str]:
    return [f"tests/course/{name}" for name in names]


def run_confined(root: Path, task: Task, limits: Limits, hidden: Sequence[str]) -> Result:
    """Run a task's tests on a copy, in a sandbox."""
    asked = request(root, task, processor=None)
    asked["arguments"] += _hidden(hidden)
    for name in ("run.py", "probes.py"):
        shutil.copy(INSIDE.with_name(name), root / name)
    shutil.copytree(INSIDE.with_name("drivers"), root / "drivers")
    outcome = run(root / "run.py", root, json.dumps(asked).encode(), limits)
    if outcome.kind != "ended":
        return Result(task, error={"kind": outcome.kind, "text": outcome.text})
    return read_answer(outcome.output.decode(errors="replace"), asked["nonce"], task)


def grade(
    submissions: Sequence[Path],
    tasks: Sequence[Task],
    limits: Limits | None = None,
    hidden: Path | None = None,
) -> Iterable[Grade]:
    """Grade submissions one by one."""
    limits = limits or Limits()
    with tempfile.TemporaryDirectory(prefix="minitorch-grade-") as folder:
        ours = Path(folder) / "ours"
        extra = teachers_copy(ours, hidden)
        expected = expected_tests(ours, tasks, extra)
        for submission in submissions:
            yield _grade_one(submission, tasks, limits, ours, expected, extra)


def _grade_one(
    submission: Path,
    tasks: Sequence[Task],
    limits: Limits,
    ours: Path,
    expected: dict[str, set[str]],
    hidden: Sequence[str],
) -> Grade:
    result = Grade(submission.resolve().name)
    for task in tasks:
        with tempfile.TemporaryDirectory(
            prefix="minitorch-run-", ignore_cleanup_errors=True
        ) as folder:
            root = Path(folder) / "copy"
            shutil.copytree(ours, root)
            review: list[str] = []
            try:
                take_submission(submission, root, review)
            except (CourseError, OSError) as error:
                result.error = str(error)
                result.marks.append(Mark(task, 0.0, 0, len(expected[task.number]), str(error)))
                continue
            answers = run_confined(root, task, limits, hidden)
        result.review += [line for line in review if line not in result.review]
        result.marks.append(_mark(answers, expected[task.number]))
    return result


def _mark(run: Result, expected: set[str]) -> Mark:
    ran = {test.id: test for test in run.tests}
    passed = sum(test in ran and ran[test].outcome == "passed" for test in expected)
    complete = run.error is None and bool(expected) and passed == len(expected)
    note = ""
    if complete and not _answers_right(run):
        complete, note = False, "the tests passed, but direct questions are answered wrongly: look"
    elif run.error is not None:
        note = f"{run.error['kind']}: {run.error['text']}"
    elif not complete:
        known = recognise(run.task.number, run.probes)
        first = run.failures[0] if run.failures else None
        if known:
            note = known[0].message
        elif first is not None:
            note = f"{first.name}: {first.message.splitlines()[0]}"
        else:
            note = "not all checks ran"
    return Mark(run.task, float(run.task.points if complete else 0), passed, len(expected), note)


def _answers_right(run: Result) -> bool:
    """Whether the probes of modules 0 to 2, which our process judges, are answered right."""
    if run.task.module > 2:
        return True
    right = signatures()["right"].get(run.task.number, {})
    return all(run.probes.get(case) == answer for case, answer in right.items())


# --- Reports -----------------------------------------------------------------------------------


def as_rows(grades: Iterable[Grade]) -> list[dict[str, Any]]:
    """One row per submission, for a table."""
    rows = []
    for g in grades:
        row: dict[str, Any] = {"name": g.name, "points": g.points}
        row |= {mark.task.number: mark.points for mark in g.marks}
        row["notes"] = "; ".join(f"{m.task.number}: {m.note}" for m in g.marks if m.note)
        row["review"] = "; ".join(g.review)
        rows.append(row)
    return rows


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


def as_gradescope(g: Grade) -> dict[str, Any]:
    """The `results.json` that Gradescope reads."""
    return {
        "score": g.points,
        "output": "\n".join(g.review),
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
