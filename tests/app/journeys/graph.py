"""Graph: walk back through z = x * y used twice, change the expression, switch to tensors."""

from playwright.sync_api import expect

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("Forward, step 4 of 4")
    visit.press("Start")
    visit.see("nothing is computed yet")
    visit.press("Next")
    visit.see("z = x × y.*gives 3")
    visit.press("End")
    visit.see("z is used twice, so its derivatives are added: 0.3333 [+] 20.09 = 20.42")
    visit.see("Empty: every derivative has arrived")
    visit.slide("Step", -4)
    visit.see("Backward, step 2 of 6")
    visit.see("derivative so far")
    assert "gs=" in visit.page.url
    visit.fill("x", "4")
    visit.see("d = |by backward")
    visit.fill("Expression", "import os")
    visit.see("This cannot be drawn")
    visit.fill("Expression", "x * x")
    visit.press("End")
    visit.see("x is used twice, so its derivatives are added: 4 [+] 4 = 8")
    expect(visit.main).not_to_contain_text("differs")
    visit.choose("Tensors")
    visit.press("End")
    visit.see(r"y.*\(3,\).*agrees")
    visit.click("1")
    visit.see("The numbers of y")
