"""Grading: each submission apart, from the teacher's copy of the tests.

Of a submission only the files of `minitorch/` are taken; tests, settings and scripts are ours.
Each task runs in a process of its own, in a copy that is thrown away, with limits on time,
memory, files and processes (`sandbox.py`). Results come over a pipe, behind a number that
is drawn for each run; what a submission prints counts for nothing. Python code that is run in
the same process as its tests can still deceive them on purpose: imports that the course does not
need are reported, to be looked at.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .checking import INSIDE, Result, Server, read_answer, request
from .recognition import recognise, signatures
from .reports import Grade, Journal, Mark, distinct_names
from .sandbox import Limits, remove_tree, run, temporary_folder, usable
from .submissions import Submission, take
from .tasks import Task
from .workspace import (
    CourseError,
    course_files,
    finished_file,
    material,
    project_file,
    test_files,
)

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


@dataclass(frozen=True)
class Teacher:
    """What submissions are graded with."""

    folder: Path
    tasks: Sequence[Task]
    limits: Limits
    layers: frozenset[str]
    hidden: Sequence[str]
    expected: dict[str, set[str]]

    def key(self, taken: Submission) -> str:
        """A number for what is graded and how: the same gives the same grade."""
        state = hashlib.sha256(taken.digest().encode())
        for path in sorted((self.folder / "tests").rglob("*.py")):
            state.update(path.read_bytes())
        state.update(repr((self.limits, [task.number for task in self.tasks])).encode())
        return state.hexdigest()


def grade(
    submissions: Sequence[Path],
    tasks: Sequence[Task],
    limits: Limits | None = None,
    hidden: Path | None = None,
    layers: frozenset[str] | None = None,
    journal: Journal | None = None,
) -> Iterator[Grade]:
    """Grade submissions one by one; whatever goes wrong with one is in its grade.

    Args:
        submissions: folders
        tasks: which
        limits: for each task of each submission
        hidden: a folder with more tests
        layers: names of `sandbox.LAYERS`; those that work here if None
        journal: what was graded before, and where to keep what is graded now
    """
    journal = journal or Journal(None)
    with temporary_folder("minitorch-grade-") as folder:
        ours = folder / "ours"
        extra = teachers_copy(ours, hidden)
        expected = expected_tests(ours, tasks, extra)
        layers = usable() if layers is None else layers
        teacher = Teacher(ours, tasks, limits or Limits(), layers, extra, expected)
        for name, submission in zip(distinct_names(submissions), submissions, strict=True):
            yield _grade_one(name, submission, teacher, folder, journal)


def _grade_one(
    name: str, submission: Path, teacher: Teacher, folder: Path, journal: Journal
) -> Grade:
    def none(note: str, error: str = "") -> Grade:
        marks = [Mark(t, 0.0, 0, len(teacher.expected[t.number]), note) for t in teacher.tasks]
        return Grade(name, marks, error=error)

    try:
        taken = take(submission)
    except (CourseError, OSError) as error:
        return none(str(error))
    try:
        key = teacher.key(taken)
        known = journal.known.get(key)
        if known is not None:
            return replace(known, name=name)
        marks = [_grade_task(taken, task, teacher, folder) for task in teacher.tasks]
        result = Grade(name, marks, taken.review)
        journal.keep(key, result)
        return result
    except Exception as error:
        text = str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
        return none("not graded", text)


def _grade_task(taken: Submission, task: Task, teacher: Teacher, folder: Path) -> Mark:
    """Run a task's tests on a copy, in a sandbox."""
    root = folder / "copy"
    try:
        shutil.copytree(teacher.folder, root)
        shutil.rmtree(root / "minitorch")
        for name, content in taken.files.items():
            _write(root / "minitorch" / name, content)
        return _mark(_run(root, task, teacher), teacher.expected[task.number])
    except CourseError:
        raise
    except Exception as error:  # what it answered is not what was asked for
        note = f"its answers cannot be read ({type(error).__name__})"
        return Mark(task, 0.0, 0, len(teacher.expected[task.number]), note)
    finally:
        remove_tree(root)


def _run(root: Path, task: Task, teacher: Teacher) -> Result:
    asked = request(root, task, processor=None)
    asked["arguments"] += _hidden(teacher.hidden)
    for name in ("run.py", "probes.py"):
        shutil.copy(INSIDE.with_name(name), root / name)
    shutil.copytree(INSIDE.with_name("drivers"), root / "drivers")
    outcome = run(root / "run.py", root, json.dumps(asked).encode(), teacher.limits, teacher.layers)
    if outcome.kind == "setup":
        raise CourseError(f"could not be graded: {outcome.text}")
    if outcome.kind != "ended":
        return Result(task, error={"kind": outcome.kind, "text": outcome.text})
    return read_answer(outcome.output.decode(errors="replace"), asked["nonce"], task)


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
