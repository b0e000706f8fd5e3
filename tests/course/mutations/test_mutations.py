"""Classic wrong answers must fail the tests of their task."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .catalogue import MISTAKES, Mistake
from .runner import ROOT, Copy
from .unwritten import TASKS

TESTS_FAILED = 1  # pytest's exit status; errors of collection or usage have others


def named(mistake: Mistake) -> str:
    return f"{mistake.task}-{mistake.name}"


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    made = Copy(tmp_path_factory.mktemp("copy") / "copy")
    yield made
    made.close()


def test_every_entry_occurs_exactly_once() -> None:
    """So that the catalogue stays true when the library changes."""
    assert len(MISTAKES) >= 60
    assert len({named(m) + m.file for m in MISTAKES}) == len(MISTAKES)
    for m in MISTAKES:
        text = (ROOT / "minitorch" / m.file).read_text()
        count = m.original(text).count(m.right)
        assert count == 1, f"{named(m)}: {m.file} has {count} of it"
        compile(m.made_in(text), m.file, "exec")


def test_every_task_has_entries() -> None:
    tasks = {m.task for m in MISTAKES}
    expected = {f"task{m}_{t}" for m in (0, 1, 2, 4) for t in (1, 2, 3, 4, 5)}
    assert expected | {f"task3_{t}" for t in (1, 2, 5)} <= tasks


TRIED = [m for m in MISTAKES if not m.place][::4]
"""Every fourth one: `minitorch course verify --full` tries them all."""


@pytest.mark.parametrize("mistake", TRIED, ids=named)
def test_mistake_is_noticed(mistake: Mistake, copy: Copy) -> None:
    run = copy.run_with(mistake)
    assert run.status == TESTS_FAILED, f"not noticed:\n{run.output}"
    assert re.search(r"\d+ failed", run.output)


@pytest.mark.parametrize("task", TASKS)
def test_no_task_needs_a_later_one(task: str, copy: Copy) -> None:
    """The tests of a task pass where nothing of a later task is written yet."""
    run = copy.run_tests(task, written=task)
    assert run.status == 0, run.output
