"""What outlives a reload of the page: runs, kept for a browser's tab, and ended with it.

A reload is a new session to Streamlit. So runs are kept here, by session; a session that is new
takes over what one of the same browser has just left. What nobody takes over in time is ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.runtime import Runtime, exists
from streamlit.runtime.scriptrunner import get_script_run_ctx

from .library import Run

GRACE = 20.0
"""Seconds that a tab may be gone, while its page loads anew, before its runs end."""


@dataclass
class Tab:
    """A browser's tab: who it is, when it was there last, and what is kept for it."""

    browser: str
    seen: float
    things: dict[str, Any] = field(default_factory=dict)


class Keeper:
    """All tabs, by session."""

    def __init__(self, is_open: Callable[[str], bool]) -> None:
        self.is_open = is_open
        self.tabs: dict[str, Tab] = {}
        self.lock = threading.Lock()

    def of(self, session: str, browser: str) -> dict[str, Any]:
        """What is kept for a session; for a new one, what the same browser left last."""
        with self.lock:
            if session not in self.tabs:
                left = [key for key, tab in self.tabs.items() if self._is_left(key, tab, browser)]
                last = max(left, key=lambda key: self.tabs[key].seen, default=None)
                tab = Tab(browser, 0.0) if last is None else self.tabs.pop(last)
                self.tabs[session] = tab
            self.tabs[session].seen = time.monotonic()
            return self.tabs[session].things

    def _is_left(self, session: str, tab: Tab, browser: str) -> bool:
        return tab.browser == browser and not self.is_open(session)

    def look_round(self) -> None:
        """End what belongs to tabs that are gone for good."""
        with self.lock:
            now = time.monotonic()
            for session, tab in list(self.tabs.items()):
                if self.is_open(session):
                    tab.seen = now
                elif now - tab.seen > GRACE:
                    del self.tabs[session]
                    for run in tab.things.values():
                        if isinstance(run, Run):
                            run.stop()

    def stay(self) -> None:
        """Look round once a second, as long as the app runs."""
        while exists():
            self.look_round()
            time.sleep(1.0)


@st.cache_resource
def _keeper() -> Keeper:
    keeper = Keeper(Runtime.instance().is_active_session)
    threading.Thread(target=keeper.stay, daemon=True).start()
    return keeper


def kept() -> dict[str, Any]:
    """What is kept for the tab whose page is being drawn."""
    context = get_script_run_ctx()
    if context is None or not exists() or type(Runtime.instance()) is not Runtime:  # in tests
        return st.session_state.setdefault("kept", {})
    browser = f"{st.context.ip_address} {st.context.headers.get('User-Agent')}"
    return _keeper().of(context.session_id, browser)
