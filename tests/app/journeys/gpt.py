"""GPT: train a little, look at the attention, let it write."""

from playwright.sync_api import expect

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.open("?gsteps=40&gwidth=32&glength=16")
    visit.press("Train")
    visit.see("Step 40 of 40")
    curve = visit.main.locator("svg").filter(has_text="loss of a character")
    expect(curve).to_contain_text("02040step")
    visit.press("Look")
    visit.see("Likeliest next")
    visit.choose("2")
    visit.press("Write")
    visit.see(r"Write\s*The [\s\S]{60}")
