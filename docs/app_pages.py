"""Write `docs/app.md`: what each page of the app shows, with its pictures.

    python docs/app_pages.py

The pictures come from `python -m tests.app.browser --pictures docs/app`.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from minitorch.app.rooms import MODULES, ROOMS, Room

PAGE = Path(__file__).parent / "app.md"

HEAD = """\
# The visual app

```bash
pip install 'minitorch[app]'
minitorch app            # all pages; `minitorch app 1` shows those up to module 1
```

It opens in a browser and listens on this machine alone. Started inside a workspace
(`minitorch course new my-minitorch`), its pages run on your code, on the reference, or on both side
by side with the difference; where a function is still to be written, a card says which, and gives a
hint. Your code runs in a process of its own: one that loops for ever is ended, and a file you save
is read again. `streamlit run project/app.py -- 1` starts the same app, with the course's own command.
"""


def make_page() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for module, rooms in groupby(ROOMS, key=lambda room: room.module):
        parts.append(f"## {'First' if module is None else MODULES[module]}\n")
        parts += [_section(room) for room in rooms]
    return "\n".join(parts)


def _section(room: Room) -> str:
    lines = [f"### {room.title}", "", room.shows, ""]
    if room.tasks:
        lines += [f"Tasks: {', '.join(room.tasks)}.", ""]
    lines += [f"- {line}" for line in room.tries]
    lines += [""] if room.tries else []
    lines += [
        f"![{room.title}, 1280 pixels wide](app/{room.name}-wide.png)",
        "",
        f"[On a telephone](app/{room.name}-narrow.png)",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(make_page())
