"""What a teacher should look at is read out of a stranger's text, which neither ends the grader nor holds it up."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from minitorch.course import reviewing
from minitorch.course.catalogue import RACES
from minitorch.course.reports import Mark
from minitorch.course.reviewing import UNREAD, races, review, unusual, within
from minitorch.course.stubs import solution_file
from minitorch.course.tasks import find_task

from .hostile.folders import FOLDERS

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="grading needs Linux or macOS")


def test_unusual_imports() -> None:
    assert [*unusual({"operators.py": b"import math\n"})] == []
    found = ["minitorch/operators.py uses gc", "minitorch/operators.py uses pytest"]
    assert [*unusual({"operators.py": b"import gc, pytest\n"})] == found
    assert [*unusual({"operators.py": b"def broken(:\n"})] == []


def test_imports_are_seen_word_by_word() -> None:
    code = b"import math, os.path as x\nif 1: import gc\nfrom .a import sys\nfrom ctypes import y"
    found = [line.split()[-1] for line in unusual({"new.py": code})]
    assert found == ["ctypes", "gc", "os"]
    code = b"x = eval('1')\n" + b"(" * 1000
    assert [*unusual({"new.py": code})] == ["minitorch/new.py uses importlib"]
    assert [*unusual({"new.py": b"'import os'\n# import os\n"})] == []


def test_races_are_told() -> None:
    """The mark stays, since a text can be misread; what is no program has no such fault."""
    race = RACES[0]
    marks = [Mark(find_task(race.number), 10.0, 9, 9, "")]
    files = {race.file: race.made_in("").encode()}
    assert race.advice in next(races(files, marks))
    assert [*races(files, [Mark(find_task(race.number), 0.0, 9, 9, "")])] == []
    for text in (b"\xff", b"def (", b"x = " + b"-" * 30_000 + b"1"):
        assert [*races({race.file: text}, marks)] == []


@forks
@pytest.mark.parametrize("name", ["a text that takes for ever to read", "loops in loops"])
def test_text_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    if name.startswith("a text") and sys.version_info >= (3, 12):
        pytest.skip("this Python's tokenizer is quick")
    monkeypatch.setattr(reviewing, "SECONDS", 1)
    package = tmp_path / "minitorch"
    package.mkdir()
    (package / "autodiff.py").write_text(solution_file("autodiff.py"))
    FOLDERS[name][0](tmp_path)
    files = {path.name: path.read_bytes() for path in package.iterdir()}
    assert review(files, [Mark(find_task("1.1"), 5.0, 1, 1, "")]) == [UNREAD]


@forks
def test_text_that_cannot_be_read() -> None:
    assert review({"coded.py": b"# coding: rot13\n", "new.py": b"import gc\n"}, []) == [
        "minitorch/new.py uses gc"
    ]
    assert within(5, lambda: 1 / 0) is None
    assert within(5, lambda: {"text": "\ud800"}) == {"text": "\ud800"}
