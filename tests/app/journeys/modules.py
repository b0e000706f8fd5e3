"""Modules: switch a branch, see the tree follow; find the way to a parameter."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("parameters\\(\\) gives 9")
    visit.click("layer2")
    visit.see("Switch layer2")
    visit.press("eval")
    modes = visit.main.locator("svg text").filter(has_text="eval")
    assert modes.count() == 1
    visit.choose("Nested branches")
    visit.see("parameters\\(\\) gives 19")
    visit.click("left.right.scale")
    visit.see("from the top left, then right, then scale")
