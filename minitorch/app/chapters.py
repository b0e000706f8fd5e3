"""The guide for the app: its chapters in order, cut into parts, links and figures made to fit."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..course.workspace import material

HEAD = re.compile(r"^(#{1,4}) +(.+?) *$")
FIGURE = re.compile(r"^!\[([^\]]*)\]\(\.\./figures/svg/([\w-]+)\.svg\)\s*$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w-]+)\.md(?:#([\w-]+))?\)")
ELSEWHERE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\.?/[^)]*\)")
ROW = re.compile(r"^\| (.+?) \| (.+?) \|.*\|$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A heading and what stands below it.

    Attributes:
        level: 1 for the chapter's own heading, 2 and 3 for those below
        title: the heading
        anchor: the name that links use
        text: Markdown, without the heading
    """

    level: int
    title: str
    anchor: str
    text: str


@cache
def folder() -> Path:
    """Where the chapters are: beside the package, or packed into it."""
    return material("docs/guide")


def contents() -> dict[str, list[str]]:
    """The chapters in the order of the course, by the groups of the table of contents."""
    text = (folder() / "index.md").read_text(encoding="utf-8")
    groups: dict[str, list[str]] = {}
    for group, cell in ROW.findall(text):
        names = [name for name, _ in LINK.findall(cell)]
        if names:
            groups[group] = names
    tasks = sorted(path.stem for path in folder().glob("module[0-9].md"))
    return groups | {"task by task": tasks}


def chapter_names() -> list[str]:
    """Every chapter in order; `index` is the first."""
    return ["index", *[name for names in contents().values() for name in names]]


@cache
def parts(name: str) -> tuple[Part, ...]:
    """A chapter cut at its headings, with links that lead through the app."""
    text = (folder() / f"{name}.md").read_text(encoding="utf-8")
    return tuple(_cut(text))


def _cut(text: str) -> Iterator[Part]:
    level, title, lines, fenced = 0, "", [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        head = None if fenced else HEAD.match(line)
        if head is None:
            lines.append(line)
            continue
        if level:
            yield _part(level, title, lines)
        level, title, lines = len(head[1]), head[2], []
    if level:
        yield _part(level, title, lines)


def _part(level: int, title: str, lines: list[str]) -> Part:
    return Part(level, title, slug(title), relinked("\n".join(lines).strip()))


def title(name: str) -> str:
    """A chapter's own heading."""
    return parts(name)[0].title


def slug(heading: str) -> str:
    """The name that links use for a heading.

    >>> slug("Task 0.1: Operators")
    'task-01-operators'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def relinked(text: str) -> str:
    """Links between chapters as addresses in the app; links to other files as plain words.

    >>> relinked("[here](autodiff.md#one-box) and [there](../design.md)")
    '[here](guide?chapter=autodiff&part=one-box) and there'
    """

    def address(match: re.Match[str]) -> str:
        name, anchor = match.groups()
        return f"](guide?chapter={name}" + (f"&part={anchor})" if anchor else ")")

    return ELSEWHERE.sub(r"\1", LINK.sub(address, text))


def links(name: str) -> list[tuple[str, str]]:
    """The other chapters, and parts of them, that a chapter speaks of."""
    text = (folder() / f"{name}.md").read_text(encoding="utf-8")
    return [(c, part) for c, part in dict.fromkeys(LINK.findall(text)) if c != name]


def part_title(name: str, anchor: str) -> str:
    """What a link to a chapter, or to a part of it, is called."""
    found = [part.title for part in parts(name) if anchor and part.anchor == anchor]
    return f"{title(name)}: {found[0]}" if found else title(name)


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Text and figures in turn: `("text", Markdown)` or `("figure", HTML)`."""
    end = 0
    for match in FIGURE.finditer(text):
        yield "text", text[end : match.start()]
        yield "figure", picture(match[2], match[1])
        end = match.end()
    yield "text", text[end:]


@cache
def picture(name: str, caption: str) -> str:
    """A figure as HTML that needs no other file."""
    file = material("docs/figures/svg") / f"{name}.svg"
    data = base64.b64encode(file.read_bytes()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{caption}" title="{caption}" '
        'style="max-width: 100%; border-radius: 6px; background: #ffffff">'
    )


@cache
def task_place(number: str) -> tuple[str, str]:
    """Chapter and part that explain a task."""
    wanted = f"Task {number}"
    found = ("index", "")
    for name in chapter_names():
        for part in parts(name):
            if part.title == wanted or part.title.startswith(f"{wanted}:"):
                if not re.fullmatch(r"module\d", name):
                    return name, part.anchor
                found = (name, part.anchor)
    return found
