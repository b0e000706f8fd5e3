"""Starting the app: the command line, its settings, and what is said when something is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from minitorch.app import launch
from minitorch.app.rooms import ROOMS
from minitorch.cli import main, make_parser
from minitorch.course.tasks import find_task
from minitorch.course.workspace import create, material

ROOT = Path(__file__).parents[2]


def started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that `minitorch app` starts Streamlit with."""
    seen: list[tuple[list[str], dict[str, str]]] = []

    class Process:
        def __init__(self, command: list[str], env: dict[str, str]) -> None:
            seen.append((command, env))

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(launch.subprocess, "Popen", Process)
    assert main(["app", *arguments]) == 0
    return seen[0]


def test_the_app_listens_on_this_machine_unless_told_otherwise(monkeypatch) -> None:
    command, _ = started(monkeypatch, "2")
    assert command[command.index("--server.address") + 1] == "localhost"
    assert command[-2:] == ["--", "2"]
    command, _ = started(monkeypatch, "--host", "0.0.0.0", "--port", "9000", "--no-browser")
    assert command[command.index("--server.address") + 1] == "0.0.0.0"
    assert command[command.index("--server.port") + 1] == "9000"
    assert command[command.index("--server.headless") + 1] == "true"


def test_the_app_runs_on_the_workspace_it_is_started_in(monkeypatch, tmp_path: Path) -> None:
    create(tmp_path)
    monkeypatch.chdir(tmp_path / "minitorch")
    _, environment = started(monkeypatch)
    assert environment["MINITORCH_WORKSPACE"] == str(tmp_path.resolve())


def test_a_module_must_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        make_parser().parse_args(["app", "7"])
    assert "MODULE" in capsys.readouterr().err


def test_without_streamlit_it_says_what_to_install(monkeypatch, capsys) -> None:
    monkeypatch.setattr(launch.importlib.util, "find_spec", lambda name: None)
    assert main(["app"]) == 2
    assert "pip install 'minitorch[app]'" in capsys.readouterr().err


def test_both_ways_to_start_have_the_same_settings() -> None:
    """`streamlit run project/app.py` reads the file beside that script."""
    own = (launch.SCRIPT.parent / ".streamlit" / "config.toml").read_text()
    assert (ROOT / "project" / ".streamlit" / "config.toml").read_text() == own
    settings = tomllib.loads(own)
    assert settings["server"]["address"] == "localhost"
    assert settings["browser"]["gatherUsageStats"] is False


def test_the_script_of_the_course_says_how_to_start_it() -> None:
    run = subprocess.run(
        [sys.executable, "project/app.py"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode != 0
    assert "streamlit run project/app.py -- 1" in run.stderr


def test_pages_name_tasks_and_chapters_that_exist() -> None:
    chapters = {path.stem for path in material("docs/guide").glob("*.md")}
    for room in ROOMS:
        assert room.file.is_file()
        assert all(find_task(number) for number in room.tasks)
        assert not room.guide or room.guide in chapters
