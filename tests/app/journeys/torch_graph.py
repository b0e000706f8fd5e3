"""Torch graph: the graph of one model, then of another."""

from playwright.sync_api import expect

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("walks through 6 operations and leaves gradients in 6 parameters")
    chart = visit.main.locator('[data-testid="stGraphVizChart"]')
    expect(chart).to_contain_text("0.weight")
    expect(chart).to_contain_text("(64, 16)")
    visit.choose("GPT")
    visit.see("leaves gradients in 18 parameters")
    expect(chart).to_contain_text("blocks.0.attend.weight")
    visit.choose("perceptron")
    visit.see("6 parameters")
