"""Every page, on the reference and on fresh stubs, without a browser: it draws and has no error."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from minitorch.app.launch import SCRIPT
from minitorch.app.rooms import ROOMS
from minitorch.course.workspace import create


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    create(folder)
    return folder


@pytest.mark.parametrize("code", ["reference", "stubs"])
@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_page_draws(room, code, stubs, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MINITORCH_WORKSPACE", str(stubs if code == "stubs" else tmp_path))
    app = AppTest.from_file(str(SCRIPT), default_timeout=60)
    app.switch_page(str(room.file))
    app.run()
    assert not app.exception
    assert app.title[0].value == room.title
