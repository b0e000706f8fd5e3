"""Modules: switch a branch, see the tree follow."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("layer1.weight0|named_parameters")
    visit.click("layer2")
    visit.see("Switch layer2")
    visit.press("eval")
    modes = visit.main.locator("svg text").filter(has_text="eval")
    assert modes.count() == 1
    visit.choose("Nested branches")
    visit.see("gives 19")
