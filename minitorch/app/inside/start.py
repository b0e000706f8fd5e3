"""What the start page asks: whether the library can be imported, and what the doctor finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import minitorch


def where() -> str:
    """The folder that `minitorch` was imported from."""
    return str(minitorch.__path__[0])


def examine() -> Iterator[dict[str, Any]]:
    """All findings of the doctor, by heading."""
    from minitorch import doctor

    found = doctor.diagnose()
    yield {"findings": {head: [asdict(f) for f in rows] for head, rows in found.items()}}
