"""The figures: what a reader sees in them is what was drawn, and the sums in them are right."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.text import Text

from docs.figures import every  # noqa: F401  registers all figures
from docs.figures.style import FIGURES, save
from docs.site.pages import DOCS

SVG = DOCS / "figures" / "svg"
SUM = re.compile(r"([\d.][\d.·+/ −-]*[\d.]) = (?:position )?(-?[\d.]*\d)")
"""A computation with numbers alone, and its result."""


def lines_of(path: Path) -> list[str]:
    """The lines of text in a picture; those with formulas in them, which are in pieces, left out."""
    drawn = ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
    return [element.text for element in drawn if element.text and not len(element)]


@pytest.mark.parametrize("name", FIGURES)
def test_words_and_numbers_are_those_that_were_drawn(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, made = FIGURES[name], []
    monkeypatch.setitem(FIGURES, name, lambda: made.append(draw()) or made[0])
    path = save(name, tmp_path)
    text = path.read_text()
    assert text.lstrip().startswith("<?xml")
    assert "font-family: 'cm" not in text, "a font of TeX, which browsers do not have"
    drawn = {line for text in made[0].findobj(Text) for line in text.get_text().split("\n")}
    assert set(lines_of(path)) <= drawn
    assert lines_of(path) == lines_of(SVG / path.name), "run: python -m docs.figures"


def computations() -> list[tuple[str, str, str]]:
    return [
        (path.stem, *found)
        for path in sorted(SVG.glob("*.svg"))
        for line in lines_of(path)
        for found in SUM.findall(line)
    ]


def test_computations_give_what_they_show() -> None:
    found = computations()
    assert len(found) >= 8
    for name, terms, result in found:
        decimals = len(result.partition(".")[2])
        value = eval(terms.replace("·", "*").replace("−", "-"), {"__builtins__": {}})
        assert f"{value:.{decimals}f}" == result, f"{name}: {terms} = {result}"
