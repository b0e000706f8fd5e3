"""Compiled step: the graph of one model before and after fusion, and its loops."""

from playwright.sync_api import expect

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("21 operations became 17 steps")
    chart = visit.main.locator('[data-testid="stGraphVizChart"]')
    expect(chart).to_contain_text("threshold_backward")
    visit.choose("After fusion")
    expect(chart).to_contain_text("add, relu")
    visit.choose("The loops as Python")
    visit.see("v3 = relu")
    visit.choose("convolution")
    visit.see("operations became")
    visit.choose("perceptron")
    visit.choose("After fusion")
    visit.see("21 operations became 17 steps")
