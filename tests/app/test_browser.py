"""When a visit takes its click for answered, by the messages that Streamlit sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("playwright")
pytest.importorskip("streamlit")

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.app.browser import Conversation


class Wire:
    """The page's socket: what passes it reaches the conversation."""

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.conversation = Conversation(Mock(on=self.on))
        self.listeners["websocket"](self)

    def on(self, event: str, listener: Callable[[Any], None]) -> None:
        self.listeners[event] = listener

    def send(self, fragment: str = "", by_timer: bool = False) -> None:
        message = BackMsg()
        message.rerun_script.fragment_id = fragment
        message.rerun_script.is_auto_rerun = by_timer
        self.listeners["framesent"](message.SerializeToString())

    def begin(self, *fragments: str) -> None:
        message = ForwardMsg()
        message.new_session.SetInParent()
        message.metadata.run.fragment_ids.extend(fragments)
        self.listeners["framereceived"](message.SerializeToString())

    def finish(self, status: ForwardMsg.ScriptFinishedStatus.ValueType) -> bool:
        """Whether all is answered then."""
        message = ForwardMsg(script_finished=status)
        self.listeners["framereceived"](message.SerializeToString())
        return self.conversation.asked is None


EARLY = ForwardMsg.FINISHED_EARLY_FOR_RERUN
FRAGMENT = ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
WHOLE = ForwardMsg.FINISHED_SUCCESSFULLY


def test_a_click_in_a_fragment_is_answered_by_its_run() -> None:
    wire = Wire()
    wire.begin("timer")
    wire.send("clicked")
    assert not wire.finish(FRAGMENT)
    wire.begin("clicked", "timer")
    assert wire.finish(FRAGMENT)


def test_a_click_that_has_the_page_drawn_anew_is_answered_by_that() -> None:
    wire = Wire()
    wire.send("clicked")
    wire.begin("clicked")
    assert not wire.finish(EARLY)
    wire.begin()
    assert not wire.finish(EARLY)
    wire.begin()
    assert wire.finish(WHOLE)


def test_an_answer_is_called_early_when_a_timer_begins_the_next_run() -> None:
    """Streamlit renames an end that it has not sent yet when the next run begins."""
    wire = Wire()
    wire.send("clicked")
    wire.send("timer", by_timer=True)
    wire.begin("clicked")
    wire.finish(EARLY)
    wire.begin("timer")
    assert wire.finish(FRAGMENT)
