"""What the guide says about a task."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .tasks import Task
from .workspace import CourseError, guide_pages


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
        page: the file, from the workspace on
        line: where it begins, from 1
        text: its Markdown, with the heading
    """

    page: str
    line: int
    text: str


def section(task: Task) -> Section:
    """The section that explains a task."""
    wanted = re.compile(rf"^## Task {re.escape(task.number)}\b.*?(?=^## |\Z)", re.M | re.S)
    short = f"docs/guide/module{task.module}.md"  # only says where the explanation is
    for page, text in sorted(guide_pages(), key=lambda page: page[0] == short):
        found = wanted.search(text)
        if found:
            line = text.count("\n", 0, found.start()) + 1
            return Section(page, line, found[0].strip())
    raise CourseError(f"the guide has no section on task {task.number}")
