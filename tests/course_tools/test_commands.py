"""The commands, as a student and a teacher type them."""

from __future__ import annotations

import errno
import os
import re
import zipfile
from pathlib import Path

import pytest

from minitorch.cli import main
from minitorch.course.catalogue import MISTAKES
from minitorch.course.checking import Server
from minitorch.course.commands import named_tasks
from minitorch.course.progress import explain
from minitorch.course.stubs import solution_file
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.verifying import mistakes, round_trips, seeds
from minitorch.course.workspace import Workspace, create

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made, _ = create(tmp_path / "w")
    monkeypatch.chdir(made.root)
    return made


def course(*arguments: str) -> int:
    return main(["course", *arguments])


def test_from_stub_to_solution(workspace: Workspace, capsys: Captured) -> None:
    assert course("solution", "0.4") == 2
    assert "not passed yet" in capsys.readouterr().err
    assert course("check", "0.4") == 1
    out = capsys.readouterr().out
    assert "Still to write: Module.train" in out
    assert "Traceback" not in out
    workspace.put_solutions([find_task("0.4")])
    assert course("check", "0.4") == 0
    assert "passed (19 of 19" in capsys.readouterr().out
    assert course("status") == 0
    assert "Modules                     passed" in capsys.readouterr().out
    assert course("solution", "0.4") == 0
    assert "4 of 4 functions are the same" in capsys.readouterr().out
    path = workspace.file("module.py")
    path.write_text(path.read_text() + "\ndef broken(:\n")
    assert course("check", "0.4") == 1
    assert "cannot be imported. SyntaxError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("end", "message"), [("def broken(:", "invalid syntax"), ("x = '\0'", "null bytes")]
)
def test_a_file_that_python_cannot_read_is_named(
    workspace: Workspace, capsys: Captured, end: str, message: str
) -> None:
    workspace.note(passed={"0.4": {"when": "today", "code": "x"}})
    path = workspace.file("module.py")
    path.write_text(path.read_text() + f"\n{end}\n")
    assert course("status") == 0
    out = capsys.readouterr().out
    assert re.search(rf"0\.4 .* broken +minitorch/module\.py.*: .*{message}", out)
    assert re.search(r"0\.1 .* open ", out)
    assert course("solution", "0.4") == 2
    assert "Fix that first" in capsys.readouterr().err
    assert course("check", "0.4") == 1
    out = capsys.readouterr().out
    assert re.search(rf"module\.py.*{message}|{message}.*module\.py", out)
    assert "None" not in out  # of a null byte Python tells neither file nor line


def test_a_file_is_read_as_python_reads_it(workspace: Workspace, capsys: Captured) -> None:
    """Some editors begin a file with a mark of its encoding, which is none of its text."""
    workspace.put_solutions([find_task("0.4")])
    path = workspace.file("module.py")
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert course("check", "0.4") == 0
    assert course("status") == 0
    assert "Modules                     passed" in capsys.readouterr().out
    assert course("solution", "0.4") == 0
    path.write_text("x = 'caf\xe9'\n", encoding="latin1")
    assert course("check", "0.4") == 1
    assert "SyntaxError: (unicode error)" in capsys.readouterr().out


def test_earlier_modules_are_not_filled_into_a_file_that_python_cannot_read(
    workspace: Workspace, capsys: Captured
) -> None:
    path = workspace.file("scalar.py")  # of tasks that have other files, too
    path.write_text(path.read_text() + "\ndef broken(:\n")
    assert course("start", "2", "--fill") == 2
    assert "minitorch/scalar.py line" in capsys.readouterr().err
    assert workspace.open_places(find_task("0.1"))


def test_a_result_is_told_though_it_cannot_be_remembered(
    workspace: Workspace, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "some.part")

    monkeypatch.setattr("minitorch.course.workspace.write_whole", refuse)
    assert course("check", "1.1") == 1
    out = capsys.readouterr().out
    assert "Still to write: central_difference" in out
    assert re.search(r"This could not be saved: .*course\.json: Read-only", out)


def test_what_to_type_after_new(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert course("new", "my torch") == 0
    assert "Next: cd 'my torch' && minitorch course check 0.1" in capsys.readouterr().out
    monkeypatch.chdir("my torch")
    Path("README.md").unlink()
    assert course("new", ".") == 0
    assert "1 file written, yours to edit.\nNext: minitorch course" in capsys.readouterr().out


def test_hints(workspace: Workspace, capsys: Captured) -> None:
    assert course("hint", "0.1", "3", "--function", "sigmoid") == 0
    assert "math.exp" in capsys.readouterr().out
    assert course("hint", "0.1", "1", "--function", "nothing") == 2
    assert "has no function nothing" in capsys.readouterr().err


def test_messages_lead_into_the_guide(workspace: Workspace, capsys: Captured) -> None:
    assert course("check", "1.1") == 1
    assert "guide: minitorch course guide 1.1" in capsys.readouterr().out
    assert course("guide", "1.1") == 0
    place, _, heading = capsys.readouterr().out.splitlines()[:3]
    page, line = place.split(":")
    assert (workspace.root / page).read_text().splitlines()[int(line) - 1] == heading


def test_start(workspace: Workspace, capsys: Captured) -> None:
    assert course("start", "1") == 0
    assert "Still open in earlier modules: 0.1, 0.2, 0.3, 0.4, 0.5" in capsys.readouterr().out
    assert course("start", "1", "--fill") == 0
    assert not [t for t in TASKS if t.module == 0 and workspace.open_places(t)]
    assert workspace.notes()["module"] == 1


def test_user_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["check"], ["status"], ["reset", "x.py"], ["grade", "nowhere"]):
        assert course(*arguments) == 2
        assert capsys.readouterr().err.startswith("minitorch course: ")
    with pytest.raises(SystemExit):
        course("start", "9")


def test_release_and_export(tmp_path: Path, capsys: Captured) -> None:
    assert course("release", str(tmp_path / "r"), "--module", "1", "--zip") == 0
    released = Workspace(tmp_path / "r")
    assert not released.open_places(find_task("0.1"))
    assert released.open_places(find_task("1.1"))
    assert "r/minitorch/operators.py" in zipfile.ZipFile(tmp_path / "r.zip").namelist()
    assert course("release", str(tmp_path / "r")) == 2
    assert course("export", "github", str(tmp_path / "g"), "--modules", "0") == 0
    text = (tmp_path / "g" / ".github" / "workflows" / "course.yml").read_text()
    assert "--tasks 0.1 0.2 0.3 0.4" in text
    assert course("export", "gradescope", str(tmp_path / "s")) == 0
    assert (tmp_path / "s" / "run_autograder").stat().st_mode & 0o100


def test_a_release_ended_in_its_first_write_goes_on(tmp_path: Path) -> None:
    left = tmp_path / "r" / ".minitorch" / ".minitorch-0123456789abcdef.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"{")
    assert course("release", str(tmp_path / "r")) == 0
    assert not left.exists()
    assert course("release", str(tmp_path / "r")) == 2


def test_round_trip() -> None:
    """Every task: minitorch course verify."""
    tasks = [find_task("1.1"), find_task("1.3")]
    assert [problem for _, problem in round_trips(tasks)] == ["", ""]


def test_mistakes_are_noticed_and_named() -> None:
    """Every mistake: minitorch course verify --full."""
    found = [(m.name, problem) for m, problem in mistakes([find_task("1.3")])]
    assert len(found) >= 4
    assert not [pair for pair in found if pair[1]]


def test_no_failure_by_chance(capsys: Captured) -> None:
    """All tasks: minitorch course verify --seeds 200."""
    assert course("verify", "--tasks", "1.1", "1.3", "--seeds", "2") == 0
    assert re.search(r"2 seeds, 2 tasks: 0 failures in [1-9]\d checks", capsys.readouterr().out)


def test_checks_that_draw_nothing_run_with_the_first_seed_alone() -> None:
    first, second = (result for _, result in seeds([find_task("2.1"), find_task("2.4")], [1, 2]))
    drawn = {test.name.partition("[")[0]: test.drawn for test in first.tests}
    assert drawn["test_index_functions_can_be_compiled"] == ""
    assert drawn["test_every_index_reads_its_own_place"] == "examples"
    assert drawn["test_gradient_of_one_argument"] == "numbers"  # NumPy's or Python's generator
    assert {t.id for t in second.tests} == {t.id for t in first.tests if t.drawn}
    assert all(test.drawn for test in second.tests)


def test_a_warm_process_recognises_mistakes(workspace: Workspace) -> None:
    """What `watch` does: a student's wrong answers, each with its message, in one process."""
    workspace.put_solutions([t for t in TASKS if t.module <= 1])
    with Server() as server:
        for number in ("1.1", "1.3"):
            mistake = [m for m in MISTAKES if m.number == number][-1]
            text = solution_file(mistake.file)
            path = workspace.file(mistake.file)
            path.write_text(mistake.made_in(text))
            result = server.check(workspace.root, find_task(number), quick=True, first=True)
            assert not result.passed
            assert mistake.advice in explain(workspace, result)[0]
            path.write_text(text)
            assert server.check(workspace.root, find_task(number), quick=True).passed


def test_a_new_request_ends_the_one_that_runs(workspace: Workspace) -> None:
    """Who saves while the checks run need not wait for them."""
    path = workspace.file("autodiff.py")
    text = path.read_text()
    path.write_text(text + "\nimport time\ntime.sleep(60)\n")
    with Server() as server:
        ended = server.check(workspace.root, find_task("1.1"), lambda: True)
        assert ended.error is not None
        assert ended.error["kind"] == "interrupted"
        path.write_text(text)
        assert server.check(workspace.root, find_task("1.1"), only_import=True).error is None


def test_a_module_is_all_its_tasks(workspace: Workspace) -> None:
    assert [t.number for t in named_tasks(["1", "0.1", "1.2"])] == "1.1 1.2 1.3 1.4 1.5 0.1".split()
    with pytest.raises(ValueError, match="no task"):
        named_tasks(["7"])


def test_without_pytest_a_check_says_what_to_install(tmp_path, monkeypatch, capsys) -> None:
    create(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minitorch.course.checking.find_spec", lambda name: None)
    assert main(["course", "check", "0.1"]) == 2
    assert "pip install 'minitorch[course]'" in capsys.readouterr().err
