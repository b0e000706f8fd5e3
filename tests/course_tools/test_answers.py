"""Hints that are true, and answers other than ours that pass."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import autodiff, fast_ops, nn, operators, scalar_functions, tensor_functions
from minitorch.course.examples import examples, first_hint
from minitorch.course.plain_answers import plain_answers, spelled_out
from minitorch.course.tasks import TASKS, Task, find_task
from minitorch.course.verifying import other_answers

PLACES = {(task.number, place.name) for task in TASKS for place in task.places}


def saved(*values: float) -> autodiff.Context:
    ctx = autodiff.Context()
    ctx.save_for_backward(*values)
    return ctx


def names_of(task: str) -> dict[str, object]:
    """What the examples of a task may use."""
    functions = scalar_functions if task[0] == "1" else tensor_functions
    own = vars(operators) if task[0] == "0" else {**vars(functions), **vars(nn), "nn_max": nn.max}
    if task[0] == "5":
        own = vars(minitorch.transformer)
    return {**vars(minitorch), "array": fast_ops.np.array, "saved": saved, **own}


def test_every_function_has_a_first_hint() -> None:
    assert set(examples()) == PLACES


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.number)
def test_first_hints_hold(task: Task) -> None:
    """What they say is true of the library, and not what the docstring says."""
    for place in task.places:
        example = examples()[task.number, place.name]
        assert example.startswith("? ") or eval(example, names_of(task.number)) is True, example
        assert len(first_hint(task.number, place.name)) > 15


def test_short_bodies_are_spelled_out() -> None:
    hints = {place.name: spelled_out(place) for task in TASKS for place in task.places}
    assert hints["relu_back"] == "return d if x > 0 else 0.0\n"
    assert hints["topological_sort"] is None
    assert len([hint for hint in hints.values() if hint]) >= 20


def test_every_function_has_a_plain_answer() -> None:
    places = {(place.file, place.name) for task in TASKS for place in task.places}
    assert set(plain_answers()) == places


def test_plain_answers_pass() -> None:
    """All tasks, compiled: minitorch course verify --answers."""
    tasks = [find_task(number) for number in ("0.1", "1.3", "2.1")]
    assert [problem for _, problem in other_answers(tasks)] == [""] * len(tasks)
