"""A visit in a real browser: titles, Back, the keyboard, a file that is saved, a reload, a closed tab."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import expect

from minitorch.app import keeping
from minitorch.course.tasks import find_task
from minitorch.course.workspace import Workspace, create
from tests.app.browser import WIDTHS, Visit, find_chromium, open_browser, walk
from tests.app.streaming import running_app, started_by

needs_chromium = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium here: apt install chromium"
)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("workspace")
    create(made)
    return made


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    with running_app(folder) as started:
        yield started


@pytest.fixture
def visit(browser, app: tuple[subprocess.Popen[bytes], str]) -> Iterator[Visit]:
    page = browser.new_page(viewport={"width": WIDTHS["wide"], "height": 900})
    yield Visit(page, f"http://{app[1]}", "tensors", "reference")
    page.close()


@contextmanager
def slow_to_answer(pid: int) -> Iterator[None]:
    """An app that rests for a second: what is done to a page must wait for the answer."""
    of_app = {pid, *started_by(pid)}

    def send(number: int) -> None:
        for each in of_app:
            with suppress(ProcessLookupError):
                os.kill(each, number)

    send(signal.SIGSTOP)
    wake = threading.Timer(1.0, send, [signal.SIGCONT])
    wake.start()
    try:
        yield
    finally:
        wake.join()


@needs_chromium
def test_a_page_on_stubs(visit: Visit) -> None:
    """The card of an open task; then the page's journey on the reference."""
    visit.name, visit.code = "broadcasting", "stubs"
    walk(visit)


@needs_chromium
def test_titles_differ_and_back_leaves_a_page(visit: Visit, app) -> None:
    """Back to a page finds its settings as they were left.

    A page has its place in the history once its heading is there; its title comes before that.
    """
    visit.open("?code=reference")
    visit.fill("Shape", "2, 5")
    expect(visit.page).to_have_title("Tensors · MiniTorch")
    with slow_to_answer(app[0].pid):
        visit.click("i:1,3")
        assert "Index (1, 3) lies at position 8" in visit.text()
    links = visit.page.locator('[data-testid="stSidebarNav"]')
    for name in ("Broadcasting", "Modules"):
        links.get_by_role("link", name=name).click()  # the one before may still be drawn
        expect(visit.main.get_by_role("heading", name=name, level=1)).to_be_visible()
        expect(visit.page).to_have_title(f"{name} · MiniTorch")
    visit.page.go_back()
    expect(visit.main.get_by_role("heading", name="Broadcasting", level=1)).to_be_visible()
    expect(visit.page).to_have_title("Broadcasting · MiniTorch")
    visit.page.go_back()
    expect(visit.page).to_have_title("Tensors · MiniTorch")
    expect(visit.main.get_by_label("Shape", exact=True)).to_have_value("2, 5")
    visit.see(r"Index \(1, 3\) lies at position 8")


@needs_chromium
def test_shapes_are_reached_and_named_by_keyboard(visit: Visit) -> None:
    visit.open("?code=reference")
    cells = visit.main.locator("svg [data-id]")
    expect(cells.first).to_be_visible()  # which what follows does not wait for
    names = cells.evaluate_all("shapes => shapes.map(s => s.getAttribute('aria-label'))")
    assert names[:2] == ["index (0, 0): 10", "index (0, 1): 11"]
    assert len(set(names)) == len(names)
    assert visit.main.locator('svg [data-id][tabindex="0"]').count() == 1
    cells.first.focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        visit.page.keyboard.press(key)
    visit.see(r"Index \(0, 2\) lies at position 2")
    focused = "document.activeElement.shadowRoot?.activeElement ?? document.activeElement"
    label = f"({focused}).getAttribute('aria-label')"
    visit.wait_until(lambda: visit.page.evaluate(label) == "index (0, 2): 12")


@needs_chromium
def test_a_page_follows_the_file_that_is_saved(visit: Visit, folder: Path) -> None:
    visit.name = "modules"
    visit.open("?code=yours")
    visit.see("Task 0.4 is still open")
    Workspace(folder).put_solutions([find_task("0.4")])
    visit.see("gives 9 names and values")
    expect(visit.page.locator('[data-testid="stSidebar"]')).to_contain_text("module.py saved at")


@needs_chromium
def test_a_run_outlives_a_reload_and_ends_with_its_tab(visit: Visit, app) -> None:
    visit.name = "playground"
    # so many units that the run, of ten minutes, does not end before a slow page is there again
    visit.open("?code=reference&p_back=Scalar&p_epochs=5000&p_units=10")
    before = started_by(app[0].pid)
    visit.press("Play")
    visit.see(r"Epoch [1-9]\d*/5000")
    visit.page.reload()
    visit.see(r"Epoch [1-9]\d*/5000")
    expect(visit.main.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert int(re.findall(r"Epoch (\d+)/5000", visit.text())[0]) > 1
    visit.press("Pause")
    visit.see("paused")
    run = started_by(app[0].pid) - before
    assert len(run) == 1
    visit.page.close()
    closed = time.monotonic()
    while run & started_by(app[0].pid) and time.monotonic() < closed + 3 * keeping.GRACE:
        time.sleep(0.2)
    assert keeping.GRACE - 2 < time.monotonic() - closed < 3 * keeping.GRACE


class Stoppable:
    """Stands for a run."""

    def __init__(self) -> None:
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


def test_runs_are_taken_over_by_the_same_browser_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "Run", Stoppable)
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    open_sessions = {"one"}
    keeper = keeping.Keeper(open_sessions.__contains__)
    run = Stoppable()
    keeper.of("one", "Firefox")["run"] = run
    assert keeper.of("two", "Firefox") == {}, "its tab is still open"
    open_sessions.clear()
    open_sessions.update({"two", "three", "four"})
    assert keeper.of("three", "Chromium") == {}
    assert keeper.of("four", "Firefox") == {"run": run}
    clock[0] += 3600
    keeper.look_round()
    assert not run.stopped
    open_sessions.remove("four")
    clock[0] += keeping.GRACE - 1
    keeper.look_round()
    assert not run.stopped
    clock[0] += 2
    keeper.look_round()
    assert run.stopped
    assert set(keeper.tabs) == {"two", "three"}
