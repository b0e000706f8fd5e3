"""One entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

from ..plain_answers import plain_answers
from ..stubs import body_of, solution_file, with_body


@dataclass(frozen=True)
class Mistake:
    """One wrong answer.

    Args:
        name: what went wrong, in a few words
        task: the task whose tests must fail, as in `task0_1`
        file: in `minitorch/`
        advice: what to tell a student who made it, after what was asked and what came out
        right: what the file says, exactly once
        wrong: what the mistake says instead
        place: the function in whose plain answer (`plain_answers.txt`) this is so; the file is then that
            of a finished workspace. Without it: in the library's own file
    """

    name: str
    task: str
    file: str
    advice: str
    right: str
    wrong: str
    place: str = ""

    @property
    def number(self) -> str:
        """The task as the course counts, `0.1`."""
        return self.task.removeprefix("task").replace("_", ".")

    def original(self, text: str) -> str:
        """What is right: the library's file, or the plain answer."""
        if not self.place:
            return text
        plain = plain_answers().get((self.file, self.place))
        return plain or dedent(body_of(solution_file(self.file), self.place))

    def made_in(self, text: str) -> str:
        """The file with the mistake, where `text` is the library's."""
        wrong = self.original(text).replace(self.right, self.wrong)
        return with_body(solution_file(self.file), self.place, wrong) if self.place else wrong


def in_file(task: str, file: str, *entries: tuple[str, str, str, str]) -> list[Mistake]:
    """Mistakes of a task in one file: name, advice, right and wrong text."""
    return [
        Mistake(name, task, file, advice, right, wrong) for name, advice, right, wrong in entries
    ]


def in_answer(
    task: str, file: str, place: str, *entries: tuple[str, str, str, str]
) -> list[Mistake]:
    """Mistakes of a task in the plain answer to one function."""
    return [
        Mistake(name, task, file, advice, right, wrong, place)
        for name, advice, right, wrong in entries
    ]
