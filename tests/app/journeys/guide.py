"""Guide: a chapter with figures and formulas, the way to another, and a task's place."""

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("All chapters")
    visit.open("?chapter=contributing&part=task-01-operators")
    visit.see("Task 0.1: Operators")
    assert visit.main.locator("#task-01-operators").count() == 1
    visit.open("?chapter=derivatives")
    visit.see("The slope of a function")
    assert visit.main.locator("img[src^='data:image/svg']").count() >= 2
    assert visit.main.locator(".katex").count() > 5
    visit.main.locator(".st-key-below-gradient-descent button").click()
    visit.see("The learning rate")
    assert "chapter=gradient-descent" in visit.page.url
