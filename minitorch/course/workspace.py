"""A student's workspace: the library's course files with places to write, tests and scripts.

Nothing that a student wrote is ever overwritten without a copy in `.minitorch/backup`.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import remove_abandoned, replacing
from .stubs import LIBRARY, code_of, functions_of, is_open, put_back, solution_file, stub_file
from .tasks import MODULES, TASKS, Place, Task

MARK = Path(".minitorch") / "course.json"
NAME = b'name = "my-minitorch"'
"""A line in the settings of every workspace."""

LEFT_OUT = {"cli.py", "doctor.py", "syntax.py", "training/torch_images.py"}
"""Files of the library that only the upper floor, the tools or the command line need."""

TORCH_FLOOR = Path(__file__).parent / "inside" / "torch_floor.py"
"""What leads from a workspace to the installed `minitorch.torch`."""

_ELSEWHERE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./(?!figures/svg/)[^)]*\)")


class CourseError(Exception):
    """Something the user can put right; its text says how."""


def material(name: str) -> Path:
    """The folder of the tests or of the scripts, beside the package or packed into it."""
    for folder in (LIBRARY.parent / name, Path(__file__).parent / "material" / name):
        if folder.is_dir():
            return folder
    raise CourseError(f"this installation of minitorch has no {name}: reinstall it")


def course_files() -> list[str]:
    """The files of the package that a workspace has, relative to `minitorch/`."""
    files = [*LIBRARY.glob("*.py"), *(LIBRARY / "training").glob("*.py")]
    names = sorted(path.relative_to(LIBRARY).as_posix() for path in files)
    return [name for name in names if name not in LEFT_OUT]


def test_files() -> list[str]:
    """The files of `tests/` that a workspace has."""
    own = sorted({file for task in TASKS for file in task.tests} | {"test_datasets.py"})
    return [
        "__init__.py",
        "conftest.py",
        *[f"course/{file}" for file in ["__init__.py", "strategies.py", *own]],
    ]


def copy_torch_floor(package: Path) -> None:
    """Put the whole Torch floor into a package that must do without the installed library."""
    shutil.copytree(LIBRARY / "torch", package / "torch")


def guide_pages() -> Iterator[tuple[str, str]]:
    """The guide, page by page, as a workspace has it: links to what it lacks are plain words."""
    for path in sorted(material("docs/guide").glob("*.md")):
        yield f"docs/guide/{path.name}", _ELSEWHERE.sub(r"\1", path.read_text(encoding="utf-8"))


@dataclass
class Workspace:
    """A folder with a student's library."""

    root: Path

    # --- Where things are ----------------------------------------------------------------

    @classmethod
    def find(cls, start: Path | None = None) -> Workspace:
        """The workspace that a folder is in."""
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / MARK).is_file():
                return cls(folder)
            if _has_lost_its_mark(folder):
                raise CourseError(
                    f"{folder} was a workspace, but its {MARK.parent} is missing. `minitorch course new "
                    f"{shlex.quote(str(folder))}` makes that new and changes nothing you wrote"
                )
        raise CourseError(
            f"{here} is not inside a workspace. Make one with `minitorch course new DIR`, "
            "then go there: cd DIR"
        )

    def file(self, name: str) -> Path:
        """A file of the package."""
        return self.root / "minitorch" / name

    def text(self, name: str) -> str:
        """What a file of the package says; CourseError if it cannot be read."""
        try:
            return self.file(name).read_text(encoding="utf-8-sig")  # as Python reads it
        except FileNotFoundError:
            raise CourseError(
                f"minitorch/{name} is missing. `minitorch course reset minitorch/{name}` restores it"
            ) from None
        except UnicodeDecodeError:
            raise CourseError(f"minitorch/{name} is not UTF-8 text") from None

    # --- Notes ---------------------------------------------------------------------------

    def notes(self) -> dict[str, Any]:
        """What the tools remember: the current module, what was passed."""
        try:
            found = json.loads((self.root / MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            found = None
        return _checked_notes(found if isinstance(found, dict) else {})

    def note(self, **changes: Any) -> None:
        """Remember something."""
        path = self.root / MARK
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json.dumps(self.notes() | changes, indent=1).encode())

    # --- What is written -------------------------------------------------------------------

    def open_places(self, task: Task) -> list[Place]:
        """The functions of a task that are still to be written (or cannot be found)."""
        return [place for place in task.places if self.is_open(place)]

    def is_open(self, place: Place) -> bool:
        """Whether a function is still to be written."""
        try:
            return is_open(self.text(place.file), place.name)
        except (SyntaxError, ValueError):
            return False
        except LookupError:
            return True

    def unreadable(self, task: Task) -> str:
        """What Python cannot read in a task's files, and where; "" if nothing."""
        for name in task.files:
            try:
                functions_of(self.text(name))
            except SyntaxError as error:
                line = f" line {error.lineno}" if error.lineno else ""  # of bytes of 0 none is told
                return f"minitorch/{name}{line}: {error.msg}"
            except ValueError as error:  # bytes of 0, in older Pythons
                return f"minitorch/{name}: {error}"
        return ""

    def digest(self, task: Task) -> str:
        """A number for the code that a task's checks judge: what its files compute.

        Functions of other tasks, comments and docstrings may change without changing it.
        """
        state = hashlib.sha256()
        for name in task.files:
            path = self.file(name)
            try:
                text = path.read_text(encoding="utf-8-sig")
                others = (
                    p.name for t in TASKS if t is not task for p in t.places if p.file == name
                )
                state.update(code_of(text, tuple(others)).encode())
            except (SyntaxError, ValueError, RecursionError):
                state.update(path.read_bytes())
            except OSError:
                state.update(b"gone")
        return state.hexdigest()[:16]

    def missing(self, task: Task) -> list[str]:
        """What a task's checks need and somebody deleted or renamed, with the remedy."""
        found = [
            f"minitorch/{name} is missing. `minitorch course reset minitorch/{name}` restores it."
            for name in course_files()
            if not self.file(name).is_file()
        ]
        for place in task.places:
            if self.file(place.file).is_file() and self._lacks(place):
                found.append(
                    f"{place.name} is missing from minitorch/{place.file}: deleted or renamed? Write it "
                    f"again as it was, {_signature(place)}, or `minitorch course reset "
                    f"minitorch/{place.file}` makes the whole file new (yours is kept as a copy)."
                )
        return found + self._missing_tests(task)

    def _lacks(self, place: Place) -> bool:
        try:
            return place.name not in functions_of(self.text(place.file))
        except (SyntaxError, ValueError, CourseError):
            return False  # the check itself says so

    def _missing_tests(self, task: Task) -> list[str]:
        found = []
        for name in test_files():
            path = self.root / "tests" / name
            file = Path(name).name
            if file.startswith("test_") and file not in task.tests:
                continue
            remedy = f"`minitorch course reset tests/{name}` makes it new"
            if not path.is_file():
                found.append(f"tests/{name} is missing. {remedy}.")
            elif lost := _lost_tests(path, material("tests") / name):
                found.append(
                    f"tests/{name} lacks {', '.join(lost)}: deleted or renamed? "
                    f"{remedy} (yours is kept as a copy)."
                )
        return found

    # --- Writing -----------------------------------------------------------------------------

    def backup(self, paths: Iterable[Path]) -> Path | None:
        """Copy files away before they change; the folder with the copies."""
        existing = [path for path in paths if path.is_file()]
        if not existing:
            return None
        backups = self.root / ".minitorch" / "backup"
        for earlier in backups.rglob(
            "*/"
        ):  # each in a folder of its own, to which nobody writes again
            remove_abandoned(str(earlier))
        stamp = time.strftime("%Y%m%d-%H%M%S")
        folder = backups / stamp
        count = 1
        while folder.exists():
            count += 1
            folder = folder.with_name(f"{stamp}-{count}")
        for path in existing:
            copy = folder / path.relative_to(self.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_whole(copy, path.read_bytes())
            shutil.copystat(path, copy)
        return folder

    def put_solutions(self, tasks: Iterable[Task], keep_written: bool = True) -> list[Place]:
        """Write the solution into functions that are still open, or into all; returns which."""
        all_places = [place for task in tasks for place in task.places]
        places = [place for place in all_places if not keep_written or self.is_open(place)]
        for name in dict.fromkeys(place.file for place in places):
            solved = put_back(self.text(name), [place for place in places if place.file == name])
            write_whole(self.file(name), solved.encode())
        return places

    def reset(self, name: str) -> tuple[Path, Path | None]:
        """Make a file as it was at the start; the file, and where the old one was put."""
        path, fresh = self._original(name)
        saved = self.backup([path])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, fresh)
        return path, saved

    def _original(self, name: str) -> tuple[Path, bytes]:
        given = Path(name)
        absolute = given if given.is_absolute() else Path.cwd() / given
        options = [given.as_posix(), f"minitorch/{given.as_posix()}"]
        if absolute.resolve().is_relative_to(self.root):
            options.insert(0, absolute.resolve().relative_to(self.root).as_posix())
        contents = dict(_contents())
        for option in options:
            if option in contents:
                return self.root / option, contents[option]
        raise CourseError(
            f"{name} is not a file of the course. `minitorch course reset minitorch/operators.py`, "
            "for example, makes that file new"
        )


def _signature(place: Place) -> str:
    """The line that begins a function in a fresh workspace."""
    text = solution_file(place.file)
    *owners, last = place.name.split(".")
    start = text.index(f"class {owners[0]}") if owners and f"class {owners[0]}" in text else 0
    match = re.compile(rf"^ *(def {last}\([^)]*\)[^:\n]*):", re.MULTILINE).search(text, start)
    return f"`{' '.join(match[1].split())}`" if match else "under its old name"


def _lost_tests(path: Path, ours: Path) -> list[str]:
    """The tests of a file of ours that a student's copy has no longer."""
    try:
        there = functions_of(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return []
    wanted = functions_of(ours.read_text(encoding="utf-8"))
    return sorted(n for n in wanted - there if n.split(".")[-1].startswith("test_"))


def _checked_notes(found: dict[str, Any]) -> dict[str, Any]:
    """Notes in which what is missing, or is not what it should be, is as at the start."""
    module, passed, last = (found.get(name) for name in ("module", "passed", "last"))
    if module not in MODULES:
        module = 0
    passed = passed if isinstance(passed, dict) else {}
    passed = {n: p for n, p in passed.items() if _is_pass(p)}
    if not isinstance(last, dict) or not all(
        isinstance(last.get(k), str) for k in ("task", "message")
    ):
        last = None
    unfinished = {"unfinished": True} if found.get("unfinished") is True else {}
    return {"module": module, "passed": passed, "last": last, **unfinished}


def _is_pass(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(k), str) for k in ("when", "code"))


# --- Making one ----------------------------------------------------------------------------


def create(root: Path) -> tuple[Workspace, int]:
    """Make a workspace, or add to one what is missing; never overwrites. Also: files written."""
    root = root.resolve()
    if root.exists() and not root.is_dir():
        raise CourseError(f"{root} is a file, not a folder")
    if root == LIBRARY.parent:
        raise CourseError(f"{root} holds the reference library; choose another folder")
    known = (root / MARK).is_file() or _has_lost_its_mark(root)
    if (root / "minitorch").exists() and not known:
        raise CourseError(
            f"{root} already has a folder minitorch that is not a workspace; choose another folder"
        )
    workspace = Workspace(root)
    written = 0
    if not (root / MARK).is_file():  # first of all: who is interrupted can go on
        root.mkdir(parents=True, exist_ok=True)
        workspace.note(module=0, passed={}, last=None)
        written = 1
    for name, content in _contents():
        path = root / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, durable=False)
            written += 1
    return workspace, written


def _has_lost_its_mark(root: Path) -> bool:
    """Whether a folder is a workspace but for the mark, by the name in its settings."""
    settings = root / "pyproject.toml"
    return (
        not (root / MARK).is_file()
        and (root / "minitorch").is_dir()
        and settings.is_file()
        and NAME in settings.read_bytes()
    )


def write_whole(path: Path, content: bytes, durable: bool = True) -> None:
    """Write a file so that at every moment it is the old one or the new one."""
    with replacing(path, durable) as file:
        file.write(content)


def _contents() -> Iterable[tuple[str, bytes]]:
    """Every file of a fresh workspace."""
    with_places = {place.file for task in TASKS for place in task.places}
    for name in course_files():
        if name in with_places:
            yield f"minitorch/{name}", stub_file(name).encode()
        else:
            yield f"minitorch/{name}", (LIBRARY / name).read_bytes()
    yield "minitorch/torch/__init__.py", TORCH_FLOOR.read_bytes()
    for path in sorted((LIBRARY / "training").glob("*.gz")):
        yield f"minitorch/training/{path.name}", path.read_bytes()
    tests = material("tests")
    for name in test_files():
        yield f"tests/{name}", (tests / name).read_bytes()
    scripts = material("project")
    for path in sorted([*scripts.glob("*.py"), *scripts.glob(".streamlit/*.toml")]):
        yield f"project/{path.relative_to(scripts).as_posix()}", path.read_bytes()
    for name, text in guide_pages():
        yield name, text.encode()
    figures = material("docs/figures/svg")
    for path in sorted(figures.glob("*.svg")):
        yield f"docs/figures/svg/{path.name}", path.read_bytes()
    yield "pyproject.toml", project_file().encode()
    yield "Makefile", _MAKEFILE.encode()
    yield "README.md", _README.encode()
    yield ".gitignore", b"__pycache__/\nruns/\n.minitorch/backup/\n.hypothesis/\n.pytest_cache/\n"


def project_file() -> str:
    """The settings of pytest, with a marker per task."""
    numbers = {f"{t.number[0]}_{t.number[2]}": t.title.split(" (")[0] for t in reversed(TASKS)}
    lines = [f'  "task{n}_0: set-up",' for n in MODULES]
    lines += [f'  "task{n}: {title}",' for n, title in sorted(numbers.items())]
    lines += ['  "extra: more than the task asks; reported, but not needed to pass",']
    return _PROJECT.format(markers="\n".join(sorted(lines)))


_PROJECT = """\
# `minitorch` in this folder is found by its place, not installed: the commands are those of the
# finished library, which is called the same.
[project]
name = "my-minitorch"
version = "0.0.0"
description = "My own MiniTorch"
requires-python = ">=3.11"
dependencies = ["minitorch[course]"]

[tool.setuptools]
packages = []

[tool.ruff]
line-length = 100
target-version = "py311"

[tool.ruff.lint]
select = ["E", "F", "W", "I", "D", "UP", "B"]
ignore = [
  "B008",   # ScalarHistory() as a default argument is frozen
  "B905",   # zip stops at the shorter list: zipWith and compiled code want just that
  "D102", "D105", "D107", "D403", "D415",
  "E501",   # the formatter decides; what it leaves long is a message
  "F401", "F841",  # what is imported and named for you is used once you have written the function
]
isort.known-first-party = ["minitorch", "tests"]
pydocstyle.convention = "google"
per-file-ignores = {{ "tests/**" = ["D"] }}

[tool.pyright]
include = ["minitorch"]
exclude = ["minitorch/training"]
pythonVersion = "3.11"
reportMissingTypeStubs = false
reportMissingModuleSource = false
reportIncompatibleMethodOverride = false  # forward takes what each function or module needs

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "--strict-markers"
filterwarnings = ["ignore:.*Grid size .* under-utilization"]
markers = [
{markers}
  "slow: takes more than a few seconds",
]
"""

_MAKEFILE = """\
.PHONY: lint format

lint:  # style and types
\truff format --check
\truff check
\tpyright

format:  # put the code into shape
\truff check --fix --exit-zero
\truff format
"""

_README = """\
# My MiniTorch

The library `minitorch/` in this folder is yours: wherever it says

    raise NotImplementedError("Need to implement for Task 0.1")

you write the code. Begin with

    minitorch course status
    minitorch course check 0.1

`minitorch course hint 0.1 1` gives a hint (2 and 3 say more), `minitorch course watch` checks each
time you save, `minitorch course solution 0.1` compares with ours once you have passed. The guide is
in `docs/guide`: `minitorch course guide 0.1` shows what it says about a task. The tests are in
`tests/course`, the scripts that train with your code in `project`; `make lint` looks at style and types.
"""


def finished_file(name: str) -> bytes:
    """A file of the package as a finished workspace has it."""
    if name in {place.file for task in TASKS for place in task.places}:
        return solution_file(name).encode()
    return (LIBRARY / name).read_bytes()
