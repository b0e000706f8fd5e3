"""Every page without a browser: on the reference, on fresh stubs, and with one task open."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitorch.app.opening import open_pages
from minitorch.app.rooms import ROOMS
from minitorch.course.tasks import TASKS
from minitorch.course.workspace import Workspace, create


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    create(folder)
    return folder


ON_STUBS = [room for room in ROOMS if room.module != 5]  # the Torch floor is the reference's


@pytest.mark.parametrize(
    ("room", "code"),
    [*((room, "reference") for room in ROOMS), *((room, "stubs") for room in ON_STUBS)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_page_draws(room, code, stubs, tmp_path) -> None:
    words = open_pages(stubs if code == "stubs" else tmp_path, [room])[room.name]
    assert room.shows in words
    if code == "reference":
        assert "could not do this" not in words
        assert "is still open" not in words


@pytest.mark.parametrize("number", ["0.4", "1.4", "2.1"])
def test_a_page_names_the_only_task_that_is_open(number: str, tmp_path) -> None:
    workspace = Workspace(create(tmp_path)[0].root)
    workspace.put_solutions(task for task in TASKS if task.number != number)
    rooms = [room for room in ROOMS if number in room.tasks]
    words = open_pages(tmp_path, rooms)
    assert any(f"Task {number} is still open" in text for text in words.values())
    assert not any("could not do this" in text for text in words.values())
