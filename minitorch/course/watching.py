"""`minitorch course watch`: a task's checks, each time a file is saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from .checking import Result, Server
from .progress import account, explain_error, next_task
from .tasks import Task
from .workspace import Workspace


def watch(
    workspace: Workspace, fixed: Task | None, say: Callable[[str], None], once: bool = False
) -> int:
    """Check one task, or the next that is not passed, at each save; 0 once all is passed."""
    heavy = ["numba"] if (fixed or next_task(workspace)).module >= 3 else []
    say("Checking each time a file is saved; Ctrl-C ends.")
    with Server(heavy) as server:
        seen: dict[Path, int] = {}
        while True:
            now = _saved(workspace)
            if now == seen:
                time.sleep(0.1)
                continue
            seen = now
            task = fixed or next_task(workspace)
            say(f"\n[{time.strftime('%H:%M:%S')}] {_first_word(server, workspace, task)}")
            result = _all_checks(server, workspace, task, seen)
            if result is None:
                continue  # saved again meanwhile
            for line in account(workspace, result):
                say(line)
            if once:
                return 0 if result.passed else 1
            if result.passed and fixed is None:
                seen = {}  # on to the next task
                if next_task(workspace) is task:
                    return 0


def _all_checks(
    server: Server, workspace: Workspace, task: Task, seen: dict[Path, int]
) -> Result | None:
    """A task's checks, with few examples first and then with all; None if a file is saved meanwhile."""

    def saved_again() -> bool:
        return _saved(workspace) != seen

    root = workspace.root
    result = server.check(root, task, saved_again, quick=True, first=True)
    if result.passed:
        result = server.check(root, task, saved_again)
    return None if (result.error or {}).get("kind") == "interrupted" else result


def _first_word(server: Server, workspace: Workspace, task: Task) -> str:
    """What a few direct questions tell, before the tests have run."""
    from .recognition import recognise, wrong_answers

    asked = server.check(workspace.root, task, only_probes=True)
    if asked.error is not None:
        return explain_error(workspace, asked.error)
    known = recognise(task.number, asked.probes)
    wrong = wrong_answers(task.number, asked.probes)
    right = len(asked.probes) - len(wrong)
    head = f"{right} of {len(asked.probes)} quick questions answered right"
    if known:
        return f"{head}. {known[0].message}"
    return f"{head}; {wrong[0]}" if wrong else f"{head}; now the tests ..."


def _saved(workspace: Workspace) -> dict[Path, int]:
    files = [
        *(workspace.root / "minitorch").rglob("*.py"),
        *(workspace.root / "tests").rglob("*.py"),
    ]
    saved = {}
    for path in files:
        try:
            saved[path] = path.stat().st_mtime_ns
        except OSError:
            continue  # an editor is just replacing it
    return saved
