"""`minitorch course watch`: a task's checks, each time a file is saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from .checking import Result, Server
from .progress import account, explain_error, is_passed, next_task
from .recognition import diagnose, wrong_answers
from .tasks import TASKS, Task
from .workspace import Workspace

Say = Callable[[str], None]
Saved = dict[Path, int]


def watch(workspace: Workspace, fixed: Task | None, say: Say, once: bool = False) -> int:
    """Check one task, or those whose code is saved; 0 once all is passed, or Ctrl-C ends it."""
    heavy = ["numba"] if (fixed or next_task(workspace)).module >= 3 else []
    say("Checking each time a file is saved; Ctrl-C ends.")
    try:
        with Server(heavy) as server:
            return _Watch(workspace, fixed, say, server).run(once)
    except KeyboardInterrupt:
        say("\nNo longer watching. `minitorch course status` shows how far you are.")
        return 0


class _Watch:
    """What was saved and checked so far."""

    def __init__(self, workspace: Workspace, fixed: Task | None, say: Say, server: Server) -> None:
        self.workspace, self.fixed, self.say, self.server = workspace, fixed, say, server
        self.seen: Saved = {}
        self.codes: dict[str, str] = {}
        self.task = fixed or next_task(workspace)

    def run(self, once: bool) -> int:
        while True:
            now = _saved(self.workspace)
            if now == self.seen:
                time.sleep(0.1)
                continue
            changed = {path for path in now if now[path] != self.seen.get(path)}
            self.task = self.fixed or self._task_of(changed if self.seen else ())
            self.seen = now
            result = self._check()
            if result is None:
                continue  # saved again meanwhile
            if once:
                return 0 if result.passed else 1
            if result.passed and self._finished():
                return 0

    def _task_of(self, changed: Collection[Path]) -> Task:
        """The task whose code was saved; the current one where that is nobody's or everybody's."""
        codes = {task.number: self.workspace.digest(task) for task in TASKS}
        before, self.codes = self.codes, codes
        if not changed:
            return next_task(self.workspace)
        edited = [t for t in TASKS if before.get(t.number, codes[t.number]) != codes[t.number]]
        names = {path.name for path in changed}
        touched = [t for t in TASKS if names & {*t.tests, *(Path(f).name for f in t.files)}]
        choice = edited or touched
        if not choice or self.task in choice:
            return self.task
        return next((t for t in choice if not is_passed(self.workspace, t)), choice[0])

    def _check(self) -> Result | None:
        """Say what the checks say, with few examples first and then with all; None if saved again."""
        asked = self._ask(only_probes=True)
        if asked is None:
            return None
        shown = self._first_words(asked)
        result = self._ask(quick=True)
        if result is not None and result.passed:
            result = self._ask()
        if result is None:
            return None
        for line in account(self.workspace, result):
            if line not in shown:
                self.say(line)
        return result

    def _ask(self, **options: bool) -> Result | None:
        """What checks say; None if a file was saved again meanwhile."""

        def saved_again() -> bool:
            return _saved(self.workspace) != self.seen

        result = self.server.check(self.workspace.root, self.task, saved_again, **options)
        return None if (result.error or {}).get("kind") == "interrupted" else result

    def _first_words(self, asked: Result) -> list[str]:
        """Say what a few direct questions tell, before the tests have run; the lines that were said."""
        task = self.task
        head = f"\n[{time.strftime('%H:%M:%S')}] Task {task.number}"
        if asked.error is not None:
            self.say(f"{head}: {explain_error(self.workspace, asked.error)}")
            return ["  " + explain_error(self.workspace, asked.error).replace("\n", "\n  ")]
        count = len(asked.probes)
        right = count - len(wrong_answers(task.number, asked.probes))
        self.say(f"{head}: {right} of {count} quick questions answered right; now the tests ...")
        lines = ["  " + text for text in diagnose(task.number, asked.probes)]
        for line in lines:
            self.say(line)
        return lines

    def _finished(self) -> bool:
        """Say what comes next; whether nothing does."""
        following = next_task(self.workspace)
        if self.fixed is None and is_passed(self.workspace, following):
            self.say("\nAll tasks are passed: your MiniTorch is complete.")
            return True
        if self.fixed is None:
            where = ", ".join(f"minitorch/{file}" for file in following.files)
            self.say(
                f"\nNext: task {following.number}, {following.title} ({where or 'tests only'})."
            )
        return False


def _saved(workspace: Workspace) -> Saved:
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
