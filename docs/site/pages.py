"""Pages as a list of cells: text, code to run, and what the code shows."""

from __future__ import annotations

import doctest
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDE = DOCS / "guide"

_FENCE = re.compile(r"^( *)```(\w*)\s*\n(.*?)^\1```\s*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Cell:
    """A piece of a page: text (no language), or a fenced block of a language."""

    language: str | None
    source: str
    line: int

    @property
    def is_code(self) -> bool:
        """Whether it is Python to be run."""
        return self.language == "python"


def guides() -> list[str]:
    """The names of the guides, in the order in which the table of contents links them."""
    index = (GUIDE / "index.md").read_text()
    names = [link[:-3] for link in _LINK.findall(index) if "/" not in link and link.endswith(".md")]
    return [name for name in names if not re.fullmatch(r"module\d", name)]


def cells(text: str) -> Iterator[Cell]:
    """Cut a page into text and fenced blocks."""
    end = 0
    for match in _FENCE.finditer(text):
        if text[end : match.start()].strip():
            yield Cell(None, text[end : match.start()], text.count("\n", 0, end) + 1)
        source = textwrap.dedent(match[3]) if match[1] else match[3]  # within a list
        yield Cell(match[2], source, text.count("\n", 0, match.start()) + 2)
        end = match.end()
    if text[end:].strip():
        yield Cell(None, text[end:], text.count("\n", 0, end) + 1)


def code_cells(path: Path) -> list[Cell]:
    """The Python blocks of a page."""
    return [cell for cell in cells(path.read_text()) if cell.is_code]


def run_cell(cell: Cell, names: dict[str, Any], where: str) -> list[str]:
    """Run a block in the names of its page; say what went wrong, one entry per failure.

    Blocks with prompts are run as doctests, others as they stand.
    """
    if not is_session(cell.source):
        exec(compile("\n" * (cell.line - 1) + cell.source, where, "exec"), names)
        return []
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    examples = doctest.DocTestParser().get_examples(cell.source, where)
    test = doctest.DocTest(examples, names, where, where, cell.line - 1, cell.source)
    runner.run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    return failures


def is_session(source: str) -> bool:
    """Whether code is written as it is typed, behind prompts."""
    return source.lstrip().startswith(">>>")


# --- Links ---------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The anchors that the headings of a page offer, as GitHub makes them."""
    return {slug(heading) for heading in _HEADING.findall(_FENCE.sub("", text))}


def slug(heading: str) -> str:
    """The anchor of a heading: lower case, words joined by hyphens."""
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.replace(" ", "-")


def dead_links(path: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    text = path.read_text()
    dead = []
    for link in _LINK.findall(_FENCE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target.read_text())
        ):
            dead.append(link)
    return dead
