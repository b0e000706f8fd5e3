"""Parts of a student's life with the course; all of it: python -m tests.course_tools.life."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import finished_file
from tests.course_tools.life import SCRIPTS, Life, Script, live


def test_from_an_empty_folder_to_a_script(tmp_path: Path) -> None:
    """A task is checked, and its script is run right and wrong."""
    steps = list(live(tmp_path, [find_task("0.5")], []))
    assert [problem for _, problem in steps] == [""] * 3


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Life:
    life = Life(tmp_path_factory.mktemp("life"))
    assert not life.begin()
    for file in {place.file for task in TASKS for place in task.places}:
        life.workspace.file(file).write_bytes(finished_file(file))
    return life


@pytest.mark.parametrize("script", SCRIPTS[-2:-1], ids=["torch"])
def test_the_gpt_that_is_trained_is_the_students(finished: Life, script: Script) -> None:
    """On the Torch floor, too, which a workspace finds in the installed library."""
    assert finished.try_script(script) == ""
