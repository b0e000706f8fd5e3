"""Answers in the plain style of a student who read the guide, and nothing else.

They are in `plain_answers.txt`. They do what the guide and the third hints say in the
way that comes to mind first, and must pass all checks: `minitorch course verify --answers` sees to it.
Those in `accepted_answers.txt` are written as answers to the original course, which took them, and
must pass as well.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from textwrap import dedent, indent

from .stubs import body_of, with_body
from .tasks import Place
from .workspace import Workspace, material

PLAIN = Path(__file__).with_suffix(".txt")
"""A body under each line `== file function`."""
ACCEPTED = PLAIN.with_name("accepted_answers.txt")


FROM_GUIDE = {
    ("tensor_data.py", "to_index"): ("parallelism", "index_of", "i=ordinal buffer=out_index"),
    ("cuda_ops.py", "_sum_practice"): ("gpu", "block_sums", "BLOCK=32"),
}
"""Functions that a page of the guide spells out: the page, what it calls it, and the other names."""


def guide_answer(page: str, function: str, renamed: str) -> str:
    """The body of a function that a page of the guide defines, in the words of a task."""
    text = (material("docs/guide") / f"{page}.md").read_text(encoding="utf-8")
    source = re.search(rf"^def {function}\(.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if source is None:
        raise LookupError(f"{page}.md defines no {function}")
    body = dedent(body_of(source[0].rstrip() + "\n", function))
    for pair in renamed.split():
        old, new = pair.split("=")
        body = re.sub(rf"\b{old}\b", new, body)
    return body


@cache
def plain_answers() -> dict[tuple[str, str], str]:
    """The body of each function, by file and name, not indented."""
    return _read(PLAIN) | {place: guide_answer(*where) for place, where in FROM_GUIDE.items()}


@cache
def accepted_answers() -> dict[tuple[str, str], str]:
    """The bodies of some functions, as they were written for the original course."""
    return _read(ACCEPTED)


def _read(path: Path) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for part in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, body = part.split("\n", 1)
        file, name = head.split()
        found[file, name] = body
    return found


def spelled_out(place: Place) -> str | None:
    """The third hint where it is code: what a student would type."""
    with suppress(SyntaxError):
        compile(f"def body():\n{indent(place.nearly, ' ')}", place.name, "exec")
        return place.nearly + "\n"
    return None


def write_answer(workspace: Workspace, place: Place, body: str) -> None:
    """Put a body, not indented, into a function of a workspace."""
    path = workspace.file(place.file)
    path.write_text(with_body(path.read_text(), place.name, body))
