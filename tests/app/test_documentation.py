"""The page about the app is up to date, and its pictures are those of the pages."""

from __future__ import annotations

import struct

import pytest

from docs.app_pages import PAGE, make_page
from minitorch.app.rooms import ROOMS
from tests.app.browser import WIDTHS

PICTURES = PAGE.parent / "app"


def test_the_page_is_what_the_rooms_say() -> None:
    assert PAGE.read_text() == make_page(), "run: python docs/app_pages.py"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_page_has_its_pictures(room, width: str) -> None:
    head = (PICTURES / f"{room.name}-{width}.png").read_bytes()[:24]
    assert struct.unpack(">I", head[16:20])[0] == WIDTHS[width]
