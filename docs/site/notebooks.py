"""A guide as a Jupyter notebook, from the same source."""

from __future__ import annotations

import base64
import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .pages import GUIDE, Cell, cells, guides, is_session

_IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+\.svg)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")


def notebook(path: Path) -> dict[str, Any]:
    """The notebook of a page: text, figures and examples, with what the examples show."""
    made = [cell for part in cells(path.read_text()) for cell in _cells(part, path.parent)]
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    return {
        "cells": made,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write_notebooks(folder: Path) -> list[Path]:
    """Write the notebook of every guide into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in guides():
        path = folder / f"{name}.ipynb"
        path.write_text(json.dumps(notebook(GUIDE / f"{name}.md"), indent=1, ensure_ascii=False))
        written.append(path)
    return written


def _cells(part: Cell, folder: Path) -> Iterator[dict[str, Any]]:
    if not part.is_code:
        yield _text(part, folder)
    elif is_session(part.source):
        yield from _session(part.source)
    else:
        yield _code(part.source)


def _text(part: Cell, folder: Path) -> dict[str, Any]:
    """Text with its figures inside; links to other pages become plain words."""
    if part.language is not None:
        return {
            "cell_type": "markdown",
            "metadata": {},
            "source": f"```{part.language}\n{part.source}```",
        }
    attached: dict[str, Any] = {}

    def attach(match: re.Match[str]) -> str:
        file = (folder / match[2]).resolve()
        content = base64.b64encode(file.read_bytes()).decode()
        attached[file.name] = {"image/svg+xml": content}
        return f"![{match[1]}](attachment:{file.name})"

    source = _LINK.sub(r"\1", _IMAGE.sub(attach, part.source.strip()))
    cell = {"cell_type": "markdown", "metadata": {}, "source": source}
    return {**cell, "attachments": attached} if attached else cell


def _session(source: str) -> Iterator[dict[str, Any]]:
    """One cell up to each output that the page shows."""
    lines = ""
    for example in doctest.DocTestParser().get_examples(source):
        lines += example.source
        if example.want:
            yield _code(lines, example.want, raises=example.exc_msg is not None)
            lines = ""
    if lines:
        yield _code(lines)


def _code(source: str, shown: str = "", raises: bool = False) -> dict[str, Any]:
    outputs = []
    if shown:
        outputs = [{"output_type": "stream", "name": "stdout", "text": shown}]
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["raises-exception"]} if raises else {},
        "outputs": outputs,
        "source": source.rstrip("\n"),
    }
