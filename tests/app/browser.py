"""The app in a real browser: starts it, opens pages, moves controls, takes pictures.

    python -m tests.app.browser [PAGE...] [--pictures DIR]

drives every page on the reference and on fresh stubs (`tests/app/test_visit.py` drives a few), and
with `--pictures` photographs each at 1280 and at 390 pixels. It needs Chromium: Debian's package
`chromium`, or any browser that Playwright finds.
"""

from __future__ import annotations

import argparse
import importlib
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import (
    Browser,
    Locator,
    Page,
    Request,
    TimeoutError,
    WebSocket,
    expect,
    sync_playwright,
)
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from minitorch.app.rooms import ROOMS
from minitorch.course.workspace import create
from tests.app.streaming import running_app

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = {"wide": 1280, "narrow": 390}
PATIENCE = 60_000
"""Milliseconds to wait for something that must come, while the page stands still."""
expect.set_options(timeout=PATIENCE)
LIMIT = 600_000
"""Milliseconds to wait while the page is at work: it trains, compiles or measures."""
AT_WORK = re.compile("hourglass|getting ready|Training: epoch|Timing: ", re.IGNORECASE)


def find_chromium() -> str | None:
    """The browser of this machine, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def serve(root: Path | None = None) -> Iterator[str]:
    """`minitorch app` in a workspace, or in an empty folder for the reference alone; its address."""
    with (
        tempfile.TemporaryDirectory() as elsewhere,
        running_app(root or Path(elsewhere)) as (_, address),
    ):
        yield f"http://{address}"


class Conversation:
    """What a page asks the app for, and whether the app has answered it.

    Streamlit's page does not say that a click is on its way: it looks idle until the app begins to
    answer, which takes a while on a busy machine. So we listen to the messages themselves.
    """

    def __init__(self, page: Page) -> None:
        self.asked: str | None = None
        """The fragment that is to be run, "" for the whole page; None when all is answered."""
        self.begun = False
        page.on("websocket", self._listen)

    def ask(self, fragment: str = "") -> None:
        """Note that the page, or a fragment of it, is to be run."""
        self.asked, self.begun = fragment, False

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._note_sent)
        socket.on("framereceived", self._note_received)

    def _note_sent(self, frame: bytes | str) -> None:
        message = BackMsg.FromString(frame) if isinstance(frame, bytes) else BackMsg()
        request = message.rerun_script
        if message.WhichOneof("type") == "rerun_script" and not request.is_auto_rerun:
            self.ask(request.fragment_id)

    def _note_received(self, frame: bytes | str) -> None:
        message = ForwardMsg.FromString(frame) if isinstance(frame, bytes) else ForwardMsg()
        kind = message.WhichOneof("type")
        if kind == "new_session":
            fragments = message.metadata.run.fragment_ids
            answers = not fragments or self.asked in fragments
            if self.begun and not answers:
                # It was answered, then: Streamlit calls an end early that it has not sent before
                # another run begins, though what has to run again is always run next.
                self.asked = None
            if not fragments and self.asked is None:
                self.ask()  # a fragment wants the whole page to be run
            self.begun = answers
        elif kind == "script_finished" and self.begun:
            early = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
            self.asked = self.asked if early else None


class Visit:
    """A page of the app in the browser, and what a person does there."""

    def __init__(self, page: Page, address: str, name: str, code: str) -> None:
        self.page, self.address, self.name, self.code = page, address, name, code
        page.set_default_timeout(PATIENCE)
        self.conversation = Conversation(page)
        self.outside: list[str] = []
        page.on("request", self._note_request)

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, query: str = "") -> None:
        """Go to the page and wait until it is drawn."""
        path = "" if self.name == "start" else self.name
        self.conversation.ask()
        self.page.goto(f"{self.address}/{path}{query}")
        self.settle()

    def settle(self) -> None:
        """Wait until the app has answered and the page is drawn, and see that it met no error."""
        self._let_page_work()  # sliders tell the app after a moment
        self.wait_until(lambda: self.conversation.asked is None)
        self._let_page_work()
        expect(self.page.locator('[data-testid="stException"]')).to_have_count(0)
        assert not self.outside, f"the page asks for what is not on this machine: {self.outside}"

    def _let_page_work(self) -> None:
        """Give the page time to do what is due: its own time, which passes slowly while it is busy."""
        self.page.evaluate("new Promise(done => setTimeout(done, 250))")

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Look again and again until something is so, for as long as a page may be at work."""
        began = time.monotonic()
        while not condition():
            assert 1000 * (time.monotonic() - began) < LIMIT, "it has not come"
            self.page.wait_for_timeout(50)

    @property
    def main(self) -> Locator:
        """The page without the sidebar."""
        return self.page.locator('[data-testid="stMain"]')

    def text(self) -> str:
        """All words of the page."""
        return self.main.inner_text()

    def see(self, words: str) -> None:
        """Wait until words (a regular expression) are on the page: as long as it is at work."""
        began = still = time.monotonic()
        before = ""
        while True:
            try:
                expect(self.main).to_contain_text(re.compile(words), timeout=2000)
                return
            except AssertionError:
                text, now = self.text(), time.monotonic()
                if text != before or AT_WORK.search(text) or self.is_spinning():
                    before, still = text, now
                if 1000 * (now - still) > PATIENCE or 1000 * (now - began) > LIMIT:
                    raise

    def is_spinning(self) -> bool:
        """Whether the page says that it is busy."""
        return self.main.locator('[data-testid="stSpinner"]').count() > 0

    def press(self, label: str) -> None:
        """Press the button with this label, or choose this option of a control."""
        self.main.get_by_role("button", name=label, exact=True).first.click()
        self.settle()

    def choose(self, label: str) -> None:
        """Choose an option of a segmented control or of radio buttons."""
        option = self.main.locator("button, label").filter(has_text=re.compile(f"^{label}$"))
        option.first.click()
        self.settle()

    def select(self, control: str, option: str) -> None:
        """Choose an option of a select box, whose menu closes whenever the page scrolls."""
        box = self.main.get_by_role("combobox", name=control)
        choice = self.page.get_by_role("option", name=option, exact=True)
        box.scroll_into_view_if_needed()

        def is_chosen() -> bool:
            self._let_page_work()
            if not choice.count():
                box.click()
                return False
            with suppress(TimeoutError):
                choice.click(timeout=2000)
                return True
            return False

        self.wait_until(is_chosen)
        self.settle()

    def fill(self, label: str, words: str) -> None:
        """Type into a field, and press Enter."""
        field = self.main.get_by_label(label, exact=True).first
        field.fill(words)
        field.press("Enter")
        self.settle()

    def slide(self, label: str, steps: int = 1) -> None:
        """Move a slider by so many steps."""
        slider = self.main.get_by_role("slider", name=label).first
        slider.focus()
        for _ in range(abs(steps)):
            slider.press("ArrowRight" if steps > 0 else "ArrowLeft")
        self.settle()

    def click(self, id: str) -> None:
        """Click a shape of a picture by its `data-id`."""
        self.main.locator(f'svg [data-id="{id}"]').first.click()
        self.settle()

    def photograph(self, folder: Path, width: str) -> None:
        """The whole page as a PNG file, at one of `WIDTHS`."""
        self.page.set_viewport_size({"width": WIDTHS[width], "height": 900})
        self.page.wait_for_timeout(400)
        height = self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        self.page.set_viewport_size({"width": WIDTHS[width], "height": min(int(height), 2600)})
        self.page.wait_for_timeout(600)
        picture = Image.open(BytesIO(self.page.screenshot())).convert("RGB")
        picture.save(folder / f"{self.name}-{width}.png", optimize=True)


def walk(visit: Visit) -> None:
    """Do on a page what its journey says, or what fresh stubs allow: the card, then the reference."""
    journey = importlib.import_module(f"tests.app.journeys.{visit.name}")
    visit.open()
    if visit.code == "stubs" and getattr(journey, "NEEDS_CODE", True):
        visit.see("is still open")
        visit.press("Use the reference")
        expect(visit.main).not_to_contain_text("is still open")
    journey.walk(visit)


def main() -> int:
    """Drive the pages; 1 if one failed."""
    parser = argparse.ArgumentParser(description="Drive the app in a real browser.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="default: all")
    parser.add_argument("--code", choices=["reference", "stubs"], help="default: both")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="photograph each page")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        create(Path(folder))
        for code in [args.code] if args.code else ["reference", "stubs"]:
            with serve(Path(folder) if code == "stubs" else None) as address:
                for name in args.pages or [room.name for room in ROOMS]:
                    began = time.monotonic()
                    problem = drive(browser, address, name, code, args.pictures)
                    seconds = time.monotonic() - began
                    print(f"{name:<14}{code:<11}{seconds:5.1f} s  {problem or 'ok'}", flush=True)
                    failed += bool(problem)
    return 1 if failed else 0


def drive(
    browser: Browser, address: str, name: str, code: str, pictures: Path | None = None
) -> str:
    """Use a page, and photograph it if asked: what went wrong, with a picture of it, or ""."""
    page = browser.new_page(viewport={"width": WIDTHS["wide"], "height": 900})
    problem = ""
    try:
        visit = Visit(page, address, name, code)
        walk(visit)
        if pictures and code == "reference":
            pictures.mkdir(parents=True, exist_ok=True)
            for width in WIDTHS:
                visit.photograph(pictures, width)
    except Exception as error:
        problem = str(error).split("\n\n")[0][:600]
        failures = Path(tempfile.gettempdir()) / f"{name}-{code}.png"
        page.screenshot(path=failures)
        problem += f"\n    picture: {failures}"
    page.close()
    return problem


if __name__ == "__main__":
    sys.exit(main())
