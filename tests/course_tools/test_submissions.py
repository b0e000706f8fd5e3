"""Of a submission plain files are taken, whatever else it holds; reports are safe to open."""

from __future__ import annotations

import csv
import os
import sys
from pathlib import Path

import pytest

from minitorch.course.reports import (
    Grade,
    Journal,
    Mark,
    as_json,
    clean,
    distinct_names,
    shorten,
    write_json,
    write_table,
)
from minitorch.course.sandbox import remove_tree
from minitorch.course.submissions import take
from minitorch.course.tasks import find_task
from minitorch.course.workspace import CourseError, course_files, create

from .hostile.folders import FOLDERS

TASK = find_task("1.1")
REFUSED = {"3,000 files", "minitorch is a link to the reference", "minitorch is a file", "nothing"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("base"))[0].root


@pytest.mark.skipif(sys.platform == "win32", reason="has no such files")
@pytest.mark.parametrize("name", FOLDERS)
def test_odd_folders(base: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "submission"
    (folder / "tests").mkdir(parents=True)
    (folder / "minitorch").mkdir()
    for file in ("autodiff.py", "operators.py"):
        (folder / "minitorch" / file).write_bytes((base / "minitorch" / file).read_bytes())
    FOLDERS[name][0](folder)
    try:
        if name in REFUSED:
            with pytest.raises(CourseError):
                take(folder)
            return
        taken = take(folder)
        usual = set(course_files())
        assert {file for file in taken.files if not file.isascii() or "\x1b" in file} == set()
        assert "operators.py" in taken.files
        if name in ("links in a circle", "odd names", "a file of a terabyte", "2,500 folders"):
            assert set(taken.files) <= usual
            assert len(taken.review) > len(usual - {"autodiff.py", "operators.py"})
    finally:
        remove_tree(folder)


def test_text_is_made_safe() -> None:
    assert clean("a\x1b[2J\r\n\u202eb\ud800") == r"a\x1b[2J\r\n\u202eb\ud800"
    assert clean("x" * 1000) == "x" * 397 + "..."
    assert clean("größer ✓") == "größer ✓"


def grade_named(name: str, note: str = "") -> Grade:
    return Grade(name, [Mark(TASK, 0.0, 1, 2, note)])


FORMULAS = {"=1+1": "'=1+1", "-2": "'-2", "@x": "'@x", "+3": "'+3", " =4": "' =4"}
FORMULAS |= {"\uff1d5": "'\uff1d5", "x;=6": "x;'=6", "fine; x=7": "fine; x=7"}


def test_tables_hold_no_formulas(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_table(path, [grade_named(name) for name in FORMULAS])
    with open(path, newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names == [*FORMULAS.values()]
    assert os.listdir(tmp_path) == ["t.csv"]


def test_few_lines_are_to_be_looked_at() -> None:
    """However many there are."""
    assert shorten(["a"] * 20) == ["a"] * 20
    assert shorten(["a"] * 1900) == [*["a"] * 20, "and 1880 more"]


def test_names_tell_submissions_apart(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a/work", "b/work", "c/other", "x\x07", "x\\x07")]
    for folder in folders:
        folder.mkdir(parents=True)
    (tmp_path / "loop").symlink_to("loop")
    names = distinct_names([*folders, tmp_path / "loop"])
    assert names == ["a/work", "b/work", "other", r"x\x07", r"x\x07 (2)", "loop"]
    with pytest.raises(CourseError):
        take(tmp_path / "loop")


def test_a_journal_survives(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.keep("one", grade_named("a", "note"))
    journal.keep("two", grade_named("b"))
    for cut in range(2, 40, 7):  # killed while it wrote
        path.write_bytes(path.read_bytes()[:-cut])
        again = Journal(path)
        assert list(again.known) == ["one"]
        again.keep("three", grade_named("c"))
        assert list(Journal(path).known) == ["one", "three"]
        assert as_json([Journal(path).known["one"]]) == as_json([grade_named("a", "note")])
        path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:1]))
        again.keep("two", grade_named("b"))


def test_a_report_is_old_or_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    write_json(path, 1)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_json(path, 2)
    assert path.read_text() == "1\n"
    assert os.listdir(tmp_path) == ["r.json"]
