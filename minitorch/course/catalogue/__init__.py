"""The mistake catalogue: wrong answers that people really give, task by task.

An entry replaces a piece of the right program, which occurs in its file exactly once,
by a wrong one. The tests of the entry's task must notice, and a student whose code answers
the probes as the wrong program does sees the entry's advice.
"""

from __future__ import annotations

from . import answers, cuda, module0, module1, module2, module3, module4, module5, networks
from .record import Mistake as Mistake

MISTAKES: list[Mistake] = [
    *module0.MISTAKES, *answers.MODULE0, *networks.MODULE0,
    *module1.MISTAKES, *answers.MODULE1, *networks.MODULE1,
    *module2.MISTAKES, *answers.MODULE2, *networks.MODULE2,
    *module3.MISTAKES, *answers.MODULE3, *networks.MODULE3,
    *module4.MISTAKES, *answers.MODULE4, *networks.MODULE4,
    *module5.MISTAKES,
]  # fmt: skip
CUDA_MISTAKES: list[Mistake] = [*cuda.MISTAKES, *answers.CUDA]
"""Those of the CUDA tasks, which take a GPU or its simulator to show."""

RACES: list[Mistake] = answers.RACES
"""Those that are right by chance, and are seen in the text."""


def common_mistakes(number: str) -> list[tuple[str, str]]:
    """(what goes wrong, what to do about it) of a task, for the guides.

    >>> common_mistakes("1.1")[1][1]
    'Twice too large: the two points are 2 * epsilon apart.'
    """
    entries = [m for m in [*MISTAKES, *CUDA_MISTAKES] if m.number == number]
    return [(m.name, m.advice) for m in entries]
