"""The page of the GPT, asked without a browser."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("streamlit")

from tests.app.streaming import open_tab, running_app, started_by
from tests.waiting import wait


def processor_time(pid: int) -> int:
    """Of a process, in the system's ticks."""
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(stat[11]) + int(stat[12])


def rests(pid: int) -> bool:
    """Whether a process does nothing for a while."""
    before = processor_time(pid)
    time.sleep(0.5)
    return processor_time(pid) == before


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks Linux for processes")
def test_a_click_is_answered_though_the_training_has_ended_meanwhile(tmp_path: Path) -> None:
    """The page has not noticed the end yet: it does as it answers the click."""
    size = "gsteps=20&gwidth=16&glength=16&glayers=1"
    with running_app(tmp_path) as (process, address), open_tab(address, "gpt", size) as tab:
        tab.draw()
        before = started_by(process.pid)
        tab.draw(pressed="Train")
        (training,) = started_by(process.pid) - before
        wait(lambda: rests(training))
        tab.draw(pressed="Look")
        wait(lambda: any("Likeliest next" in e.markdown.body for e in tab.draw()))
