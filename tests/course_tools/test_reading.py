"""Races in kernels are seen in their text, and right kernels show none."""

from __future__ import annotations

import pytest

from minitorch.course.catalogue import RACES, Mistake
from minitorch.course.checking import seen_in
from minitorch.course.plain_answers import plain_answers, write_answer
from minitorch.course.progress import explain
from minitorch.course.reading import faults
from minitorch.course.stubs import LIBRARY, functions_of, solution_file
from minitorch.course.tasks import TASKS, find_task
from minitorch.course.workspace import Workspace, create


def named(mistake: Mistake) -> str:
    return f"{mistake.number} {mistake.place}: {mistake.name}"


@pytest.mark.parametrize("mistake", RACES, ids=named)
def test_a_race_is_seen(mistake: Mistake) -> None:
    found = faults(mistake.made_in(""), mistake.place)
    assert any(mistake.advice in text for text in found)
    assert all(mistake.place in text and "line" in text for text in found)


def test_right_kernels_show_none(tmp_path) -> None:
    workspace, _ = create(tmp_path / "w")
    workspace.put_solutions(TASKS)
    assert [fault for task in TASKS for fault in seen_in(workspace, task)] == []
    for (file, name), body in plain_answers().items():
        place = next(p for t in TASKS for p in t.places if (p.file, p.name) == (file, name))
        write_answer(workspace, place, body)
    assert [fault for task in TASKS for fault in seen_in(workspace, task)] == []


@pytest.mark.parametrize("file", ["fast_ops", "fast_conv", "cuda_ops", "cuda_matmul", "cuda_conv"])
def test_the_library_shows_none(file: str) -> None:
    text = (LIBRARY / f"{file}.py").read_text()
    assert {name: faults(text, name) for name in functions_of(text) if faults(text, name)} == {}


@pytest.mark.parametrize(
    "body",
    [
        "own = np.zeros((4, 9), np.int32)\nfor i in prange(4):\n    own[i] = i\n    out[i] = own[i, 0]",
        "for i in prange(len(out)):\n    index = np.empty(3, np.int32)\n    to_index(i, out_shape, index)",
        "x = np.cos(1.0)\nfor i in prange(len(out)):\n    out[i] = x",
    ],
)
def test_other_right_ways_are_not_mistaken(body: str) -> None:
    text = "def kernel(out, out_shape):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    assert faults(text, "kernel") == []


def test_a_student_is_told(tmp_path) -> None:
    """Even where the numbers come out right: what is seen keeps a task from passing."""
    from minitorch.course.checking import Result, Test

    made, _ = create(tmp_path / "w")
    made.put_solutions(TASKS)
    race = RACES[0]
    Workspace(made.root).file(race.file).write_text(race.made_in(solution_file(race.file)))
    task = find_task(race.number)
    result = Result(task, [Test("t", "passed")], seen=seen_in(made, task))
    assert not result.passed
    assert race.advice in explain(made, result)[0]
