"""Functions: a curve and its tangent, the error over the step, surfaces, lists, an expression."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    visit.see("slope: autodiff")
    before = visit.main.locator('[data-testid="stMetricValue"]').first.inner_text()
    visit.slide("Point x", 5)
    after = visit.main.locator('[data-testid="stMetricValue"]').first.inner_text()
    assert before != after
    visit.see("is best with a step near 1e-0[3-6]")
    visit.choose("Two arguments")
    visit.see("The slopes there")
    visit.choose("Reduce")
    visit.fill("A list to reduce", "2, 3, 10")
    visit.see("gives 15")
    visit.choose("Type your own")
    visit.fill("An expression in x, or in x and y", "x * x + import")
    visit.see("cannot be drawn")
    visit.fill("An expression in x, or in x and y", "x * x + relu(x)")
    visit.see("slope: central difference")
