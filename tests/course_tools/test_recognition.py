"""Every mistake of the catalogue is recognised, and said in words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minitorch.course.catalogue import RACES, Mistake
from minitorch.course.checking import Result, Test
from minitorch.course.inside.drivers.values import text
from minitorch.course.progress import explain
from minitorch.course.recognition import ALL, answers_of, key, recognise, signatures, wrong_answers
from minitorch.course.stubs import LIBRARY
from minitorch.course.tasks import BY_NUMBER
from minitorch.course.workspace import create

SOME = ALL[::37]  # all of them: python -m minitorch.course.recognition, then git diff


def right_answers(number: str) -> dict[str, str]:
    return signatures()["right"][number]


@pytest.mark.parametrize("mistake", ALL, ids=key)
def test_every_mistake_is_recognised(mistake: Mistake) -> None:
    wrong = signatures()["wrong"][key(mistake)]
    found = recognise(mistake.number, right_answers(mistake.number) | wrong)
    assert [f.mistake for f in found] == [mistake]
    assert mistake.advice in found[0].message
    assert "expected" in found[0].message or "should raise" in found[0].message


def test_right_answers_show_no_mistake() -> None:
    for number, answers in signatures()["right"].items():
        assert recognise(number, answers) == []


def test_wrong_answers_that_no_mistake_explains_are_told(tmp_path: Path) -> None:
    """A student who made a mistake of his own reads what his function gave, not only a test's name."""
    workspace, _ = create(tmp_path / "w")
    workspace.put_solutions([BY_NUMBER["0.1"]])
    failed = [
        Test(
            "test_operators.py::test_relu", "failed", message="AssertionError: assert -0.02 == 0.0"
        )
    ]
    leaky = right_answers("0.1") | {"relu(-2.0)": "-0.02"}
    alone = Result(BY_NUMBER["0.1"], tests=failed, probes=leaky)
    assert explain(workspace, alone) == ["relu(-2.0) gives -0.02, expected 0.0."]
    adding = leaky | {"mul(2.0, 3.0)": "5.0", "neg(2.0)": "ValueError"}
    both = explain(workspace, Result(BY_NUMBER["0.1"], tests=failed, probes=adding))
    assert both[0].startswith("mul(2.0, 3.0) gives 5.0, expected 6.0. ")
    assert both[1:] == [
        "relu(-2.0) gives -0.02, expected 0.0.",
        "neg(2.0) raises ValueError, expected -2.0.",
    ]
    unwritten = leaky | {"neg(2.0)": "NotImplementedError"}
    told = explain(workspace, Result(BY_NUMBER["0.1"], tests=failed, probes=unwritten))
    assert told == ["relu(-2.0) gives -0.02, expected 0.0."]


def test_long_answers_are_shown_from_where_they_differ() -> None:
    right, case = right_answers("5.3"), "mask_of(3)"
    long = right | {case: right[case].replace("0.0, True]", "-inf, True]")}
    (told,) = wrong_answers("5.3", long)
    assert told == "causal_mask, length (3) gives ... -inf, True], expected ... 0.0, True]."


def test_rounding_errors_are_no_part_of_an_answer() -> None:
    """Another processor, or another order of a sum, leaves others."""
    assert text([0.1 + 0.2 - 0.3, -1e-17, 1 / 3, float("nan")]) == "[0.0, 0.0, 0.33333, nan]"
    answers = [*signatures()["right"].values(), *signatures()["wrong"].values()]
    said = " ".join(answer for by_case in answers for answer in by_case.values())
    assert not [n for n in re.findall(r"\d\S*e-\d+", said) if float(n.strip("],")) < 1e-12]


def test_catalogue_is_large_enough() -> None:
    assert len(ALL) + len(RACES) >= 220
    assert set(signatures()["wrong"]) == {key(m) for m in ALL}


def test_every_mistake_changes_an_answer() -> None:
    for mistake in (*ALL, *RACES):
        assert mistake.right in mistake.original((LIBRARY / mistake.file).read_text()), key(mistake)


def test_signatures_are_up_to_date() -> None:
    for mistake, number, answers in answers_of(SOME):
        if mistake is None:
            assert answers == right_answers(number)
        else:
            assert answers == right_answers(number) | signatures()["wrong"][key(mistake)]
