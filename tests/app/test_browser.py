"""Pages in a real browser, where there is Chromium: some here, all by `python -m tests.app.browser`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from minitorch.course.workspace import create
from tests.app.browser import WIDTHS, Visit, find_chromium, open_browser, serve, walk

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium here: apt install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def reference() -> Iterator[str]:
    with serve() as address:
        yield address


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("workspace")
    create(folder)
    with serve(folder) as address:
        yield address


@pytest.mark.parametrize(
    ("code", "name"),
    [
        *(("reference", name) for name in ("start", "tensors", "playground")),
        ("stubs", "broadcasting"),
    ],
)
def test_a_page_in_the_browser(browser, request, name: str, code: str) -> None:
    """A page opens, a control moves, the effect shows, and no error box does."""
    page = browser.new_page(viewport={"width": WIDTHS["wide"], "height": 900})
    try:
        walk(Visit(page, request.getfixturevalue(code), name, code))
    finally:
        page.close()
