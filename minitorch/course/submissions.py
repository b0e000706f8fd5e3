"""Taking a submission's files: those of its library, each a plain file of bounded size.

Whatever else a folder holds (links, pipes, folders without end) is left where it is and named.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .stubs import LIBRARY
from .tasks import TASKS
from .workspace import CourseError, course_files

LARGEST = 1_000_000
"""Bytes that a file may have."""
TOTAL = 4_000_000
"""Bytes that all files together may have."""
ENTRIES = 2_000
"""Files and folders that are looked at."""
DEPTH = 8
SECONDS = 30
"""Of processor time, for reading a submission."""
_NOT_THE_COURSE = ("torch", "torchvision", "course", "app")


@dataclass
class Submission:
    """The files that were taken, by their path in `minitorch/`, and what should be looked at."""

    files: dict[str, bytes] = field(default_factory=dict)
    review: list[str] = field(default_factory=list)

    def digest(self) -> str:
        """A number that changes with every file."""
        state = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            state.update(f"{len(name)} {len(content)} ".encode() + name.encode() + content)
        return state.hexdigest()


def take(folder: Path) -> Submission:
    """Read a submission; CourseError if it is none."""
    package = os.path.join(os.path.realpath(folder), "minitorch")
    taken = Submission()
    try:
        kind = os.lstat(package).st_mode
    except OSError:
        raise CourseError("has no folder minitorch") from None
    if not stat.S_ISDIR(kind):
        raise CourseError("minitorch is a link or a file, not a folder")
    total = 0
    for name, path in _python_files(package, taken.review):
        problem, content = _read(path)
        total += len(content)
        if total > TOTAL:
            raise CourseError(f"has more than {TOTAL} bytes of Python")
        if problem:
            taken.review.append(f"minitorch/{name} {problem}: left out")
        else:
            taken.files[name] = content
    _add_what_is_missing(taken)
    return taken


def _python_files(package: str, review: list[str]) -> Iterator[tuple[str, str]]:
    """The files with names of modules: their path in the package, and in the system."""
    deadline = time.process_time() + SECONDS
    seen = 0
    queue = [("", package)]
    while queue:
        parent, folder = queue.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > ENTRIES or time.process_time() > deadline:
                    raise CourseError(f"has more than {ENTRIES} files and folders in minitorch")
                name = f"{parent}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if name in _NOT_THE_COURSE or entry.name == "__pycache__":
                        continue
                    if name.count("/") >= DEPTH:
                        review.append(f"minitorch/{name} is too deep: left out")
                    else:
                        queue.append((f"{name}/", entry.path))
                elif entry.name.endswith(".py"):
                    if PurePosixPath(name).with_suffix("").parts[-1].isidentifier():
                        yield name, entry.path
                    else:
                        review.append(f"minitorch/{name} is not a module name: left out")


def _read(path: str) -> tuple[str, bytes]:
    """What is wrong with a file, and its bytes."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return "is a link or no plain file", b""
        with open(path, "rb", opener=_without_waiting) as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        return f"cannot be read ({error.strerror})", b""
    return ("is too large", b"") if len(content) > LARGEST else ("", content)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _add_what_is_missing(taken: Submission) -> None:
    """Put our files where a student has nothing to write; name the others."""
    written_by_students = {place.file for task in TASKS for place in task.places}
    for name in course_files():
        if name not in taken.files:
            taken.review.append(f"minitorch/{name} is missing")
            if name not in written_by_students:
                taken.files[name] = (LIBRARY / name).read_bytes()
