"""The site: figures draw, notebooks are well formed, formulas become MathML."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
from latex2mathml.converter import convert

from docs.figures import every  # noqa: F401  registers all figures
from docs.figures.style import FIGURES
from docs.site.notebooks import notebook
from docs.site.pages import DOCS, GUIDE, ROOT, code_cells, guides, is_session

SVG = DOCS / "figures" / "svg"


def test_figures_are_those_of_the_guides() -> None:
    used = {
        name
        for page in GUIDE.glob("*.md")
        for name in re.findall(r"figures/svg/([\w-]+)\.svg", page.read_text())
    }
    assert used == set(FIGURES)
    assert {path.stem for path in SVG.glob("*.svg")} == set(FIGURES)


@pytest.mark.parametrize("name", guides())
def test_a_notebook_holds_the_code_of_its_guide(name: str) -> None:
    made = json.loads(json.dumps(notebook(GUIDE / f"{name}.md")))
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    code = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        ast.parse(cell["source"])
        assert ">>>" not in cell["source"].splitlines()[0]
    plain = [c.source for c in code_cells(GUIDE / f"{name}.md") if not is_session(c.source)]
    assert {p.rstrip("\n") for p in plain} <= {cell["source"] for cell in code}
    attached = [file for cell in made["cells"] for file in cell.get("attachments", {})]
    assert attached, "figures travel inside the notebook"


def test_formulas_become_mathml() -> None:
    """Every formula of the guides has matching brackets and goes through the converter."""
    formulas = [
        formula
        for page in [*GUIDE.glob("*.md"), DOCS / "answers.md"]
        for formula in re.findall(
            r"\$\$(.+?)\$\$|(?<![\w$])\$([^$\n]+)\$", page.read_text(), re.DOTALL
        )
    ]
    assert len(formulas) > 100
    for display, inline in formulas:
        formula = display or inline
        assert formula.count("{") == formula.count("}"), formula
        assert convert(formula).startswith("<math")


def test_the_site_loads_nothing_from_the_network(tmp_path: Path) -> None:
    from docs.site.build import dead_site_links

    (tmp_path / "index.html").write_text(
        '<h1 id="top">x</h1><a href="#top"></a><a href="#gone"></a><a href="away.html"></a>'
        '<script src="https://cdn.example.org/x.js"></script><a href="https://example.org"></a>'
    )
    assert dead_site_links(tmp_path) == [
        "index.html: #gone",
        "index.html: away.html",
        "index.html: loads https://cdn.example.org/x.js from the network",
    ]


def test_the_build_is_one_command() -> None:
    """Building takes about half a minute and the packages of the `docs` extra: `make docs` does it."""
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^docs: .*\n\t.*-m docs\.site\.build", makefile, re.MULTILINE)
    assert "-W" in (DOCS / "site" / "build.py").read_text()
