"""Runs and weights: two optimizers in one picture, and the histograms of a parameter."""

from tests.app.browser import Visit

NEEDS_CODE = False


def walk(visit: Visit) -> None:
    visit.see("Train once")
    visit.fill("Steps", "60")
    visit.press("Train with these")
    visit.see("The weights of 0.weight")
    visit.see("at step 60")
    visit.select("Optimizer", "SGD")
    visit.press("Train with these")
    visit.see("at step 60")
    visit.select("Look into", "perceptron, Adam 0.01, seed 0")
    visit.select("Parameter", "4.bias")
    visit.see("The gradients of 4.bias")
    visit.see("mean .* spread")
    visit.select("Parameter", "2.weight")
    visit.see("The gradients of 2.weight")
