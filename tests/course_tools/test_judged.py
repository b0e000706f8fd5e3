"""Some of the submissions of `python -m tests.course_tools.judged`, by their answers alone."""

from __future__ import annotations

from pathlib import Path

from minitorch.course.checking import check
from minitorch.course.isolation import choose
from minitorch.course.sandbox import usable
from minitorch.course.tasks import find_task

from .judged.cases import asked, make_honest
from .judged.cheats import CHEATS
from .judged.honest import HONEST

SOME = [
    "replaces the collector and answers from signatures.json",
    "returns what equals everything",
    "writes results to every file descriptor",
    "runs the installed reference with runpy",
    "rebuilds __import__",
    "imports another student's folder",
    "tests know right operators by their code",
    "one-liners",
    "scalar.py does not parse",
]


def test_marks_are_those_deserved(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    marks = list(asked(tmp_path, SOME, usable()))
    assert [mark for mark in marks if mark[2] != mark[3]] == []
    assert {mark[0] for mark in marks} == set(SOME)
    assert sum(mark[2] > 0 for mark in marks) == 4


def test_a_file_in_another_encoding_passes_the_tests(tmp_path: Path) -> None:
    result = check(make_honest(tmp_path, "in Latin-1"), find_task("1.1"), quick=True)
    assert result.passed, result.failures


def test_python_itself_keeps_others_work_apart(tmp_path: Path) -> None:
    """Where the operating system has no layer of isolation."""
    tmp_path.chmod(0o755)
    ((_, _, deserved, given, note),) = asked(tmp_path, ["imports another"], choose("none"))
    assert (deserved, given) == (0.0, 0.0)
    assert "not allowed here" in note


def test_there_are_enough_of_them() -> None:
    assert len(CHEATS) >= 25
    assert len(HONEST) >= 40
