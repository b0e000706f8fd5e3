"""One entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One wrong answer.

    Args:
        name: what went wrong, in a few words
        task: the task whose tests must fail, as in `task0_1`
        file: in `minitorch/`
        advice: what to tell a student who made it, after what was asked and what came out
        right: what the file says
        wrong: what the mistake says instead
    """

    name: str
    task: str
    file: str
    advice: str
    right: str
    wrong: str

    @property
    def number(self) -> str:
        """The task as the course counts, `0.1`."""
        return self.task.removeprefix("task").replace("_", ".")


def in_file(task: str, file: str, *entries: tuple[str, str, str, str]) -> list[Mistake]:
    """Mistakes of a task in one file: name, advice, right and wrong text."""
    return [
        Mistake(name, task, file, advice, right, wrong) for name, advice, right, wrong in entries
    ]
