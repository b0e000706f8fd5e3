"""Images: a network is trained at once; pause, leave, come back, go on, look inside, draw."""

import re

from playwright.sync_api import expect

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("Trained: epoch 3 of 3")
    visit.see(r"\d+ of 359")
    train_on(visit)
    visit.choose("Draw a digit")
    draw_a_one(visit)
    visit.see(r"It takes this for a \d")
    visit.choose("Mistakes")
    visit.click("0,0@0")  # after the @: how many clicks there were before this picture
    visit.see("0 taken for 0")
    visit.main.locator('svg image + [data-id$="@1"]').first.click()
    visit.see("It is a 0")
    expect(visit.main.get_by_text("First convolution and ReLU")).to_be_visible()
    visit.choose("Mistakes")
    visit.click("0,0@2")
    visit.see("the surest first")


def train_on(visit: Visit) -> None:
    """Pause, leave, come back, go on: of so many steps that they do not end before a slow page does."""
    visit.press("Settings")
    for label, number in (("Epochs at a time", "30"), ("Batch", "2")):
        visit.page.get_by_label(label, exact=True).fill(number)
        visit.page.keyboard.press("Enter")
        visit.settle()
    visit.press("Train on")
    visit.press("Pause")
    paused = epoch(visit, r"Paused: epoch (\d+) of 33")
    sidebar = visit.page.get_by_test_id("stSidebar")
    sidebar.get_by_role("link", name="Convolution").click()
    visit.see("A window slides")
    sidebar.get_by_role("link", name="Images").click()
    assert epoch(visit, r"Paused: epoch (\d+) of 33") == paused
    visit.press("Go on")
    visit.wait_until(lambda: epoch(visit, r"epoch (\d+) of 33") > paused)
    visit.press("Pause")
    assert paused < epoch(visit, r"Paused: epoch (\d+) of 33") < 33


def epoch(visit: Visit, words: str) -> int:
    """The epoch that is reached, in words that must come."""
    visit.see(words)
    found = re.search(words, visit.text())
    return int(found[1]) if found else -1


def draw_a_one(visit: Visit) -> None:
    """A stroke from top to bottom in the middle of the box."""
    canvas = visit.main.locator("canvas[aria-label='Draw here']")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2
    visit.page.mouse.move(middle, box["y"] + 30)
    visit.page.mouse.down()
    visit.page.mouse.move(middle, box["y"] + box["height"] - 30, steps=8)
    visit.page.mouse.up()
    visit.settle()
