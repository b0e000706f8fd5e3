"""A submission's points come from plain values, compared with what the reference answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minitorch.course.checking import read_answer
from minitorch.course.examining import read_questions
from minitorch.course.inside.answering import LARGEST
from minitorch.course.judging import Reference, is_right, judge, read_answers
from minitorch.course.plain_answers import accepted_answers, plain_answers, write_answer
from minitorch.course.questions import QUESTIONS, TIMES, Question, draw_questions
from minitorch.course.recognition import ALL, key
from minitorch.course.stubs import LIBRARY
from minitorch.course.tasks import BY_NUMBER, TASKS
from minitorch.course.verifying import _copy_library, _unasked
from minitorch.course.workspace import CourseError, create


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    with Reference(LIBRARY.parent) as made:
        yield made


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with Reference(create(tmp_path_factory.mktemp("stub") / "w")[0].root) as made:
        yield made


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    workspace, _ = create(tmp_path_factory.mktemp("finished") / "w")
    workspace.put_solutions(TASKS)
    with Reference(workspace.root) as made:
        yield made


@pytest.fixture(scope="module", params=[plain_answers, accepted_answers])
def other(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reference]:
    """All tasks in another style: the guide's, or that of the original course where it has one."""
    workspace, _ = create(tmp_path_factory.mktemp("other") / "w")
    answers = plain_answers() | request.param()
    for task in TASKS:
        for place in task.places:
            write_answer(workspace, place, answers[place.file, place.name])
    with Reference(workspace.root) as made:
        yield made


SLOW = {"3.3", "3.4", "4.4b", "4.5", "5.4", "5.5"}
"""Tasks whose kernels the simulator runs, and those that train networks of images and text."""


# --- Questions -----------------------------------------------------------------------------


def test_every_task_has_questions() -> None:
    assert list(QUESTIONS) == [task.number for task in TASKS]


@pytest.mark.parametrize("number", list(QUESTIONS))
def test_questions_are_drawn_anew(number: str) -> None:
    one, again, other = (draw_questions(number, seed) for seed in ("1", "1", "2"))
    assert one == again
    assert {(q.expression, q.seed) for q in one}.isdisjoint((q.expression, q.seed) for q in other)


@pytest.mark.parametrize("number", [n for n in QUESTIONS if n not in SLOW])
def test_a_stub_answers_wrong_and_a_solution_right(
    number: str, reference: Reference, stub: Reference, finished: Reference
) -> None:
    drawn = draw_questions(number, "some seed")
    expected = reference.answers(drawn)
    assert not judge(drawn, expected, stub.ask(drawn)).complete
    verdict = judge(drawn, expected, finished.ask(drawn))
    assert verdict.complete, verdict.note


@pytest.mark.parametrize("number", list(QUESTIONS))
def test_other_styles_answer_right(number: str, reference: Reference, other: Reference) -> None:
    """One question of each kind, but for those that train."""
    drawn = draw_questions(number, "other styles")
    asked = [q for q in drawn if q.how != "learned"][:: 1 if number == "4.5" else TIMES]
    verdict = judge(asked, reference.answers(asked), other.ask(asked))
    assert verdict.complete, verdict.note


@pytest.mark.parametrize("mistake", ALL[::58], ids=key)
def test_mistakes_answer_wrong(mistake: Any, reference: Reference, tmp_path: Path) -> None:
    _copy_library(tmp_path)
    path = tmp_path / "minitorch" / mistake.file
    path.write_text(mistake.made_in(path.read_text()))
    assert _unasked(reference, tmp_path, mistake) == ""


def test_a_teachers_own_questions(reference: Reference, tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text("# more\n1.1: about: central_difference(square, {x}, epsilon=0.25)\n")
    more = read_questions(path)
    drawn = draw_questions("1.1", "1", more["1.1"])
    mine = [q for q in drawn if "square" in q.expression]
    assert len(mine) == 3
    assert all(isinstance(answer, float) for answer in reference.answers(mine))
    with pytest.raises(CourseError, match="a question is wrong"):
        reference.answers([Question("no_such_name(1)", 1)])
    path.write_text("central_difference(square, 1.0)\n")
    with pytest.raises(CourseError, match="does not begin with a task"):
        read_questions(path)


# --- Answers ---------------------------------------------------------------------------------

ASKED = [Question("a", 1), Question("b", 2)]
EXPECTED = [1.0, [2.0, 3.0]]


def lines(*answers: Any) -> bytes:
    return b"".join(json.dumps(answer).encode() + b"\n" for answer in answers)


def test_right_answers_are_right() -> None:
    assert judge(ASKED, EXPECTED, lines([0, 1.0], [1, [2, 3.0 + 1e-12]])).complete


MALFORMED = {
    "nothing": b"",
    "one of two": lines([0, 1.0]),
    "one too many": lines([0, 1.0], [1, [2.0, 3.0]], [2, 0.0]),
    "the first twice": lines([0, 1.0], [0, 1.0], [1, [2.0, 3.0]]),
    "in another order": lines([1, [2.0, 3.0]], [0, 1.0]),
    "numbered with booleans": lines([False, 1.0], [True, [2.0, 3.0]]),
    "numbered with floats": lines([0.0, 1.0], [1.0, [2.0, 3.0]]),
    "no pairs": lines([0], [1]),
    "no lists": lines(0, "x"),
    "no JSON": b"\xff\xfe\n",
    "too deep": b"[" * 100_000 + b"\n",
    "too deep an answer": b"[0, " + b"[" * 900 + b"]" * 900 + b"]\n" + lines([1, [2.0, 3.0]]),
    "an answer that is too large": b"[0, " + b"9" * 10_000 + b"]\n" + lines([1, [2.0, 3.0]]),
    "infinite": b"[0, Infinity]\n" + lines([1, [2.0, 3.0]]),
    "not a number": b"[0, NaN]\n" + lines([1, [2.0, 3.0]]),
    "beyond floats": b"[0, 1e999]\n" + lines([1, [2.0, 3.0]]),
    "dictionaries": lines([0, {"raises": ["Exception"]}], [1, [2.0, 3.0]]),
    "texts": lines([0, "1.0"], [1, [2.0, 3.0]]),
    "nothing as an answer": lines([0, None], [1, [2.0, 3.0]]),
    "a list that is too long": lines([0, 1.0], [1, [2.0, 3.0, 3.0]]),
    "a file that is broken": lines([-1, {"import": "x", "files": ["nn.py"]}]),
    "a claim that is malformed": lines([-1, {"import": 1, "files": 7}]),
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_answers_are_wrong(sent: bytes) -> None:
    verdict = judge(ASKED, EXPECTED, sent)
    assert not verdict.complete
    assert verdict.note


def test_broken_files_are_named() -> None:
    sent = lines([-1, {"import": "SyntaxError", "files": ["nn.py", "__init__.py"]}])
    assert judge(ASKED, EXPECTED, sent).broken == ("nn.py", "__init__.py")
    assert isinstance(read_answers(sent, 2), str)


def test_longer_lines_than_there_are_answers_are_not_read() -> None:
    """A list of millions, or so many files to blame, would keep the judge busy for hours."""
    assert isinstance(read_answers(lines([0, [0] * LARGEST]), 2), str)
    sent = lines([-1, {"import": "SyntaxError", "files": [""] * LARGEST}])
    assert judge(ASKED, EXPECTED, sent).broken == ()


@pytest.mark.parametrize(
    ("expected", "answer", "right"),
    [
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-6, False),
        (1.0, True, True),
        (1.0, "1.0", False),
        (1.0, float("nan"), False),
        (float("inf"), float("inf"), True),
        (float("inf"), 1.0, False),
        (float("inf"), float("-inf"), False),
        (float("nan"), float("nan"), True),
        (1.0, 10**400, False),
        (True, 1.0, True),
        ("a", "a", True),
        ("a", ["a"], False),
        (None, None, True),
        (None, 0, False),
        ([1.0, [2.0]], [1.0, [2.0]], True),
        ([1.0, [2.0]], [1.0, 2.0], False),
        ([], {}, False),
        ({"raises": ["IndexingError"]}, {"raises": ["Mine", "IndexingError"]}, True),
        ({"raises": ["IndexingError"]}, {"raises": ["ValueError"]}, False),
        ({"raises": ["IndexingError"]}, {"raises": "IndexingError"}, False),
        ({"raises": ["IndexingError"]}, {}, False),
        ({"raises": ["IndexingError"]}, 1.0, False),
    ],
)
def test_comparison(expected: Any, answer: Any, right: bool) -> None:
    assert is_right(Question("x", 1), expected, answer) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ([3, 2, 1], True),
        ([3, 1, 2], False),  # 2 is made from 1
        ([3, 2, 1, 0], False),  # 0 is a constant
        ([3, 2], False),
        ([3, 3, 2, 1], False),
        ([3, 2, "1"], False),
        (3, False),
    ],
)
def test_topological_orders(answer: Any, right: bool) -> None:
    question = Question("order(graph([1, 1, 1, 1], [[], [], [0, 1], [1, 2]], [0]))", 1, "order")
    assert is_right(question, [3, 2, 1], answer) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ([0.1, 0.9, 0.6, 0.2], True),
        ([0.4, 0.6, 0.1, 0.4], True),  # 0.5 is not sure
        ([0.9, 0.1, 0.6, 0.9], False),
        ([0.1, 0.1, 0.6, 0.2], False),
        ([0.1, 0.9, 0.6], False),
        ([0.0, 2.0, 0.6, 0.2], False),
        ([0, 1, 1, 0], False),  # labels are no probabilities
        ({"object": "list"}, False),
        (None, False),
    ],
)
def test_what_was_learned(answer: Any, right: bool) -> None:
    question = Question("learned(...)", 1, "learned")
    assert is_right(question, [0.05, 0.95, 0.5, 0.1], answer) is right


def test_dropout() -> None:
    question = Question("dropped(2.0, (4, 5), 0.5)", 1, "dropout")
    kept = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1]
    out, gradient = [2.0 * k for k in kept], [float(k) for k in kept]
    assert is_right(question, None, [out, gradient])
    assert not is_right(question, None, [[4.0 * k for k in kept], gradient])  # scaled up
    assert not is_right(question, None, [[2.0] * 20, [1.0] * 20])  # nothing dropped
    assert not is_right(question, None, [out, [1.0] * 20])  # the gradient of what was dropped
    rows = [2.0] * 5 + [0.0] * 10 + [2.0] * 5
    assert not is_right(question, None, [rows, [float(x > 0) for x in rows]])  # whole rows


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[" * 5000, '{"tests": 1}', '{"tests": [1], "probes": [], "error": 1}'],
)
def test_malformed_reports_of_tests_are_errors(text: str) -> None:
    result = read_answer(f"nonce {text}", "nonce", BY_NUMBER["1.1"])
    assert result.error is not None
    assert not result.passed
