"""Our docstrings for Sphinx: plain text with `code`, in which a star is a star."""

from __future__ import annotations

import re
from typing import Any

_CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
_SPECIAL = re.compile(r"([*|\\]|_\b|_(?=\W|$))")


def _escape(line: str) -> str:
    """Mark what reStructuredText would read as markup, outside of code."""
    bullet = re.match(r"\s*[*-] ", line)
    start = bullet.end() if bullet else 0
    parts = _CODE.split(line[start:])
    for i in range(0, len(parts), 2):
        parts[i] = _SPECIAL.sub(r"\\\1", parts[i])
    for i in range(1, len(parts), 2):
        joined = parts[i + 1][:1].isalnum()  # as in `Scalar`s
        parts[i] = f"``{parts[i].strip('`')}``" + ("\\ " if joined else "")
    return line[:start] + "".join(parts)


def _prepare(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[i] = _escape(line)


def setup(app: Any) -> dict[str, Any]:
    """Prepare docstrings before Napoleon reads their sections."""
    app.connect("autodoc-process-docstring", _prepare, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
