"""Convolution: slide the window, click an output cell, turn it round, and pool."""

from playwright.sync_api import expect

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see(r"library gives -2 at \(0, 0\)")
    visit.slide("Position", 2)
    visit.see(r"library gives -2 at \(0, 2\)")
    visit.main.locator('svg [data-id^="0,7@"]').click()
    visit.see(r"library gives 8 at \(0, 7\)")
    visit.choose("Flip book")
    visit.see("1 of 8")
    visit.main.get_by_role("button", name="One step forward").click()
    visit.see("2 of 8")
    visit.choose("Back to the input")
    visit.see("anchored right")
    visit.open("?ckind=2-D+convolution&cins=2&code=reference")
    visit.see("Channel 1 adds .* channel 2 adds .*: together")
    visit.choose("all")
    expect(visit.main.get_by_text("Channel 2", exact=True)).to_be_visible()
    visit.choose("Pooling")
    visit.see(r"\(6 \+ .*/ 4 = ")
    visit.choose("max")
    visit.see(r"max\(")
    visit.see("gives just this, in the shape")
    visit.choose("2-D convolution")
    visit.main.locator('svg [data-id^="2,3@"]').click()
    visit.see(r"library gives 10 at \(2, 3\)")
