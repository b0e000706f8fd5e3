"""Small parts in plain JavaScript: a picture to click, a flip book, a drawing box, the history."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from streamlit.components.v2 import component

from ..drawings.picture import Picture

HERE = Path(__file__).parent


@cache
def _component(name: str) -> Any:
    js = (HERE / f"{name}.js").read_text(encoding="utf-8")
    return component(
        f"minitorch_{name}",
        html='<div class="place"></div>',
        css=(HERE / "style.css").read_text(encoding="utf-8"),
        js=js,
    )


def board(picture: Picture, key: str, *, width: int | None = None, least: int = 0) -> str | None:
    """Show a picture; the `id` of the shape that was clicked last, if any can be.

    It shrinks to narrow screens, down to a width of `least`; below that it scrolls.
    """
    data = {"svg": str(picture), "width": width or picture.width, "least": least}
    answer = _component("board")(key=key, data=data, on_clicked_change=_nothing)
    return answer.clicked


def tidy_history() -> None:
    """See to it that one press of Back leaves a page."""
    _component("history")(key="history")


def flipbook(
    frames: Sequence[Picture], key: str, *, captions: Sequence[str] = (), seconds: float = 0.6
) -> None:
    """Show pictures one after the other, with buttons to play, pause and step."""
    data = {
        "frames": [str(frame) for frame in frames],
        "captions": list(captions),
        "seconds": seconds,
        "width": max((frame.width for frame in frames), default=0),
    }
    _component("flipbook")(key=key, data=data)


def drawing_box(key: str, *, cells: int = 28) -> list[list[float]] | None:
    """A box to draw in with mouse or finger; the picture in `cells` rows, 0 empty to 1 full."""
    return _component("box")(key=key, data={"cells": cells}, on_drawn_change=_nothing).drawn


def _nothing() -> None:
    """The value is read where the component is shown; Streamlit asks for a callback."""
