"""Playground: train Xor, pause, go to another page and come back, change a weight, finish right."""

import re

from playwright.sync_api import expect

from tests.app.browser import PATIENCE, Visit


def walk(visit: Visit) -> None:
    code = "" if visit.code == "reference" else "&code=reference"
    visit.open(f"?p_batch=25&p_back=Fast{code}")
    visit.see("Epoch 0/500, untrained")
    train_xor(visit)
    change_a_weight(visit)
    refuse(visit)


def train_xor(visit: Visit) -> None:
    """500 epochs, with a pause, a step, and a look at another page; ends with all points right."""
    before = surface(visit)
    visit.main.get_by_role("button", name="Play").click()
    visit.see(r"Epoch [1-9]\d*/500")
    expect(visit.main.get_by_role("button", name="Pause")).to_be_visible(timeout=PATIENCE)
    visit.press("Pause")
    visit.see("paused")
    visit.settle()
    first = epoch(visit)
    assert surface(visit) != before, "the decision surface has not moved"
    visit.page.wait_for_timeout(700)
    assert epoch(visit) == first, "a paused run goes on"
    visit.press("Step")
    visit.see(f"Epoch {first + 1}/500")
    visit.main.get_by_role("button", name="Play").click()
    visit.see("running|finished")
    links = visit.page.locator('[data-testid="stSidebarNav"]')
    links.get_by_role("link", name="Modules").click()
    visit.see("named_parameters")
    links.get_by_role("link", name="Playground").click()
    visit.see(r"Epoch \d+/500 \| loss")
    assert epoch(visit) > first
    visit.see("finished")
    visit.settle()
    visit.see(r"Epoch 500/500 \| loss [\d.]+ \| correct 50/50 \| 0\.\d+ s/epoch")


def change_a_weight(visit: Visit) -> None:
    """Click a line or a unit, give it another number: the network follows."""
    visit.main.locator('svg [data-id="w-3-0-0"]').dispatch_event("click")
    visit.settle()
    visit.fill("Weight from unit 1 of layer 2 to the output", "-30")
    expect(visit.main.locator('svg [data-id="w-3-0-0"] title')).to_have_text(re.compile("-30.000"))
    before = surface(visit)
    visit.click("u-3-0")
    visit.fill("Bias of the output", "20")
    visit.settle()
    assert surface(visit) != before, "the bias has no effect"
    visit.click("u-1-0")
    visit.see("What unit 1 of layer 1 gives")


def refuse(visit: Visit) -> None:
    """A wrong list of units is met with words; other settings begin anew."""
    visit.fill("Hidden units, layer by layer", "ten")
    visit.see("Please give 1 to 4 whole numbers")
    visit.fill("Hidden units, layer by layer", "6, 5, 4")
    visit.see("Epoch 0/500, untrained")
    assert "p_units=6" in visit.page.url
    visit.press("Step")
    visit.see("Epoch 1/500")


def epoch(visit: Visit) -> int:
    """The number of epochs done."""
    found = re.search(r"Epoch (\d+)/500", visit.text())
    return int(found[1]) if found else -1


def surface(visit: Visit) -> str:
    """The decision surface, as its picture's data."""
    boards = visit.main.locator("svg").filter(has_text="Points and the decision surface")
    return str(boards.locator("image").first.get_attribute("href"))
