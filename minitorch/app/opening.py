"""Opening the pages on a workspace without a browser: does each draw, and what does it lack?"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .launch import SCRIPT
from .rooms import ROOMS, Room, find_room

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

TIMEOUT = 120
"""Seconds that a page may take."""


def app_for_tests() -> AppTest:
    """The app in this process; without Streamlit's magic, which parses, as in its own configuration."""
    from streamlit import config
    from streamlit.testing.v1 import AppTest

    config.set_option("runner.magicEnabled", False)
    return AppTest.from_file(str(SCRIPT), default_timeout=TIMEOUT)


def open_pages(root: Path, rooms: Iterable[Room] = ROOMS, **settings: str) -> dict[str, str]:
    """The words of each page that was opened on a workspace; RuntimeError if one shows an error."""
    words: dict[str, str] = {}
    for room in rooms:
        with app_on(root, room.name, **settings) as app:
            if app.exception:
                raise RuntimeError(f"page {room.title}: {app.exception[0].value}")
            words[room.name] = "\n".join(str(part.value) for part in app.markdown)
    return words


def end_libraries() -> None:
    """End the processes that pages have started."""
    from streamlit import cache_resource

    cache_resource.clear()


@contextmanager
def app_on(root: Path, page: str, **settings: str) -> Iterator[AppTest]:
    """A page that was opened on a workspace, with settings as they stand in an address."""
    with _workspace(root):
        app = app_for_tests()
        for name, value in settings.items():
            app.query_params[name] = value
        app.switch_page(str(find_room(page).file))
        yield app.run()


@contextmanager
def _workspace(root: Path) -> Iterator[None]:
    """With the app running on a workspace, and Streamlit's warnings about tests left out."""
    before = os.environ.get("MINITORCH_WORKSPACE")
    os.environ["MINITORCH_WORKSPACE"] = str(root)
    silenced = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(silenced)
        if before is None:
            del os.environ["MINITORCH_WORKSPACE"]
        else:
            os.environ["MINITORCH_WORKSPACE"] = before
