"""Questions by which a submission is judged, drawn anew for each.

They are in `questions.txt`, under a line `== task` each. A line is an expression over the names of
`inside/drivers`, in which a word in braces stands for something random: `{x}` for a number, `{shape}`
for a shape, `{disguised x: -x}` for that function in other words (`drawing.py`). Tensors are filled
with random numbers, too. So there is no list of answers to look up: whoever answers right computes
what was asked for. A word before the expression says how the answer is compared (`judging.py`):

    same     to the reference's, but for rounding (where none is given)
    about    to the reference's, to five digits: where rounding is magnified
    each     each element of the list to the reference's first one
    order    every variable once, before those it was computed from
    dropout  0 or the number itself, in the right proportion, each element by itself
    learned  on the reference's side of 1/2, nearly wherever the reference is sure
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

from .drawing import Draw

TIMES = 3
"""How often each line is drawn; what takes a training, once."""


@dataclass(frozen=True)
class Question:
    """An expression to evaluate, the seed of its random numbers, and how to compare."""

    expression: str
    seed: int
    how: str = "same"


def draw_questions(number: str, seed: str, more: str = "") -> list[Question]:
    """The questions of a task; `more` has further lines."""
    draw = Draw(random.Random(f"{seed} {number}"))
    found = {}
    for line in (QUESTIONS[number] + "\n" + more).split("\n"):
        if line.strip():
            how, expression = _split(line.strip())
            for _ in range(1 if how == "learned" else TIMES):
                text = re.sub(r"\{(\w+)\}", lambda m: draw.text(m[1]), expression)
                text = re.sub(r"\{(\w+) (.*?)\}", lambda m: draw.text(m[1], m[2]), text)
                found[text] = Question(text, draw.random.randrange(1 << 62), how)
    return list(found.values())


def _split(line: str) -> tuple[str, str]:
    match = re.fullmatch(r"(same|about|each|order|dropout|learned):\s*(.*)", line)
    return (match[1], match[2]) if match else ("same", line)


def _read(text: str) -> dict[str, str]:
    """The lines under each `== task`."""
    parts = (part.split("\n", 1) for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:])
    return {number.strip(): lines for number, lines in parts}


QUESTIONS: dict[str, str] = _read(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8"))
"""The lines of each task, from `questions.txt`."""
