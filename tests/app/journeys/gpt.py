"""GPT: train a little, look at the attention, let it write."""

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.open("?gsteps=40&gwidth=32&glength=16")
    visit.press("Train")
    visit.see("Step 40 of 40")
    visit.press("Look")
    visit.see("Likeliest next")
    visit.choose("2")
    visit.press("Write")
    visit.see(r"Write\s*The [\s\S]{60}")
