"""Images: a network is trained at once; pause, leave, come back, go on, look inside, draw."""

from playwright.sync_api import expect

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("Trained: epoch 3 of 3")
    visit.see(r"\d+ of 359")
    visit.press("Train on")
    visit.press("Pause")
    visit.see("Paused: epoch 3 of 6")
    sidebar = visit.page.get_by_test_id("stSidebar")
    sidebar.get_by_role("link", name="Convolution").click()
    visit.see("A window slides")
    sidebar.get_by_role("link", name="Images").click()
    visit.see("Paused: epoch 3 of 6")
    visit.press("Go on")
    visit.see("Training: epoch [45] of 6")
    visit.press("Pause")
    visit.see("Paused: epoch [45] of 6")
    visit.choose("Draw a digit")
    draw_a_one(visit)
    visit.see(r"It takes this for a \d")
    visit.choose("Mistakes")
    visit.main.locator('svg [data-id^="0,0@"]').click()
    visit.see("0 taken for 0")
    visit.settle()
    visit.page.wait_for_timeout(500)  # until the pictures, too, are those of the zeros
    visit.main.locator('svg image + [data-id*="@"]').first.click()
    visit.see("It is a 0")
    expect(visit.main.get_by_text("First convolution and ReLU")).to_be_visible()
    visit.choose("Mistakes")
    visit.main.locator('svg [data-id^="0,0@"]').click()
    visit.see("the surest first")


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
