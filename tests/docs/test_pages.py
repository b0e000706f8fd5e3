"""The pages: every example runs, every link leads somewhere, every task has its section."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from docs.site.pages import DOCS, GUIDE, ROOT, anchors, code_cells, dead_links, guides, run_cell

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if path.name != "torch-coverage.md"  # tables made by a program
)
EXCERPTS = {"design.md"}
"""Pages whose blocks quote the library."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages_with_code() -> list[Path]:
    return [path for path in PAGES if path.name not in EXCERPTS and code_cells(path)]


@pytest.mark.parametrize("path", pages_with_code(), ids=name_of)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    failures = []
    for cell in code_cells(path):
        failures += run_cell(cell, names, name_of(path))
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("name", sorted(EXCERPTS))
def test_excerpts_are_in_the_library(name: str) -> None:
    library = "".join(
        "".join(p.read_text().split()) for p in sorted((ROOT / "minitorch").rglob("*.py"))
    )
    for cell in code_cells(DOCS / name):
        assert "".join(cell.source.split()) in library, cell.source


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    assert dead_links(path, made={DOCS / "notebooks.md"}) == []


@pytest.mark.parametrize("name", guides())
def test_a_guide_is_complete(name: str) -> None:
    text = (GUIDE / f"{name}.md").read_text()
    assert text.startswith("# ")
    assert {"common-mistakes", "exercises"} <= anchors(text)
    assert re.search(r"!\[.+\]\(\.\./figures/svg/[\w-]+\.svg\)", text)
    assert code_cells(GUIDE / f"{name}.md")


def test_every_guide_is_in_the_contents() -> None:
    assert sorted(guides()) == sorted(p.stem for p in GUIDE.glob("*.md") if p.stem != "index")
