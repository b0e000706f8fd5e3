"""By hand: move a slider, take gradient steps, reach the challenge, choose other points."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("In one dimension")
    visit.see("0 moves")
    before = _metric(visit)
    visit.slide("Parameter w1", -3)
    assert _metric(visit) != before
    visit.see("[1-3] moves?")
    for _ in range(2):
        visit.press("One gradient step")
    visit.see("[3-5] moves")
    visit.click("4")
    visit.see("Point 5")
    visit.press("Start again")
    visit.see("0 moves")
    assert _metric(visit) == before
    visit.choose("Xor")
    visit.see("The lowest loss that a line can reach here is 0.[56]")


def _metric(visit: Visit) -> str:
    return visit.main.locator('[data-testid="stMetricValue"]').nth(1).inner_text()
