"""Compare with Torch: three models against it; another seed changes both alike."""

from tests.app.browser import Visit


def walk(visit: Visit) -> None:
    code = "" if visit.code == "reference" else "&code=reference"
    visit.open(f"?c_models=Scalar&c_models=Tensor&c_models=Fast&c_epochs=11&c_units=3{code}")
    for model in ("Scalar", "Tensor", "Fast"):
        visit.see(f"{model}: after 11 epochs .*(rounding|last digit)")
    visit.see("Torch is (PyTorch|minitorch)")
    visit.settle()
    before = digits(visit)
    assert before.count(".") >= 40
    visit.fill("Seed", "3")
    visit.see("Fast: after 11 epochs .*(rounding|last digit)")
    visit.see("Scalar: after 11 epochs .*(rounding|last digit)")
    visit.settle()
    assert digits(visit) != before


def digits(visit: Visit) -> str:
    """The table of the first losses."""
    pictures = visit.main.locator("svg").filter(has_text="The first losses, in full")
    return pictures.first.text_content() or ""
