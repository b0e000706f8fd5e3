"""Hints that are true, and answers other than ours that pass."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import autodiff, fast_ops, nn, operators, scalar_functions, tensor_functions
from minitorch.course.checking import Server
from minitorch.course.examples import examples, first_hint
from minitorch.course.judging import Reference, judge
from minitorch.course.plain_answers import (
    accepted_answers,
    plain_answers,
    spelled_out,
    write_answer,
)
from minitorch.course.progress import account, standing
from minitorch.course.questions import draw_questions
from minitorch.course.stubs import LIBRARY
from minitorch.course.tasks import TASKS, Task, find_task
from minitorch.course.verifying import other_answers
from minitorch.course.workspace import Workspace, create

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


def test_plain_and_accepted_answers_pass() -> None:
    """All tasks, compiled: minitorch course verify --answers."""
    tasks = [find_task(number) for number in ("0.1", "1.3")]
    assert [problem for _, problem in other_answers(tasks)] == [""] * len(tasks)


def test_accepted_answers_are_answers() -> None:
    """By recursion, by history, with constants, and with sums that begin with 0.0, among others."""
    assert set(accepted_answers()) <= {
        (place.file, place.name) for t in TASKS for place in t.places
    }
    sort = accepted_answers()["autodiff.py", "topological_sort"]
    assert "visit(parent)" in sort
    assert "node.history" in sort
    assert "is_constant" not in accepted_answers()["scalar.py", "Scalar.chain_rule"]
    assert "0.0" in accepted_answers()["autodiff.py", "backpropagate"]


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the answers of lesson 1 that the original course accepts."""
    workspace, _ = create(tmp_path_factory.mktemp("accepted") / "w")
    workspace.put_solutions(TASKS)
    for task in TASKS:
        for place in task.places:
            body = accepted_answers().get((place.file, place.name))
            if task.module == 1 and body:
                write_answer(workspace, place, body)
    return workspace


def test_what_goes_beyond_a_task_is_told_and_not_needed(accepted: Workspace) -> None:
    with Server() as server:
        rule, back, tensors = (
            server.check(accepted.root, find_task(number), quick=True)
            for number in ("1.3", "1.4", "2.4")
        )
    for result, extra in ((rule, 1), (back, 2), (tensors, 2)):
        assert result.passed
        assert result.count("extra") == extra
    assert "Constants get no derivative" in "\n".join(account(accepted, rule))
    said = "\n".join(account(accepted, back))
    assert "passed" in said
    assert "Beyond what the task asks:" in said
    assert "RecursionError" in said
    assert standing(accepted, find_task("1.4"))[0] == "passed"


def test_a_grader_does_not_ask_beyond_a_task(accepted: Workspace) -> None:
    with Reference(LIBRARY.parent) as reference, Reference(accepted.root) as student:
        for number in ("1.3", "1.4"):
            asked = draw_questions(number, "beyond")
            verdict = judge(asked, reference.answers(asked), student.ask(asked))
            assert verdict.complete, verdict.note
