"""Asking a submission questions, behind walls, and having the answers judged.

The process that answers finds the submission's own library, files in which a student has nothing to
write, and the drivers of questions: no tests, no solution, no reference, and nothing that was right
before. What it sends back is judged outside (`judging.py`).
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from .judging import ANSWERING, Reference, Verdict, as_request, judge
from .questions import QUESTIONS, Question, draw_questions
from .sandbox import Limits, Outcome, remove_tree, run
from .stubs import LIBRARY, stub_file
from .tasks import TASKS, Task
from .workspace import CourseError, copy_torch_floor, course_files

BROKEN = 5
"""Files that may be broken before nothing more is tried; fewer where it takes long to see that."""


class Examiner:
    """Draws questions, knows the right answers, and asks submissions.

    Args:
        limits: what a submission may use
        layers: what it is kept behind
        seed: of the questions; a new one if None
        hidden: a folder whose `questions.txt` has more questions
    """

    def __init__(
        self,
        limits: Limits,
        layers: Collection[str] | None = None,
        seed: str | None = None,
        hidden: Path | None = None,
    ) -> None:
        self.limits, self.layers = limits, layers
        self.seed = seed or secrets.token_hex(8)
        self.more = read_questions(hidden / "questions.txt") if hidden else {}
        self.reference = Reference(LIBRARY.parent)

    def examine(self, files: dict[str, bytes], task: Task, folder: Path, who: str) -> Examined:
        """Ask the library that these files are; `who` makes its questions its own."""
        drawn = draw_questions(task.number, f"{self.seed} {who}", self.more.get(task.number, ""))
        expected = self.reference.answers(drawn)
        files = with_missing_files(files)
        verdict, usual = Verdict(0, len(drawn)), course_files()
        for _ in range(BROKEN):
            outcome = self._ask(folder / "asked", files, drawn, task.needs_torch)
            if outcome.kind != "ended":
                return Examined(files, Verdict(0, len(drawn)), f"{outcome.kind}: {outcome.text}")
            verdict = judge(drawn, expected, outcome.output)
            broken = next((name for name in verdict.broken if name in usual), "")
            fresh = fresh_file(broken)
            slow = outcome.seconds > self.limits.seconds / BROKEN
            if slow or fresh is None or broken in task.files or files[broken] == fresh:
                return Examined(files, verdict)
            files = files | {broken: fresh}
        return Examined(files, verdict)

    def _ask(
        self, root: Path, files: dict[str, bytes], drawn: Sequence[Question], torch_floor: bool
    ) -> Outcome:
        try:
            lay_out(root, files)
            if torch_floor:
                copy_torch_floor(root / "minitorch")
            line = as_request(root, drawn).encode()
            outcome = run(root / "answering.py", root, line, self.limits, self.layers)
        finally:
            remove_tree(root)
        if outcome.kind == "setup":
            raise CourseError(f"could not be graded: {outcome.text}")
        return outcome

    def close(self) -> None:
        """End the reference's process."""
        self.reference.close()

    def __enter__(self) -> Examiner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class Examined:
    """The files that could be imported, and what the answers are worth.

    `stopped` says what the process was ended for, if it was.
    """

    files: dict[str, bytes]
    verdict: Verdict
    stopped: str = ""


# --- Files -------------------------------------------------------------------------------------


def fresh_file(name: str) -> bytes | None:
    """A file as a new workspace has it, with nothing written; None if the course has no such file."""
    if name not in course_files():
        return None
    if any(place.file == name for task in TASKS for place in task.places):
        return stub_file(name).encode()
    return (LIBRARY / name).read_bytes()


def with_missing_files(files: dict[str, bytes]) -> dict[str, bytes]:
    """Add what a submission does not have, with nothing written: the rest can then be asked."""
    missing = {name: fresh_file(name) or b"" for name in course_files() if name not in files}
    return files | missing


def lay_out(root: Path, files: dict[str, bytes]) -> None:
    """Make the folder that a submission's process sees."""
    for name, content in files.items():
        path = root / "minitorch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    shutil.copy(ANSWERING, root / "answering.py")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ANSWERING.with_name("drivers"), root / "drivers", ignore=ignored)


def read_questions(path: Path) -> dict[str, str]:
    """A teacher's own questions, by task: lines such as `1.1: central_difference(square, {x})`."""
    found: dict[str, str] = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            number, colon, question = line.partition(":")
            if line.strip() and not line.startswith("#"):
                if not colon or number.strip() not in QUESTIONS:
                    raise CourseError(f"{path}: {line!r} does not begin with a task and a colon")
                found[number.strip()] = f"{found.get(number.strip(), '')}\n{question.strip()}"
    return found
