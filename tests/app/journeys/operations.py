"""Map, zip, reduce: step through the flip book, permute, choose a dimension, misfit two shapes."""

import re

from playwright.sync_api import expect

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("6 steps: 6 reads, 6 writes")
    caption = visit.main.locator(".caption").first
    visit.press("One step forward")
    expect(caption).to_contain_text("reads a[0, 0] (position 0) = 1; negate(1) = -1; writes -1")
    visit.select("Permute a", "(1, 0)")
    visit.press("One step forward")
    visit.press("One step forward")
    expect(caption).to_contain_text("reads a[0, 1] (position 3) = 4")
    visit.choose("zip")
    visit.see("6 steps: 12 reads, 6 writes")
    visit.fill("Shape of b", "3")
    visit.see("do not broadcast together")
    visit.fill("Shape of b", "2")
    visit.see("6 steps: 12 reads, 6 writes")
    visit.choose("reduce")
    visit.choose("1")
    visit.press("One step forward")
    expect(caption).to_contain_text("reads out[0, 0] (position 0) = 0; reads a[0, 0]")
    visit.select("Function", "max")
    visit.press("Play")
    expect(caption).to_contain_text(re.compile(r"max\(.+\) = \d"))  # whichever step it is at
    visit.press("Play")
    expect(visit.main).not_to_contain_text("wrong")
