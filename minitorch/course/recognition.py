"""Recognising a known mistake by the answers a student's code gives to the probes.

`signatures.json` holds the answers of the right library, and for each mistake of the catalogue
those answers in which it differs. `python -m minitorch.course.recognition` makes it anew.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .catalogue import MISTAKES, Mistake
from .checking import Server, request
from .stubs import LIBRARY
from .tasks import BY_NUMBER

SIGNATURES = Path(__file__).with_name("signatures.json")


@dataclass(frozen=True)
class Found:
    """A mistake that a student made, and how it shows."""

    mistake: Mistake
    case: str
    got: str
    expected: str

    @property
    def message(self) -> str:
        """What to tell the student."""
        got = f"raises {self.got}" if self.got.endswith("Error") else f"gives {_cut(self.got)}"
        expected = _cut(self.expected)
        wanted = (
            f"should raise {expected}" if expected.endswith("Error") else f"expected {expected}"
        )
        return f"{self.case} {got}, {wanted}. {self.mistake.advice}"


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def recognise(number: str, answers: dict[str, str]) -> list[Found]:
    """The mistakes that explain a student's answers, at most one per wrong answer."""
    known = signatures()
    right: dict[str, str] = known["right"].get(_group(number), {})
    candidates: list[tuple[int, Mistake, dict[str, str]]] = []
    for mistake in MISTAKES:
        if _group(mistake.number) != _group(number):
            continue
        wrong = known["wrong"].get(key(mistake), {})
        if wrong and all(answers.get(case) == answer for case, answer in wrong.items()):
            candidates.append((len(wrong), mistake, wrong))
    candidates.sort(key=lambda c: -c[0])
    explained: set[str] = set()
    found = []
    for _, mistake, wrong in candidates:
        if explained & set(wrong):
            continue
        explained |= set(wrong)
        case = next(iter(wrong))
        found.append(Found(mistake, case, wrong[case], right[case]))
    return found


def key(mistake: Mistake) -> str:
    """A name for an entry that no other has."""
    return f"{mistake.number} {mistake.file}: {mistake.name}"


def _group(number: str) -> str:
    return "0.1" if number == "0.2" else number


@cache
def signatures() -> dict[str, Any]:
    """The answers of the right library and of the wrong ones."""
    return json.loads(SIGNATURES.read_text())


# --- Making the signatures -----------------------------------------------------------------


def answers_of(mistakes: list[Mistake]) -> Iterator[tuple[Mistake | None, str, dict[str, str]]]:
    """The answers of the right library to each task's probes, and of each wrong one to its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        shutil.copytree(
            LIBRARY,
            root / "minitorch",
            ignore=shutil.ignore_patterns("__pycache__", "torch", "torchvision", "course"),
        )
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        with Server(["numba"]) as server:
            for number in dict.fromkeys(_group(m.number) for m in mistakes):
                yield None, number, _ask(server, root, number)
            for mistake in mistakes:
                path = root / "minitorch" / mistake.file
                text = path.read_text()
                path.write_text(text.replace(mistake.right, mistake.wrong))
                try:
                    yield mistake, mistake.number, _ask(server, root, mistake.number)
                finally:
                    path.write_text(text)


def _ask(server: Server, root: Path, number: str) -> dict[str, str]:
    asked = request(root, BY_NUMBER[number])
    result = server.ask(asked | {"arguments": None, "limit": 60}, BY_NUMBER[number])
    if result.error is not None:
        return {"import": result.error["text"]}
    return result.probes


def compute_signatures() -> dict[str, Any]:
    """What `signatures.json` should hold."""
    made: dict[str, Any] = {"right": {}, "wrong": {}}
    for mistake, number, answers in answers_of(MISTAKES):
        if mistake is None:
            made["right"][number] = answers
        else:
            right = made["right"][_group(number)]
            made["wrong"][key(mistake)] = {c: a for c, a in answers.items() if a != right.get(c)}
    return made


if __name__ == "__main__":
    SIGNATURES.write_text(json.dumps(compute_signatures(), indent=1) + "\n")
    sys.exit(0)
