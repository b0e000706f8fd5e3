"""The pages: every example runs, every link leads somewhere, every task has its section."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.site.pages import (
    DOCS,
    GUIDE,
    ROOT,
    anchors,
    cells,
    code_cells,
    dead_links,
    guides,
    run_cell,
)
from minitorch.cli import make_parser
from minitorch.course.catalogue import MISTAKES
from minitorch.course.tasks import TASKS, Task

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if path.name != "torch-coverage.md"  # tables made by a program
    and DOCS / "site" not in path.parents  # a page of the site only
)
DECLARATIONS = "docs/design.md"
"""A page whose blocks declare operations anew: they run in a process of their own."""

OPERATORS = {"add": "+", "sub": "-", "mul": "*", "neg": "minus", "lt": "<", "gt": ">", "eq": "=="}
"""How a guide may name the methods behind Python's operators."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages_with_code() -> list[Path]:
    return [path for path in PAGES if name_of(path) != DECLARATIONS and code_cells(path)]


@pytest.mark.parametrize("path", pages_with_code(), ids=name_of)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    failures = []
    for cell in code_cells(path):
        failures += run_cell(cell, names, name_of(path))
    assert not failures, "\n".join(failures)


def test_declarations_run() -> None:
    names = "import numpy as np\nfrom minitorch.torch.ops.analysis import floating\nfrom minitorch.torch.ops.elementwise import conj\n"
    blocks = [cell.source for cell in code_cells(ROOT / DECLARATIONS)]
    assert blocks
    subprocess.run([sys.executable, "-c", names + "\n".join(blocks)], check=True, cwd=ROOT)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    assert dead_links(path) == []


@pytest.mark.parametrize("name", guides())
def test_a_guide_is_complete(name: str) -> None:
    text = (GUIDE / f"{name}.md").read_text()
    assert text.startswith("# ")
    assert {"common-mistakes", "exercises"} <= anchors(text)
    assert re.search(r"!\[.+\]\(\.\./figures/svg/[\w-]+\.svg\)", text)
    assert code_cells(GUIDE / f"{name}.md")


def test_every_guide_is_in_the_contents() -> None:
    assert sorted(guides()) == sorted(
        p.stem for p in GUIDE.glob("*.md") if not re.fullmatch(r"index|module\d", p.stem)
    )


# --- The tasks of the course -----------------------------------------------------------


def sections() -> dict[str, list[str]]:
    """For each task, as in `0.1`, the guides with a section on it."""
    found: dict[str, list[str]] = {}
    for name in guides():
        for task in re.findall(
            r"^## Task (\d\.\db?)", (GUIDE / f"{name}.md").read_text(), re.MULTILINE
        ):
            found.setdefault(task, []).append(name)
    return found


def test_every_mistake_has_a_section_in_a_guide() -> None:
    tasks = {mistake.task.removeprefix("task").replace("_", ".") for mistake in MISTAKES}
    assert tasks <= set(sections())


def test_every_task_has_its_place() -> None:
    """A section in a guide, and an entry on the page of its module that points there."""
    for task in sections():
        text = (GUIDE / f"module{task[0]}.md").read_text()
        assert f"task-{task.replace('.', '')}" in anchors(text)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.number)
def test_a_guide_names_what_its_task_asks_for(task: Task) -> None:
    text = "".join((GUIDE / f"{name}.md").read_text() for name in sections()[task.number])
    for place in task.places:
        assert f"minitorch/{place.file}" in text, place
        parts = [part.strip("_") for part in place.name.split(".")]
        operator = OPERATORS.get(parts[-1], parts[-1])
        assert operator in text or parts[0] in text, place


# --- The answers to the exercises ---------------------------------------------------------


def numbered(text: str) -> int:
    """How many points the numbered list of a text has."""
    return len(re.findall(r"^\d+\. ", text, re.MULTILINE))


def test_every_exercise_has_an_answer() -> None:
    parts = re.split(r"^## ", (DOCS / "answers.md").read_text(), flags=re.MULTILINE)[1:]
    answers = {heading: numbered(text) for heading, _, text in (p.partition("\n") for p in parts)}
    asked = {}
    for name in guides():
        text = (GUIDE / f"{name}.md").read_text()
        title = text.partition("\n")[0].removeprefix("# ")
        asked[title] = numbered(text.partition("\n## Exercises\n")[2])
    assert answers == asked


# --- Commands -------------------------------------------------------------------------------


def commands(text: str) -> list[str]:
    """The commands that a page shows, in blocks and within sentences."""
    blocks = [c.source for c in cells(text) if c.language in ("bash", "console", "")]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    prose = "".join(c.source for c in cells(text) if c.language is None)
    spoken = re.findall(r"`((?:minitorch|make|python) [^`]+)`", prose)
    shown = [line.strip().removeprefix("$ ") for line in lines] + spoken
    return [" ".join(c.split()) for c in shown if re.match(r"(minitorch|make|python3?) ", c)]


def parses(arguments: list[str]) -> bool:
    """Whether `minitorch` understands its arguments."""
    try:
        make_parser().parse_args(arguments)
    except SystemExit as end:
        return not end.code
    return True


def complaint(command: str) -> str:
    """What is wrong with a command, as far as can be told without running it."""
    words = shlex.split(command, comments=True)
    if "..." in command or "COMMAND" in command:
        return ""
    if words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return "" if {w for w in words[1:] if "=" not in w} <= set(targets) else "no such target"
    if words[0] == "minitorch":
        named = [*words[1:], "--help"] if "--" not in command else words[1:]  # perhaps a name only
        return "" if parses(words[1:]) or parses(named) else "its arguments are not understood"
    if words[1] == "-m":
        return "" if importlib.util.find_spec(words[2]) else "no such module"
    own = words[1].endswith(".py") and "/" in words[1]
    return "" if not own or (ROOT / words[1]).is_file() else "no such file"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_commands_are_understood(path: Path) -> None:
    found = {command: complaint(command) for command in commands(path.read_text())}
    assert {command: why for command, why in found.items() if why} == {}
