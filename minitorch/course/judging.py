"""What answers are worth: decided here, from plain values, by comparing with the reference.

The process that answers (`inside/answering.py`) runs a submission, and whatever it sends may be a
lie. It is read as bytes, as JSON, and compared with what a trusted process, in which the reference
library runs, answers to the same questions. Nothing of a submission is imported, called or unpickled
here: no object with its own idea of equality gets this far.
"""

from __future__ import annotations

import ast
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..syntax import parse_expression
from .checking import environment
from .inside.answering import LARGEST
from .questions import Question
from .workspace import CourseError

ANSWERING = Path(__file__).parent / "inside" / "answering.py"
ROUNDING = 1e-9
ROUGHLY = 1e-5


@dataclass(frozen=True)
class Verdict:
    """How many questions a submission answered right, and the first that it did not."""

    right: int
    total: int
    note: str = ""
    broken: tuple[str, ...] = ()
    """The files that could not be imported, if that is what went wrong; the one to blame first."""

    @property
    def complete(self) -> bool:
        """Whether every question was answered right."""
        return 0 < self.total == self.right


def judge(questions: Sequence[Question], expected: Sequence[Any], sent: bytes) -> Verdict:
    """Compare what a process sent with the right answers."""
    answers = read_answers(sent, len(questions))
    if isinstance(answers, str):
        return Verdict(0, len(questions), answers, _broken_files(sent))
    right = [
        number < len(answers) and is_right(q, e, answers[number])
        for number, (q, e) in enumerate(zip(questions, expected, strict=True))
    ]
    note = ""
    if not all(right):
        first = right.index(False)
        got = answers[first] if first < len(answers) else None
        said = _in_short(got) if first < len(answers) else "got no answer"
        note = f"{questions[first].expression} {said}, expected {_in_short(expected[first], '')}"
    return Verdict(sum(right), len(questions), note)


# --- Reading -----------------------------------------------------------------------------------


def read_answers(sent: bytes, count: int) -> list[Any] | str:
    """The answers, in the order of the questions, or what is wrong with them."""
    found: list[Any] = []
    for line in sent.split(b"\n")[: count + 2]:
        if not line:
            continue
        try:
            number, answer = json.loads(line[:LARGEST])
        except (ValueError, TypeError, RecursionError):
            return "what it answered cannot be read"
        if number == -1 and isinstance(answer, dict) and not found:
            return f"import: {str(answer.get('import', ''))[:300]}"
        if type(number) is not int or number != len(found) or number >= count:
            return "it answered what was not asked"
        found.append(answer)
    return found


def _broken_files(sent: bytes) -> tuple[str, ...]:
    try:
        return tuple(str(name) for name in json.loads(sent[:LARGEST].split(b"\n")[0])[1]["files"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return ()


def _in_short(answer: Any, verb: str = "gives ") -> str:
    if isinstance(answer, dict) and answer.get("raises"):
        return f"raises {str(answer.get('text') or answer['raises'][0])[:120]}"
    try:
        text = repr(answer)
    except (RecursionError, ValueError):
        text = "something too deep or too long to show"
    return verb + (text if len(text) <= 120 else text[:117] + "...")


# --- Comparing ---------------------------------------------------------------------------------


def is_right(question: Question, expected: Any, answer: Any) -> bool:
    """Whether an answer is right; one that cannot be compared is not."""
    try:
        return _COMPARE[question.how](question, expected, answer)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        return False


def _same(expected: Any, answer: Any, tolerance: float) -> bool:
    if isinstance(expected, dict):
        if "raises" not in expected:
            return expected == answer
        raised = answer.get("raises") if isinstance(answer, dict) else None
        return isinstance(raised, list) and expected["raises"][0] in raised
    if isinstance(expected, list):
        return (
            isinstance(answer, list)
            and len(answer) == len(expected)
            and all(_same(e, a, tolerance) for e, a in zip(expected, answer, strict=True))
        )
    if isinstance(expected, (bool, int, float)):
        return isinstance(answer, (bool, int, float)) and _close(
            float(expected), float(answer), tolerance
        )
    return type(answer) is type(expected) and answer == expected


def _close(expected: float, answer: float, tolerance: float) -> bool:
    if not math.isfinite(expected):
        return answer == expected or (math.isnan(expected) and math.isnan(answer))
    return abs(answer - expected) <= tolerance * max(1.0, abs(expected))


def _each(question: Question, expected: Any, answer: Any) -> bool:
    return (
        isinstance(answer, list)
        and len(answer) > 0
        and all(_same(expected[0], one, ROUNDING) for one in answer)
    )


def _order(question: Question, expected: Any, answer: Any) -> bool:
    """Each variable that the last one depends on, once, after all that was computed from it."""
    call = parse_expression(question.expression)
    _, parents, constant = map(ast.literal_eval, call.args[0].args)  # type: ignore[attr-defined]
    place = {number: i for i, number in enumerate(answer)}
    if sorted(answer) != sorted(expected) or set(constant) & set(answer):
        return False
    return all(
        place[node] < place[parent]
        for node in place
        for parent in parents[node]
        if parent not in constant
    )


def _dropout(question: Question, expected: Any, answer: Any) -> bool:
    call = parse_expression(question.expression)
    x, (rows, columns), rate = map(ast.literal_eval, call.args)  # type: ignore[attr-defined]
    out, gradient = answer
    if len(out) != rows * columns or len(gradient) != len(out):
        return False
    kept = [_same(x, value, ROUNDING) for value in out]
    if not all(k or value == 0.0 for k, value in zip(kept, out, strict=True)):
        return False
    if not all(_same(float(k), g, ROUNDING) for k, g in zip(kept, gradient, strict=True)):
        return False
    spread = math.sqrt(rate * (1.0 - rate) / len(out))
    lines = [kept[r * columns : (r + 1) * columns] for r in range(rows)]
    across = [kept[c::columns] for c in range(columns)]
    return (
        abs(sum(kept) / len(kept) - (1.0 - rate)) < 6.0 * spread
        and any(0 < sum(line) < columns for line in lines)
        and any(0 < sum(line) < rows for line in across)
    )


SURE = 0.2
"""A probability nearer to 1/2 than by 0.5 less this is not sure."""
LEARNED = 0.9


def _learned(question: Question, expected: Any, answer: Any) -> bool:
    """Probabilities on the reference's side of 1/2, for nine of ten that it is sure about."""
    if not isinstance(answer, list) or len(answer) != len(expected):
        return False
    if not all(type(p) is float and 0.0 <= p <= 1.0 for p in answer):
        return False
    sure = [(e, a) for e, a in zip(expected, answer, strict=True) if not SURE < e < 1.0 - SURE]
    right = sum((e > 0.5) == (a > 0.5) for e, a in sure)
    return right >= LEARNED * len(sure)


_COMPARE: dict[str, Callable[[Question, Any, Any], bool]] = {
    "same": lambda q, expected, answer: _same(expected, answer, ROUNDING),
    "about": lambda q, expected, answer: _same(expected, answer, ROUGHLY),
    "each": _each,
    "order": _order,
    "dropout": _dropout,
    "learned": _learned,
}


# --- The reference -----------------------------------------------------------------------------


class Reference:
    """A trusted process, in which the right library answers; kernels run as plain Python."""

    def __init__(self, root: Path) -> None:
        self.root = root
        reader, writer = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(ANSWERING), str(writer), "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writer],
            env=environment() | {"NUMBA_DISABLE_JIT": "1", "NUMBA_ENABLE_CUDASIM": "1"},
            text=True,
        )
        os.close(writer)
        self.lines = os.fdopen(reader, "rb")

    def ask(self, questions: Sequence[Question]) -> bytes:
        """What the process sends."""
        if self.process.stdin is None:
            raise RuntimeError("the process has no input")
        self.process.stdin.write(as_request(self.root, questions) + "\n")
        self.process.stdin.flush()
        sent = self.lines.readline()
        if sent.startswith(b"[0,"):
            sent += b"".join(self.lines.readline() for _ in questions[1:])
        return sent

    def answers(self, questions: Sequence[Question]) -> list[Any]:
        """The right answers; CourseError where a question has none."""
        found = read_answers(self.ask(questions), len(questions))
        if isinstance(found, str) or len(found) != len(questions):
            raise CourseError(f"the reference does not answer: {found or 'it ended'}")
        for question, answer in zip(questions, found, strict=True):
            if isinstance(answer, dict) and set(answer.get("raises", [])) & _OUR_FAULT:
                raise CourseError(f"a question is wrong: {question.expression} {_in_short(answer)}")
        return found

    def close(self) -> None:
        """End the process."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(10)
        self.lines.close()

    def __enter__(self) -> Reference:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_OUR_FAULT = {"SyntaxError", "NameError", "TypeError", "NotImplementedError"}


def as_request(root: Path, questions: Sequence[Question]) -> str:
    """A request for `inside/answering.py`."""
    asked = [[q.expression, q.seed] for q in questions]
    return json.dumps({"root": str(root), "questions": asked})
