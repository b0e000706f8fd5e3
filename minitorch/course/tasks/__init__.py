"""What each task is about: its functions, their hints, its tests and its place in the guide.

The library carries no marks: the files of this folder say which bodies a student writes.
"""

from __future__ import annotations

from . import module0, module1, module2, module3, module4, module5
from .record import Place as Place
from .record import Task as Task

TASKS: tuple[Task, ...] = tuple(
    task
    for module in (module0, module1, module2, module3, module4, module5)
    for task in module.TASKS
)
MODULES = range(6)
BY_NUMBER = {task.number: task for task in TASKS}


def find_task(text: str) -> Task:
    """The task that `0.1`, `task0_1` or `0_1` names; ValueError if there is none."""
    number = text.lower().removeprefix("task").strip(" .").replace("_", ".")
    if number in BY_NUMBER:
        return BY_NUMBER[number]
    raise ValueError(f"there is no task {text!r}; the tasks are {', '.join(BY_NUMBER)}")
