"""Grading: each submission apart, by questions whose answers are judged outside its process.

Of a submission only the files of `minitorch/` are taken; tests, settings and scripts are ours. Each
task is asked about in a process of its own (`examining.py`), which sees neither tests nor solutions,
and a trusted one decides what the answers are worth. The course's tests then run in another process,
together with the submission: they say which check failed, and can take points away but not give any.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .checking import INSIDE, Result, Server, read_answer, request
from .examining import Examiner
from .isolation import FILES, missing
from .judging import Verdict
from .recognition import recognise
from .reports import Grade, Journal, Mark, distinct_names, shorten
from .reviewing import review
from .sandbox import Limits, remove_tree, run, temporary_folder, usable
from .submissions import Submission, take
from .substitution import with_earlier_solutions
from .tasks import Task
from .workspace import (
    CourseError,
    copy_torch_floor,
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
    if hidden and not extra and not (hidden / "questions.txt").is_file():
        raise CourseError(f"{hidden} has no test_*.py and no questions.txt")
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
            if not found[task.number]:
                raise CourseError(
                    f"the tests of task {task.number} cannot be found: {result.error}"
                )
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
    examiner: Examiner

    def key(self, taken: Submission) -> str:
        """A number for what is graded and how: the same gives the same grade."""
        state = hashlib.sha256(taken.digest().encode())
        for path in sorted((self.folder / "tests").rglob("*.py")):
            state.update(path.read_bytes())
        numbers = [task.number for task in self.tasks]
        state.update(repr((self.limits, numbers, self.examiner.more)).encode())
        return state.hexdigest()

    @property
    def quotes(self) -> bool:
        """Whether notes may quote a submission: not if it could have read the teacher's files or tests."""
        return not self.hidden and FILES not in missing(self.layers)


def grade(
    submissions: Sequence[Path],
    tasks: Sequence[Task],
    limits: Limits | None = None,
    hidden: Path | None = None,
    layers: frozenset[str] | None = None,
    journal: Journal | None = None,
    seed: str | None = None,
) -> Iterator[Grade]:
    """Grade submissions one by one; whatever goes wrong with one is in its grade.

    Args:
        submissions: folders
        tasks: which
        limits: for each task of each submission
        hidden: a folder with more tests (`test_*.py`) and questions (`questions.txt`)
        layers: names of `sandbox.LAYERS`; those that work here if None
        journal: what was graded before, and where to keep what is graded now
        seed: of the questions; a new one if None
    """
    journal = journal or Journal(None)
    with temporary_folder("minitorch-grade-") as folder:
        ours = folder / "ours"
        extra = teachers_copy(ours, hidden)
        expected = expected_tests(ours, tasks, extra)
        remove_tree(ours / "minitorch")
        limits, layers = limits or Limits(), usable() if layers is None else layers
        with Examiner(limits, layers, seed, hidden) as examiner:
            teacher = Teacher(ours, tasks, limits, layers, extra, expected, examiner)
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
        seen = [*review(taken.files, marks), *taken.review]
        result = Grade(name, marks, shorten(seen))
    except Exception as error:
        text = str(error) if isinstance(error, CourseError) else f"{type(error).__name__}: {error}"
        return none("not graded", text)
    journal.keep(key, result)
    return result


def _grade_task(taken: Submission, task: Task, teacher: Teacher, folder: Path) -> Mark:
    """Ask about a task, then run its tests on a copy; each in a sandbox.

    Where every answer is right but a test fails, an earlier task may be to blame: the tests then run once
    more, with the solution of those. This process holds solutions; it answers no questions, and nothing
    that it says is quoted.
    """
    total = len(teacher.expected[task.number])
    try:
        examined = teacher.examiner.examine(taken.files, task, folder, taken.digest())
        if examined.stopped:
            return Mark(task, 0.0, 0, total, examined.stopped)
        mark = _test(examined.files, task, teacher, folder / "copy", examined.verdict)
        if mark.complete or not examined.verdict.complete:
            return mark
        files = with_earlier_solutions(examined.files, task)
        again = _test(files, task, teacher, folder / "copy", examined.verdict) if files else mark
        return again if again.complete else mark
    except CourseError:
        raise
    except Exception as error:  # what it answered is not what was asked for
        note = f"its answers cannot be read ({type(error).__name__})"
        return Mark(task, 0.0, 0, total, note)


def _test(
    files: dict[str, bytes], task: Task, teacher: Teacher, root: Path, verdict: Verdict
) -> Mark:
    """The mark after the tests ran on these files, in a folder that is made for it."""
    try:
        shutil.copytree(teacher.folder, root)
        for name, content in files.items():
            _write(root / "minitorch" / name, content)
        if task.needs_torch:
            copy_torch_floor(root / "minitorch")
        return _mark(_run(root, task, teacher), teacher, verdict)
    finally:
        remove_tree(root)


def _run(root: Path, task: Task, teacher: Teacher) -> Result:
    asked = request(root, task, processor=None, endless=None)
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


def _mark(run: Result, teacher: Teacher, verdict: Verdict) -> Mark:
    """A task's points: for right answers, where the tests pass as well."""
    expected = teacher.expected[run.task.number]
    ran = {test.id: test for test in run.tests}
    passed = sum(test in ran and ran[test].outcome in ("passed", "extra") for test in expected)
    tested = run.error is None and bool(expected) and passed == len(expected)
    points = float(run.task.points if tested and verdict.complete else 0)
    ours, theirs = _note(run, tested, verdict, expected)
    note = f"{ours} {theirs}".strip() if teacher.quotes else ours
    return Mark(run.task, points, passed, len(expected), note)


def _note(
    run: Result, tested: bool, verdict: Verdict, expected: Collection[str]
) -> tuple[str, str]:
    """Why a task has not all of its points: in our words, and in those of the submission."""
    if tested:
        wrong = "the tests pass, but questions are answered wrongly: look."
        return ("", "") if verdict.complete else (wrong, verdict.note)
    if run.error is not None:
        return "it does not run:", f"{run.error['kind']}: {run.error['text']}"
    known = recognise(run.task.number, run.probes)
    if known:
        return known[0].message, ""
    if run.failures:
        first = run.failures[0]
        name = f" {first.name}:" if first.id in expected else ""
        return f"not all checks pass.{name}", [*first.message.splitlines(), ""][0]
    return "not all checks ran.", verdict.note
