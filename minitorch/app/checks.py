"""A task's checks, run beside the app; what they said is kept."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from ..course.checking import check
from ..course.progress import account
from ..course.tasks import Task
from ..course.workspace import CourseError, Workspace


@dataclass
class Check:
    """A run of a task's checks, in a thread of its own.

    Attributes:
        lines: what `minitorch course check` would have printed; None while it runs
        passed: whether all went well
        began: when it was started
    """

    workspace: Workspace
    task: Task
    lines: list[str] | None = None
    passed: bool = False
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether there is no result yet."""
        return self.lines is None

    @property
    def seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self.began

    def _run(self) -> None:
        try:
            result = check(self.workspace.root, self.task)
            self.passed = result.passed
            self.lines = account(self.workspace, result)
        except (CourseError, OSError) as error:
            self.lines = [f"Task {self.task.number} could not be checked: {error}"]
