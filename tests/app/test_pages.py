"""Every page without a browser: on the reference, on fresh stubs, and with one task open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from minitorch.app.opening import end_libraries, open_pages
from minitorch.app.rooms import ROOMS, find_room
from minitorch.course.plain_answers import write_answer
from minitorch.course.tasks import TASKS, Place
from minitorch.course.workspace import Workspace, create


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Where an app runs on the reference, and where on stubs; their processes serve all pages."""
    made = {code: tmp_path_factory.mktemp(code) for code in ("reference", "stubs")}
    create(made["stubs"])
    yield made
    end_libraries()


ON_STUBS = [room for room in ROOMS if room.module != 5]  # the Torch floor is the reference's


@pytest.mark.parametrize(
    ("room", "code"),
    [*((room, "reference") for room in ROOMS), *((room, "stubs") for room in ON_STUBS)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_page_draws(room, code, folders) -> None:
    words = open_pages(folders[code], [room], c_epochs="2")[room.name]
    assert room.shows in words
    if code == "reference":
        assert "could not do this" not in words
        assert "is still open" not in words


def test_what_cannot_be_drawn_is_a_card(tmp_path: Path) -> None:
    """A function that gives something else than a number is a mistake of the student's, and no traceback."""
    workspace = Workspace(create(tmp_path)[0].root)
    workspace.put_solutions(TASKS)
    write_answer(workspace, Place("operators.py", "sigmoid", "", ""), "return None\n")
    words = open_pages(tmp_path, [find_room("by_hand")])["by_hand"]
    assert "Your code could not do this" in words
    end_libraries()


@pytest.mark.parametrize("number", ["0.4", "1.4", "2.1"])
def test_a_page_names_the_only_task_that_is_open(number: str, folders, tmp_path) -> None:
    workspace = Workspace(create(tmp_path)[0].root)
    workspace.put_solutions(task for task in TASKS if task.number != number)
    rooms = [room for room in ROOMS if number in room.tasks]
    words = open_pages(tmp_path, rooms, c_epochs="2")
    assert any(f"Task {number} is still open" in text for text in words.values())
    assert not any("could not do this" in text for text in words.values())
