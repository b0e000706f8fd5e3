"""Start: the way in without a workspace; with one, the tasks, a check, and what it says."""

from minitorch.course.tasks import TASKS
from tests.app.browser import PATIENCE, Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("All that MiniTorch needs is here and works")
    if visit.code == "reference":
        visit.see("minitorch course new")
        visit.see("Module 4: Networks")
        return
    if visit.code == "finished":
        visit.see(f"{len(TASKS)} of {len(TASKS)} tasks passed")
        return
    visit.see(f"0 of {len(TASKS)} tasks passed")
    visit.press("Check")
    message = visit.main.get_by_text("Task 0.1, Operators: not yet")
    message.wait_for(timeout=3 * PATIENCE)  # the whole check runs
    visit.see("Last failing check: task 0.1")
    visit.see("Still to write: mul, id, add")
