"""Write `docs/libraries.md`: which libraries that were written for PyTorch run here, and with what numbers.

Run `python docs/library_page.py` after `python -m tests.libraries --record`, which keeps what it found.
"""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = Path(__file__).parent / "libraries.md"
COMMAND = "python docs/library_page.py"


def render() -> str:
    """The page."""
    from tests.libraries.record import read

    rows: dict[str, list] = {}
    tutorials = []
    for row in sorted(read().values()):
        if row.library.endswith(" tutorials"):
            tutorials.append(row)
        else:
            rows.setdefault(row.library, []).append(row)
    same = [name for name, found in rows.items() if all("same" in row.state for row in found)]
    lines = [
        "# Libraries written for PyTorch",
        "",
        f"Of {len(rows)} libraries, as they are on PyPI, {len(same)} print PyTorch's numbers here: small programs "
        "(`tests/libraries`) train a model or two with each, by `minitorch run` in an environment without PyTorch, and "
        "again with PyTorch 2.13. All words that they print must be equal, and all numbers to 2e-4.",
        "A row is the last run of its program; they were not all run on one day ([results](results/libraries.txt) has dates and commits).",
        f"This page is written by `{COMMAND}`.",
        "",
        "*Lacking* are names of Torch's that a library mentions somewhere and that are not here, as "
        "`minitorch run --check LIBRARY` lists them with their lines; after the plus, those behind a question about "
        "versions, devices or packages.",
        "",
        "| library | version | programs | state | lacking |",
        "|---|---|---|---|---:|",
    ]
    for library, found in rows.items():
        programs = ", ".join(f"`{row.program}`" for row in found)
        states = "; ".join(dict.fromkeys(row.state for row in found))
        first = found[0]
        lacking = f"{first.lacking} + {first.perhaps}" if first.lacking else ""
        lines.append(f"| {library} | {first.version} | {programs} | {states} | {lacking} |")
    equal = sum("same" in row.state for row in tutorials)
    lines += [
        "",
        "## PyTorch's tutorials",
        "",
        f"The programs that its tutorials and recipes consist of, written down small and without downloads "
        f"(`tests/libraries/tutorials`): {equal} of {len(tutorials)} print PyTorch's words and numbers.",
        "",
        "| file | program | state |",
        "|---|---|---|",
    ]
    lines += [f"| {r.library.split()[0]} | `{r.program}` | {r.state} |" for r in tutorials]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parent.parent))
    PAGE.write_text(render())
