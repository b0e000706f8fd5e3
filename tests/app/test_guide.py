"""The chapters of the guide as the app shows them."""

from __future__ import annotations

import pytest

from minitorch.app import chapters
from minitorch.app.rooms import ROOMS
from minitorch.course.tasks import TASKS


def test_every_file_is_a_chapter() -> None:
    assert sorted(chapters.chapter_names()) == sorted(
        p.stem for p in chapters.folder().glob("*.md")
    )


@pytest.mark.parametrize("name", chapters.chapter_names())
def test_links_and_figures_lead_somewhere(name: str) -> None:
    text = (chapters.folder() / f"{name}.md").read_text()
    shown = [part.text for part in chapters.parts(name)]
    assert not any(".md)" in part or "](../figures" in part.split("![")[0] for part in shown)
    figures = [html for part in shown for kind, html in chapters.pieces(part) if kind == "figure"]
    assert len(figures) == text.count("../figures/svg/")
    for other, anchor in chapters.LINK.findall(text):
        anchors = [part.anchor for part in chapters.parts(other)]
        assert not anchor or anchor in anchors


def test_nothing_is_lost_when_a_chapter_is_cut() -> None:
    parts = chapters.parts("contributing")
    assert parts[0].level == 1
    assert any("```" in part.text for part in parts)
    assert all(part.text.count("```") % 2 == 0 for part in parts)


def test_every_task_and_page_has_its_place() -> None:
    for task in TASKS:
        chapter, anchor = chapters.task_place(task.number)
        assert chapter not in ["index", *chapters.contents()["task by task"]], task.number
        assert anchor in [part.anchor for part in chapters.parts(chapter)]
    for room in ROOMS:
        assert not room.guide or room.guide in chapters.chapter_names()
