"""What pages show while a workspace is only partly written, and checks run from the start page."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from minitorch.app import checks
from minitorch.app.opening import app_for_tests
from minitorch.app.rooms import find_room
from minitorch.course import checking
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import Workspace, create

from ..waiting import wait


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    made, _ = create(tmp_path / "mine")
    monkeypatch.setenv("MINITORCH_WORKSPACE", str(made.root))
    return made


def draw(room: str, clicked: str | None = None) -> tuple[AppTest, str]:
    """A page, and all its words."""
    app = app_for_tests()
    app.switch_page(str(find_room(room).file))
    app.run()
    if clicked:
        app.button(key=clicked).click().run()
    assert not app.exception
    words = [*app.markdown, *app.caption, *app.code, *app.info, *app.metric]
    return app, "\n".join(f"{getattr(w, 'label', '')} {w.value}" for w in words)


@pytest.mark.parametrize(
    ("solved", "shown", "lacking"),
    [
        (["0.1"], "slope: reference", "Task 1.1 is still open"),
        (["0.1", "1.1"], "slope: central difference", "Task 1.2 is still open"),
    ],
)
def test_functions_show_what_is_written(solved, shown, lacking, workspace) -> None:
    workspace.put_solutions(find_task(number) for number in solved)
    _, words = draw("functions")
    assert shown in words
    assert words.count("is still open") == 1
    assert lacking in words


def test_a_line_needs_no_logarithm(workspace) -> None:
    places = [p for p in find_task("0.1").places if p.name in ("mul", "add", "sigmoid")]
    task = find_task("0.1")
    some = type(task)(task.number, task.title, tuple(places), (), "")
    workspace.put_solutions([some, find_task("0.4"), find_task("0.5")])
    _, words = draw("by_hand")
    assert "sigmoid makes it a probability" in words
    assert words.count("is still open") == 1


def test_a_tree_is_drawn_before_anything_is_written(workspace) -> None:
    _, words = draw("modules")
    assert "Green is in training" in words
    assert "`Module.named_parameters` in `minitorch/module.py` is not written yet" in words


def test_a_compiled_function_that_is_not_written_is_named(workspace) -> None:
    workspace.put_solutions(task for task in TASKS if task.module < 3)
    _, words = draw("convolution")
    assert "`_tensor_conv1d` in `minitorch/fast_conv.py` is not written yet" in words


def test_a_check_is_run_and_remembered(workspace, monkeypatch) -> None:
    tests = [checking.Test("t::test_sum", "failed", message="AssertionError: 1 is not 2")]
    monkeypatch.setattr(checks, "check", lambda root, task: checking.Result(task, tests))
    app, _ = draw("start", "check-0.3")
    words = ""

    def reported() -> bool:
        nonlocal words
        app.run()
        words = "\n".join(str(w.value) for w in [*app.markdown, *app.code])
        return "not yet (0 of 1 checks pass" in words

    wait(reported)
    assert "Last failing check: task 0.3" in words
    assert workspace.notes()["last"]["task"] == "0.3"
    assert "Still to write: map, zipWith" in words


def test_an_impossible_check_says_so(workspace, monkeypatch) -> None:
    def fail(*_: object) -> checking.Result:
        raise OSError("no space left")

    monkeypatch.setattr(checks, "check", fail)
    run = checks.Check(workspace, find_task("0.1"))
    wait(lambda: not run.running)
    assert run.lines == ["Task 0.1 could not be checked: no space left"]
