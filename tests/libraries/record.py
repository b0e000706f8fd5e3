"""What was found of each library, kept in `docs/results/libraries.tsv`, of which `docs/library_page.py` makes a page."""

from __future__ import annotations

import re
import subprocess
from dataclasses import astuple, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "results" / "libraries.tsv"

_VERSION = """
import sys
from importlib.metadata import packages_distributions, version
names = packages_distributions().get(sys.argv[1], [])
print(version(names[0]) if names else "")
"""


@dataclass(frozen=True, order=True)
class Row:
    """One program: its library and version, what came of it, and how many names of Torch's the library lacks."""

    library: str
    program: str
    version: str
    state: str
    lacking: str
    perhaps: str


def read() -> dict[str, Row]:
    """The rows of the file, by program."""
    lines = FILE.read_text().splitlines()[1:] if FILE.exists() else []
    rows = [Row(*line.split("\t")) for line in lines]
    return {row.program: row for row in rows}


def write(rows: dict[str, Row]) -> None:
    """Keep rows beside those of other programs."""
    merged = sorted({**read(), **rows}.values())
    head = [field.name for field in fields(Row)]
    lines = ["\t".join(each) for each in (head, *(astuple(row) for row in merged))]
    FILE.write_text("\n".join(lines) + "\n")


def row_of(python: Path, library: str, program: str, state: str) -> Row:
    """A row, with what the environment of the libraries knows."""
    version = _printed([str(python), "-c", _VERSION, library]).strip()
    checked = _printed([str(python), "-m", "minitorch.torch", "--check", library])
    counts = re.search(
        r"names missing from minitorch.torch: (\d+), in code that may never run: (\d+) more",
        checked,
    )
    return Row(library, program, version, state, *(counts.groups() if counts else ("", "")))


def _printed(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
