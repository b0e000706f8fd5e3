"""Playground: train Xor, pause, change a weight, go to another page and come back; finish another run."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.app.browser import Visit

LONG = "?p_back=Scalar&p_epochs=5000&p_units=6,%205"
"""A training that does not end while it is paused, changed and left."""


def walk(visit: Visit) -> None:
    refuse(visit)
    code = "" if visit.code == "reference" else "&code=reference"
    visit.open(LONG + code)
    visit.see("Epoch 0/5000, untrained")
    first = begin_and_pause(visit)
    change_a_weight(visit)
    go_on_elsewhere(visit, first)
    visit.open(f"?p_batch=25&p_back=Fast{code}")
    visit.see("Epoch 0/500, untrained")
    visit.press("Play")
    visit.see("finished")
    visit.see(r"Epoch 500/500 \| loss [\d.]+ \| correct 50/50 \| 0\.\d+ s/epoch")
    lines = download(visit, "Log").splitlines()
    assert len(lines) == 500
    assert re.fullmatch(
        r"Epoch 500/500 \| loss [\d.]+ \| correct 50/50 \| [\d.]+ s/epoch", lines[-1]
    )
    assert download(visit, "Picture").startswith("<svg")


def refuse(visit: Visit) -> None:
    """A wrong list of units is met with words; other settings begin anew."""
    visit.fill("Hidden units, layer by layer", "ten")
    visit.see("Please give 1 to 4 whole numbers")
    visit.fill("Hidden units, layer by layer", "6, 5, 4")
    visit.see("Epoch 0/500, untrained")
    assert "p_units=6" in visit.page.url


def begin_and_pause(visit: Visit) -> int:
    """Loss and boundary move; a paused run stands still; a step is one epoch. The epoch reached."""
    before = surface(visit)
    visit.press("Play")
    visit.see(r"Epoch [1-9]\d*/5000")
    visit.press("Pause")
    visit.see("paused")
    first = epoch(visit)
    assert surface(visit) != before, "the decision surface has not moved"
    visit.page.wait_for_timeout(700)
    assert epoch(visit) == first, "a paused run goes on"
    visit.press("Step")
    visit.see(f"Epoch {first + 1}/5000")
    return first


def change_a_weight(visit: Visit) -> None:
    """Click a line or a unit, give it another number: the network follows."""
    line = visit.main.locator('svg [data-id="w-1-0-0"]')
    line.dispatch_event("click")
    visit.settle()
    visit.fill("Weight from x1 to unit 1 of layer 1", "1.25")
    expect(line.locator("title")).to_have_text(re.compile("1.250"))
    visit.click("u-1-0")
    visit.see("What unit 1 of layer 1 gives")
    before = surface(visit)
    visit.fill("Bias of unit 1 of layer 1", "0.5")
    visit.settle()
    assert surface(visit) != before, "the bias has no effect"
    visit.click("u-3-0")
    visit.see("What the network says")


def go_on_elsewhere(visit: Visit, first: int) -> None:
    """The run goes on while another page is looked at, and after."""
    visit.press("Play")
    links = visit.page.locator('[data-testid="stSidebarNav"]')
    links.get_by_role("link", name="Modules").click()
    visit.see("named_parameters")
    links.get_by_role("link", name="Playground").click()
    visit.see(r"Epoch \d+/5000 \| loss")
    visit.wait_until(lambda: epoch(visit) > first + 1)
    expect(visit.main.get_by_role("button", name="Pause", exact=True)).to_be_visible()


def download(visit: Visit, label: str) -> str:
    """The text of a file that a button gives."""
    with visit.page.expect_download() as found:
        visit.main.get_by_role("button", name=label, exact=True).click()
    return Path(found.value.path()).read_text(encoding="utf-8")


def epoch(visit: Visit) -> int:
    """The number of epochs done."""
    found = re.search(r"Epoch (\d+)/\d+", visit.text())
    return int(found[1]) if found else -1


def surface(visit: Visit) -> str:
    """The decision surface, as its picture's data."""
    boards = visit.main.locator("svg").filter(has_text="Points and the decision surface")
    return str(boards.locator("image").first.get_attribute("href"))
