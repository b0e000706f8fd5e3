"""How far a student is: what a check said, in words, and what the workspace remembers of it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from .checking import Result, has_gpu
from .recognition import diagnose, recognise
from .tasks import TASKS, Task
from .workspace import MARK, Workspace


def standing(workspace: Workspace, task: Task) -> tuple[str, str]:
    """How far a task is, in a word (open, begun, written, passed, changed, broken) and in a few more."""
    if broken := workspace.unreadable(task):
        return "broken", broken
    passed = workspace.notes()["passed"].get(task.number)
    open_places = workspace.open_places(task)
    written = len(task.places) - len(open_places)
    if passed and not open_places:
        if passed["code"] == workspace.digest(task):
            return "passed", passed["when"]
        return "changed", f"passed {passed['when']}, changed since: check it again"
    if not task.places:
        return "-", "tests only"
    if open_places:
        counts = f"{written} of {len(task.places)} functions written"
        return ("begun" if written else "open"), counts
    return "written", f"run `minitorch course check {task.number}`"


def is_passed(workspace: Workspace, task: Task) -> bool:
    """Whether the code as it is now has passed a task's checks."""
    return standing(workspace, task)[0] == "passed"


def next_task(workspace: Workspace) -> Task:
    """The first task that was not passed, from the current module on."""
    later = [t for t in TASKS if t.module >= workspace.notes()["module"]]
    return next((task for task in later if not is_passed(workspace, task)), later[-1])


def account(workspace: Workspace, result: Result, verbose: bool = False) -> list[str]:
    """What came out, line by line; the workspace remembers it."""
    task, notes = result.task, workspace.notes()
    head = f"Task {task.number}, {task.title}:"
    if result.passed:
        lines = [f"{head} passed ({_counts(result)}, {result.seconds:.1f} s)"]
        if task.number in ("3.3", "3.4", "4.4b") and not has_gpu():
            n = result.count("passed")
            lines.append(
                f"  {n} checks run in the simulator, 0 on a GPU (none found). Passed, not timed."
            )
        lines += _beyond(result)
        entry = {"when": time.strftime("%Y-%m-%d %H:%M"), "code": result.code}
        about_this = (notes["last"] or {}).get("task") == task.number
        passed = notes["passed"] | {task.number: entry}
        lines += _remember(workspace, passed=passed, last=None if about_this else notes["last"])
        return lines + _printed(test.printed for test in result.tests)
    passed = {n: t for n, t in notes["passed"].items() if n != task.number}
    messages = explain(workspace, result)
    last = {"task": task.number, "message": messages[0]}
    forgotten = _remember(workspace, passed=passed, last=last)
    if result.error is not None:
        lines = [f"{head} could not run"]
    else:
        lines = [f"{head} not yet ({_counts(result)}, {result.seconds:.1f} s)"]
    lines += ["  " + message.replace("\n", "\n  ") for message in messages]
    shown = result.failures if verbose else [f for f in result.failures if not f.unwritten][:3]
    for test in shown:
        lines.append(f"\n  {test.name}" + (f"\n    {test.about}" if test.about else ""))
        lines.append("    " + test.message.replace("\n", "\n    "))
        if test.where:
            lines.append(f"    at {test.where}")
        lines += _printed([test.printed], "    ")
    if result.error is not None and result.error["kind"] == "endless":
        lines += _printed([result.output])
    if not any(test.printed for test in shown):
        lines += _printed(test.printed for test in result.tests)
    lines.append(
        f"\n  hint: minitorch course hint {task.number} 1     guide: minitorch course guide {task.number}"
    )
    return lines + forgotten


def _remember(workspace: Workspace, **changes: Any) -> list[str]:
    """Let the workspace remember something, or say why it cannot."""
    try:
        workspace.note(**changes)
    except OSError as error:
        return [f"  This could not be saved: {workspace.root / MARK}: {error.strerror}"]
    return []


def _beyond(result: Result) -> list[str]:
    """What the code cannot do, and need not for this task: what is known of it, or the checks."""
    extra = [test for test in result.tests if test.outcome == "extra"]
    if not extra:
        return []
    said = _known(result) or [f"{test.name}: {test.message.splitlines()[0]}" for test in extra]
    return [
        "  Beyond what the task asks:",
        *["    " + text.replace("\n", "\n    ") for text in said],
    ]


PRINTED = 8
"""Lines of what a student's code prints that are shown."""


def _printed(texts: Iterable[str], margin: str = "  ") -> list[str]:
    """The last lines that a student's functions printed."""
    lines = [line for text in texts for line in text.splitlines()]
    if not lines:
        return []
    head = f"{margin}Your code printed" + ("; the last lines are:" if len(lines) > PRINTED else ":")
    return [head, *[f"{margin}  {line[:200]}" for line in lines[-PRINTED:]]]


def _counts(result: Result) -> str:
    failed = result.count("failed", "error")
    parts = [f"{result.count('passed')} of {len(result.tests)} checks pass"]
    if failed:
        parts.append(f"{failed} fail")
    if result.count("extra"):
        parts.append(f"{result.count('extra')} ask for more than the task")
    if result.count("skipped"):
        parts.append(f"{result.count('skipped')} skipped, which is not passed")
    return ", ".join(parts)


def explain(workspace: Workspace, result: Result) -> list[str]:
    """What is wrong, in words: an error, known mistakes, or what is still to be written."""
    if result.error is not None:
        return [explain_error(workspace, result.error)]
    messages = _told(result) + result.seen
    open_places = workspace.open_places(result.task)
    if open_places:
        names = ", ".join(place.name for place in open_places[:6])
        more = f" and {len(open_places) - 6} more" if len(open_places) > 6 else ""
        messages.append(f"Still to write: {names}{more} (minitorch/{open_places[0].file})")
    earlier = {t.unwritten for t in result.failures if t.unwritten} - {result.task.number}
    if earlier:
        messages.append(f"Needs what is still open in task {', '.join(sorted(earlier))}.")
    if result.count("skipped"):
        why = next(t.message for t in result.tests if t.outcome == "skipped")
        messages.append(f"Some checks were skipped: {why}")
    if not messages:
        first = result.failures[0] if result.failures else None
        text = f"{first.name}: {first.message.splitlines()[0]}" if first else "no check ran"
        messages.append(text)
    return messages


def _told(result: Result) -> list[str]:
    """What is wrong in the code that is written: known mistakes, and wrong answers that none explains."""
    if all(test.unwritten for test in result.failures):
        return _known(result)
    return diagnose(result.task.number, result.probes)


def _known(result: Result) -> list[str]:
    """What is said to the mistakes that are recognised."""
    return [found.message for found in recognise(result.task.number, result.probes)]


def explain_error(workspace: Workspace, error: dict[str, str]) -> str:
    """Why nothing could be checked."""
    kind, text = error["kind"], error["text"]
    if kind == "import":
        unread = (
            "" if " line " in text else next(filter(None, map(workspace.unreadable, TASKS)), "")
        )
        return (
            f"Your minitorch cannot be imported. {unread or text}"  # unread: a file with bytes of 0
        )
    if kind == "elsewhere":
        return f"Python imports minitorch from {text}, not from {workspace.root}. See `doctor`."
    if kind == "endless":
        return f"{text}. Is there a loop that never stops, or the same work done again and again?"
    if kind == "time":
        return "The checks did not come to an end: is there a loop that never stops?"
    if kind == "died":
        return f"Python itself died while running your code ({text})."
    return text
