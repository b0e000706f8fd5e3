"""Grading gives right marks, also to submissions that mean harm, and touches nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from minitorch.course import examining, grading
from minitorch.course.checking import Result
from minitorch.course.examining import Examiner
from minitorch.course.grading import Teacher, _mark, grade
from minitorch.course.isolation import FILES, missing
from minitorch.course.judging import Verdict
from minitorch.course.reports import Journal, Mark, as_gradescope, as_json, as_rows
from minitorch.course.sandbox import Limits, Outcome, usable
from minitorch.course.submissions import Submission
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import CourseError, create

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grading needs Linux or macOS")
TASK = find_task("1.1")

HOSTILE = {
    "loops for ever": "while True:\n    pass\n",
    "fills memory": "hoard = []\nwhile True:\n    hoard.append(bytearray(64 << 20))\n",
    "deletes files": (
        "import os, shutil\n"
        "shutil.rmtree({victim!r}, ignore_errors=True)\n"
        "try:\n    os.remove({victim!r} + '/precious.txt')\nexcept OSError:\n    pass\n"
        "try:\n    open({victim!r} + '/new.txt', 'w').write('x')\nexcept OSError:\n    pass\n"
    ),
    "prints passed": (
        "import os, sys\nfor fd in range(1, 64):\n"
        '    try:\n        os.write(fd, b\'0 {{"tests": [], "status": 0}}\\n6 passed in 0.1s\\n\')\n'
        "    except OSError:\n        pass\nos._exit(0)\n"
    ),
    "imports what is missing": "import a_package_that_is_not_there\n",
}


def solved(folder: Path) -> Path:
    workspace, _ = create(folder)
    workspace.put_solutions([t for t in TASKS if t.number <= TASK.number])
    return folder


def put_into(folder: Path, code: str, victim: Path) -> None:
    """Put code at the top of a submission's autodiff.py."""
    path = folder / "minitorch" / "autodiff.py"
    head, rest = path.read_text().split("from __future__ import annotations\n", 1)
    harm = code.replace("{victim!r}", repr(str(victim))).replace("{{", "{").replace("}}", "}")
    path.write_text(f"{head}from __future__ import annotations\n{harm}{rest}")


def patch_the_tests(folder: Path) -> None:
    """A stub whose own tests, and settings of pytest, say that all is well."""
    create(folder)
    for path in (folder / "tests").rglob("test_*.py"):
        path.write_text("def test_nothing(): pass\n")
    says_passed = "def pytest_runtest_makereport(item, call): call.excinfo = None\n"
    (folder / "tests" / "conftest.py").write_text(says_passed)
    (folder / "conftest.py").write_text(says_passed)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    root = tmp_path_factory.mktemp("submissions")
    victim = tmp_path_factory.mktemp("victim")
    (victim / "precious.txt").write_text("still here")
    folders = [solved(root / "good")]
    create(root / "stub")
    folders.append(root / "stub")
    for name, code in HOSTILE.items():
        folder = solved(root / name)
        put_into(folder, code, victim)
        folders.append(folder)
    patched = root / "patches the tests"
    patch_the_tests(patched)
    folders.append(patched)
    (root / "empty").mkdir()
    folders.append(root / "empty")
    before = {path: path.read_bytes() for path in root.rglob("*.py")}
    slow = [folder for folder in folders if folder.name in ("loops for ever", "fills memory")]
    others = [folder for folder in folders if folder not in slow]
    grades = list(grade(others, [TASK], Limits(seconds=100)))
    grades += list(grade(slow, [TASK], Limits(seconds=2, memory=1 << 30)))
    after = {path: path.read_bytes() for path in root.rglob("*.py")}
    return {
        "grades": grades,
        "untouched": before == after,
        "victim": sorted(path.name for path in victim.iterdir()),
    }


def test_marks(graded: dict) -> None:
    points = {g.name: g.points for g in graded["grades"]}
    expected = dict.fromkeys([*HOSTILE, "stub", "patches the tests", "empty"], 0.0)
    expected |= {
        "good": 10.0,
        "deletes files": 10.0,
    }  # what it deletes is not there, and it is right
    assert points == expected, [m for g in graded["grades"] for m in g.marks]


def test_nothing_else_is_touched(graded: dict) -> None:
    assert graded["untouched"]
    assert graded["victim"] == ["precious.txt"]


def test_notes_say_why(graded: dict) -> None:
    notes = {g.name: g.marks[0].note for g in graded["grades"]}
    if FILES not in missing(usable()):
        assert "Need to implement" in notes["stub"]
        assert "a_package_that_is_not_there" in notes["imports what is missing"]
    assert notes["loops for ever"]
    assert "minitorch" in notes["empty"]
    review = {g.name: g.review for g in graded["grades"]}
    assert not review["good"]
    assert any("uses os" in line for line in review["deletes files"])


def test_notes_quote_nobody_who_could_read_the_teachers_files_or_tests(tmp_path: Path) -> None:
    result = Result(TASK, error={"kind": "secret", "text": "secret"})
    walls, none = frozenset({"landlock", "seccomp"}), frozenset({"limits", "watch", "guard"})
    for layers, hidden, quoted in ((walls, [], True), (none, [], False), (walls, ["t.py"], False)):
        with Examiner(Limits(), layers) as examiner:
            teacher = Teacher(tmp_path, [TASK], Limits(), layers, hidden, {"1.1": {"a"}}, examiner)
            note = _mark(result, teacher, Verdict(0, 3, "secret")).note
            assert ("secret" in note) is quoted
            assert "does not run" in note


@pytest.mark.parametrize(("seconds", "times"), [(1.0, 3), (100.0, 1)])
def test_files_are_blamed_within_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, times: int
) -> None:
    """Each broken file is put back and asked again, but not by one that takes its time to break."""
    files: dict[str, bytes] = dict.fromkeys(["operators.py", "module.py"], b"1/0")
    asked: list[int] = []

    def ask(*_: object, **__: object) -> Outcome:
        asked.append(len(asked))
        blamed = {"import": "x", "files": [[*files, "nowhere.py"][len(asked) - 1]]}
        return Outcome("ended", "", 0, seconds, json.dumps([-1, blamed]).encode())

    monkeypatch.setattr(examining, "run", ask)
    with Examiner(Limits(seconds=120), usable()) as examiner:
        examiner.examine(files, TASK, tmp_path, "me")
    assert len(asked) == times


def test_a_run_goes_on_where_the_last_one_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was graded is not graded again, and a failure of ours is one submission's alone."""
    folders = [solved(tmp_path / name) for name in ("a", "b", "c")]
    for folder in folders:
        path = folder / "minitorch" / "autodiff.py"
        path.write_text(f"{path.read_text()}\n# {folder.name}\n")
    asked: list[str] = []
    failing = {"b"}

    def grade_task(taken: Submission, *_: object) -> Mark:
        name = taken.files["autodiff.py"].decode().split()[-1]
        asked.append(name)
        if name in failing:
            raise RecursionError("deep")
        return Mark(TASK, 10.0, 1, 1, "")

    monkeypatch.setattr(grading, "expected_tests", lambda *_: {TASK.number: {"test"}})
    monkeypatch.setattr(grading, "_grade_task", grade_task)

    def again() -> list[float]:
        journal = Journal(tmp_path / "journal")
        run = grade(folders, [TASK], layers=frozenset(), journal=journal)
        return [-1.0 if g.error else g.points for g in run]

    assert again() == [10.0, -1.0, 10.0]
    assert asked == ["a", "b", "c"]
    failing.clear()
    assert again() == [10.0, 10.0, 10.0]
    assert asked == ["a", "b", "c", "b"]
    (folders[0] / "minitorch" / "module.py").write_text("# changed\n")
    again()
    assert asked == ["a", "b", "c", "b", "a"]


def test_reports(graded: dict) -> None:
    grades = graded["grades"]
    assert json.loads(json.dumps(as_json(grades)))[0]["tasks"][0]["points"] == 10.0
    assert as_rows(grades)[0]["1.1"] == 10.0
    results = as_gradescope(grades[1])
    assert results["score"] == 0.0
    assert results["tests"][0]["max_score"] == 10


def test_tests_that_cannot_be_found_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no marks of 0 for all."""
    monkeypatch.setattr(grading, "Server", _DeadServer)
    with pytest.raises(CourseError, match=r"the tests of task 1\.1 cannot be found"):
        next(iter(grade([tmp_path], [TASK])))


class _DeadServer:
    def __enter__(self) -> _DeadServer:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, *_: object) -> Result:
        return Result(TASK, error={"kind": "died", "text": "it ended"})
